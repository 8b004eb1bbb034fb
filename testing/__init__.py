"""Helpers for tests that are not tests: a user's repository, a hermetic home, scripted agents."""
