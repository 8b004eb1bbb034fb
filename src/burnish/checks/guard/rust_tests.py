"""Tests in the sources of Rust: test modules beside the code, and examples of its documentation. Pure."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping

# -- test modules ---------------------------------------------------------------------------------

RUST_MODULE = re.compile(r"^[ \t]*#\[cfg\((?:test|all\(test\b[^\]\n]*)\)\]\n[ \t]*(?:pub )?mod \w+ \{\n", re.M)
_RUST_TESTS = re.compile(
    r"^([ \t]*)#\[cfg\((?:test|all\(test\b[^\]\n]*)\)\]\n(?:[ \t]*#\[.*\]\n)*[ \t]*(?:pub )?mod (\w+)(?: \{\n|;\n)",
    re.M,
)
# The end is searched for each module: many without an end must not take long.
_MAX_MODULES = 50


def test_modules(text: str) -> dict[str, slice]:
    """Where the test modules are, by name. As rustfmt writes them, they end at a bracket below their attribute."""
    found: dict[str, slice] = {}
    end = 0
    for start in itertools.islice(_RUST_TESTS.finditer(text), _MAX_MODULES):
        if start[0].endswith(";\n"):
            found[start[2]] = slice(start.start(), start.end())
            continue
        bracket = text.find(f"\n{start[1]}}}\n", start.end() - 1)
        if bracket >= 0 and start.start() >= end:
            end = bracket + len(start[1]) + 3
            found[start[2]] = slice(start.start(), end)
    return found


def same_modules(before: Mapping[str, slice], now: Mapping[str, slice]) -> list[tuple[str, slice]]:
    """Each test module of the base with its new place. Those with another name now are taken in their order."""
    old_names, new_names = (
        [name for name in one if name not in other] for one, other in ((before, now), (now, before))
    )
    pairs = [(name, now[new_name]) for name, new_name in zip(old_names, new_names, strict=False)]
    return [*((name, now[name]) for name in before if name in now), *pairs]


# -- examples of Rust's documentation --------------------------------------------------------------

_RUST_DOC = re.compile(r"(?:^[ \t]*///(?!/).*\n)+|(?:^[ \t]*//!.*\n)+", re.M)
_RUST_ITEM = re.compile(
    r"(?:[ \t]*(?:#\[.*\]|//(?![/!]).*)?\n)*[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?"
    r"(?:(?:default|const|async|unsafe|extern(?:[ \t]+\"[^\"]*\")?)[ \t]+)*"
    r"((?:fn|struct|enum|union|trait|mod|macro_rules!|type|const|static|impl)\b[^\n({;=]*)"
)
_FENCE = re.compile(r"\s*//[/!]\s*```([\w,. ]*)$")
# Words behind a fence with which the example is a test.
_RUN_FENCE = re.compile(r"(?:rust|should_panic|edition\d+|[, ])*")


def with_old_rust_examples(old: str, new: str) -> str | None:
    """The new Rust source with those comments of the old one whose examples were edited; None if none was."""
    if "```" not in old or "\ufffd" in new:
        return None
    before, now = _rust_docs(old), _rust_docs(new)
    edits = [
        (now[name], old[before[name]])
        for name in now
        if name in before and not _has_examples(new[now[name]], old[before[name]])
    ]
    for place, text in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        new = f"{new[: place.start]}{text}{new[place.stop :]}"
    return new if edits else None


def _rust_docs(source: str) -> dict[str, slice]:
    """The comments of the documentation by what they describe. Of equal names, the number counts."""
    found: dict[str, slice] = {}
    numbers = Counter[str]()
    for match in _RUST_DOC.finditer(source):
        is_inner = match[0].lstrip().startswith("//!")
        item = None if is_inner else _RUST_ITEM.match(source, match.end())
        name = " ".join(item[1].split()) if item else ("//!" if is_inner else "")
        numbers[name] += 1
        found[f"{name}\0{numbers[name]}"] = slice(match.start(), match.end())
    return found


def _has_examples(new: str, old: str) -> bool:
    remaining = iter(_rust_examples(new))
    return all(line in remaining for line in _rust_examples(old))


def _rust_examples(doc: str) -> list[str]:
    """The lines of code in examples that are run."""
    lines: list[str] = []
    fence: str | None = None
    for line in doc.splitlines():
        if match := _FENCE.match(line):
            fence = match[1] if fence is None else None
        elif fence is not None and _RUN_FENCE.fullmatch(fence):
            lines.append(" ".join(line.split()))
    return lines
