"""Readers of other tools' report formats."""
