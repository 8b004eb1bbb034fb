"""A summary of a task from its record; it does not use the expected outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Story = Mapping[str, Any]


def summarize(story: Story) -> list[str]:
    """A few lines about one task, from what `show --json` has of it."""
    return [*_tests(story), *_findings(story), *_end(story)]


def _tests(story: Story) -> list[str]:
    """Each test that fails or was fixed, once, compared with the base."""
    lines: dict[str, str] = {}
    for cycle in story["cycles"]:
        for check in cycle["checks"]:
            lines |= {name: f"new failure in cycle {cycle['number']}: {_short(name)}" for name in check["new"]}
            lines |= {name: f"not blamed, failed before: {_short(name)}" for name in check["old"]}
            lines |= {name: f"fixed, failed before: {_short(name)}" for name in check["fixed"]}
    return list(lines.values())


def _short(name: str) -> str:
    """`test_a.py::B::test_c`, without the folders."""
    return name.rpartition("/")[2]


def _findings(story: Story) -> Iterator[str]:
    for finding in story["findings"]:
        if finding["severity"] == "info" or finding["category"] == "test":
            continue  # failing tests are listed above
        place = ":".join(str(finding[key]) for key in ("file", "line") if finding[key])
        by = ", ".join(name.removeprefix("check:") for name in finding["reviewers"])
        found = f"found in cycle {finding['first_cycle']} by {by}"
        yield f"{finding['id']} {place} {finding['title']} ({found}; {finding['state']})"


def _end(story: Story) -> Iterator[str]:
    cycles = f"{story['cycle']} cycle{'s' * (story['cycle'] != 1)}"
    if story["status"] == "verified":
        yield f"approved after {cycles}; the work is on the branch {story['branch']}"
    else:
        why = story["reason"] or story["error"]
        yield f"{story['status']}{f' ({why})' if why else ''} after {cycles}: {story['note'] or 'no more is known'}"
