"""Telling a person that a task came to rest: bell, desktop, Apprise."""
