"""Prompts for authors and reviewers, the readers of their replies, and review artifacts. Pure text functions."""
