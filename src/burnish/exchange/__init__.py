"""Formats of other tools: writers of reports, and readers of task files."""
