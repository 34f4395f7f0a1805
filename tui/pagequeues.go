package tui

func newQueuesPage() page { return newControllersPage() }
