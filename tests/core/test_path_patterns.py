"""Which paths a pattern of the settings means."""

from __future__ import annotations

import pytest

from burnish.core.path_patterns import any_matches, matches


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("api/**", "api/a.py", True),
        ("api/**", "api/b/c/a.py", True),
        ("api/**", "apix/a.py", False),
        ("api/", "api/b/a.py", True),
        ("/api/", "web/api/a.py", False),
        ("api/*", "api/b/a.py", False),
        ("api/*.py", "api/a.py", True),
        ("*.sql", "db/migrations/1.sql", True),
        ("Makefile", "tools/Makefile", True),
        ("**/test_*.py", "test_a.py", True),
        ("**/test_*.py", "a/b/test_a.py", True),
        ("src/**/x.ts", "src/x.ts", True),
        ("a?c", "abc", True),
        ("a.c", "abc", False),
        ("./web/**", "web/a", True),
        ("[x]", "[x]", True),
    ],
)
def test_a_pattern_means_what_people_expect(pattern: str, path: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


def test_one_of_several_is_enough() -> None:
    assert any_matches(["a/x.py", "b/y.py"], ["c/**", "b/**"])
    assert not any_matches(["a/x.py"], ["c/**"]) and not any_matches([], ["**"])
