package tui

func newTreePage() page { return newControllersPage() }
