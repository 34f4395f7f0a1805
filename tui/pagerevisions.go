package tui

func newRevisionsPage() page { return newControllersPage() }
