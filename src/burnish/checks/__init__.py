"""Tests, linters and other commands that judge a tree, and what they said."""
