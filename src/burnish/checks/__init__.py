"""Runs tests, linters and other commands on a tree and reads their results."""
