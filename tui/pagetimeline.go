package tui

func newTimelinePage() page { return newControllersPage() }
