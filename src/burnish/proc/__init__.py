"""Starts and supervises processes. No other package starts a process."""
