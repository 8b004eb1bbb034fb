"""The regular expression that names failed tests in a check's output."""

from __future__ import annotations

import re

LONGEST_PATTERN = 500


def pattern_problem(pattern: str) -> str:
    """Why a pattern cannot be used, "" if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"the pattern is longer than {LONGEST_PATTERN} characters"
    try:
        regex = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern is not a valid regular expression: {error}"
    return "" if "name" in regex.groupindex else "the pattern needs a group for the test's name: (?P<name>…)"
