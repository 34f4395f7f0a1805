package tui

func newInformersPage() page { return newControllersPage() }
