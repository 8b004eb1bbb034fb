"""Options for a pytest that a check of a sample repository starts with the interpreter of these tests."""

LEAN_PYTEST = "-p no:schemathesis -p no:hypothesispytest"
