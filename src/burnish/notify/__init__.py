"""Notifications when a task stops: terminal bell, desktop, Apprise."""
