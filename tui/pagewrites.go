package tui

func newWritesPage() page { return newControllersPage() }
