package tui

func newLeasesPage() page { return newControllersPage() }
