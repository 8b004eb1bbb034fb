"""`docs/events.md`, made from the types of the events by `python -m tools.events_page > docs/events.md`."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import groupby
from typing import Any, Union, get_args, get_origin, get_type_hints

from burnish.core import journal_events
from burnish.core.codec import encode, key_of
from burnish.core.finding import Finding, Reply, Waiver
from burnish.core.images import Evidence
from burnish.core.journal import (
    CheckRecord,
    CheckResult,
    GateResult,
    PhaseResult,
    RecordedCounts,
    RecordedRemark,
    ReviewerRecord,
    ReviewFixResult,
    ReviewResult,
    WorkResult,
)
from burnish.core.review import Compliance, UnseenFile

HEAD = """# Events

```console
$ burnish events --json --since 41      # everything after event 41
```

Made by `python -m tools.events_page > docs/events.md` from the types in `core/journal.py` and
`core/journal_events.py`; a test fails when it is out of date.

Everything burnish knows about a task comes from its events. An event is a fact that happened; it is never changed and
never removed. The tables that `status` and `show` read are made from events, in the same transaction, and can be made
again from them.

## Envelope

`burnish events --json`, `show --json` and `events.jsonl` give each event in this shape:

| key | meaning |
|---|---|
| `id` | number within the project, from 1, without gaps: a program that has read event *n* has read all before it |
| `ts` | when, ISO 8601, UTC, milliseconds |
| `project` | key of the project, e.g. `app-1a2b3c4d` |
| `task` | the task's id, or null for what concerns no single task |
| `run` | the attempt at an approval; `retry` begins another with `--restart` or if no author was called. 0 = none |
| `cycle` | implement or improve, then checks, then review. 0 = none |
| `type` | one of those below |
| `data` | an object with the keys of that type |

Programs should ignore keys of `data` that they do not know: new ones may be added. A key that has the value in the
column "if missing" may be left out. null counts as missing, unless the meaning says otherwise. Events of earlier
versions may have other keys; burnish reads them through `UPCASTERS` in the same modules."""

TAIL = """## Replay

`Store.replay(project, events)` writes old events into a database that has none of them, with their own numbers and
times, by the same functions that applied them the first time. A test replays random legal histories and compares
every row. Not in events, and therefore not restored: who holds a task, up to where its files are written, the list
of runners, and stored baselines, which are measured again when needed."""

# Meanings of keys that many types have; a comment at a field comes first.
SHARED = {
    "agent": "name of the agent",
    "attempt": "counts from 1 within run, cycle and phase; each number is used once",
    "base": "the commit that the change begins at",
    "blockers": "ids of the blocking findings",
    "by": "who did it: `burnish`, or the name of a person",
    "command": "the command line",
    "commit": "the commit that it is about",
    "cost_source": "`program`, `list` (tokens times list price), `mixed`, `partial` (a lower bound) or `unknown`",
    "cost_usd": "cost in US dollars; null: not known, which is not zero",
    "error": "error code of a failure, e.g. `TIMEOUT`",
    "hint": "what a person can do about it",
    "max_cycles": "how many cycles the task may take",
    "model": "name of the model",
    "phase": "`implement`, `improve`, `check`, `review`, `review:<step>`, `review-fix` or `gate`",
    "review_ref": "address of the review's file, e.g. `review-cycle://29/review-cycle-2.md`",
    "review_status": "`passed`, `fixed`, `failed`, `skipped` or `rejected`",
    "runner": "the process that does it",
    "step": "step of the pipeline; empty: the review itself",
    "summary": "the reviewers' summary",
    "tokens": "tokens used",
    "tree": "the git tree of that commit",
    "verdict": "`approved`, `changes_requested`, `needs_discussion` or `rejected`; null: not readable",
    "via": "the program that the person used: `cli`, `web`, …",
    "why": "the reason, in words",
}

GROUPS = {
    "The task": ("task.", "override."),
    "Runs and phases": ("run.", "phase.", "lock.", "budget."),
    "Checks and reviews": ("baseline.", "check.", "review.", "approval.", "guard."),
    "Findings": ("finding.",),
    "People and decisions": ("gate.", "decision.", "notify."),
    "The project": ("trust.", "project."),
}
# The results of finished phases, and what other types hold.
RESULTS: dict[str, type[Any]] = {
    "implement, improve": WorkResult,
    "review-fix": ReviewFixResult,
    "check": CheckResult,
    "review, review:<step>": ReviewResult,
    "gate": GateResult,
}
PARTS: dict[str, type[Any]] = {
    "A finding": Finding,
    "A remark of a review": RecordedRemark,
    "A waiver": Waiver,
    "A reply to a finding": Reply,
    "A reviewer": ReviewerRecord,
    "Counts of a check": RecordedCounts,
    "A file that a check left": Evidence,
    "A criterion": Compliance,
    "A file that cannot be shown": UnseenFile,
}
_WORDS = {str: "text", bool: "true or false", int: "whole number", float: "number"}


def events_page() -> str:
    """The whole page."""
    parts = [HEAD, "## Types"]
    for title, prefixes in GROUPS.items():
        parts.append(f"### {title}")
        names = [name for name in journal_events.EVENTS if name.startswith(prefixes)]
        for kind, group in groupby(names, journal_events.EVENTS.__getitem__):
            parts += _events(kind, list(group))
    parts.append("## What events hold")
    for title, kind in PARTS.items():
        parts += [f"### {title}", sentence(kind), _table(kind)]
    return "\n\n".join(part for part in [*parts, TAIL] if part) + "\n"


def _events(kind: type[Any], names: list[str]) -> Iterator[str]:
    """Events that have one type."""
    yield "#### " + ", ".join(f"`{name}`" for name in names)
    written = {name: text for name in names if (text := event_meanings().get(name))}
    yield sentence(kind)
    yield "\n".join(f"- `{name}`: {text}" for name, text in written.items())
    yield _table(kind)
    if kind is PhaseResult:
        for phases, result in RESULTS.items():
            base = result.__mro__[1]
            words = ", ".join(f"`{phase.strip()}`" for phase in phases.split(","))
            also = "keys" if base is kind else "keys, besides those of `implement`"
            yield f"Further {also}, where the phase is {words}:"
            yield _table(result, without=frozenset(field.name for field in fields(base)))


def sentence(kind: type[Any]) -> str:
    return " ".join((kind.__doc__ or "").split())


def _table(kind: type[Any], without: frozenset[str] = frozenset()) -> str:
    listed = [row for row in rows(kind) if row[0] not in without]
    if not listed:
        return ""
    lines = ["| key | type | if missing | meaning |", "|---|---|---|---|"]
    return "\n".join(
        [*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row[1:]) + " |" for row in listed)]
    )


def rows(kind: type[Any]) -> Iterator[tuple[str, str, str, str, str]]:
    """The name of each field, its key, its type, what holds if it is missing, and its meaning."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        key = key_of(field)
        if field.metadata.get("flat"):
            yield from rows(hints[field.name])
        if field.metadata.get("flat") or field.metadata.get("derived"):
            continue
        meaning = _comment(kind, field.name) or SHARED.get(key, "")
        yield field.name, f"`{key}`", _type_words(hints[field.name]), _default(field), meaning


def _type_words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if one is type(None) else _type_words(one) for one in get_args(hint))
    if origin is tuple:
        first, *others = get_args(hint)
        return f"list of {_type_words(first)}" if others == [Ellipsis] else "pair"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{one.value}`" for one in hint)
    if hint is CheckRecord:
        return "[`check.finished`](#checkfinished)"
    if is_dataclass(hint):
        title = next(title for title, kind in PARTS.items() if kind is hint)
        return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
    return _WORDS.get(hint, "object")


def _default(field: Field[Any]) -> str:
    if not field.metadata.get("optional"):
        return "–"
    value = encode(field.default)
    if value is None:
        return "null"
    if value in ("", [], {}):
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _comment(kind: type[Any], name: str) -> str:
    """The comment at a field, in the class that defines it."""
    for parent in kind.__mro__:
        if name in inspect.get_annotations(parent):
            comment = _comments(parent.__module__).get(f"{parent.__name__}.{name}", "")
            return re.sub(r"\bNone\b", "null", comment)
    return ""


def event_meanings() -> Mapping[str, str]:
    """The comments at the entries of `EVENTS`."""
    return {name.removeprefix("EVENTS."): text for name, text in _comments(journal_events.__name__).items()}


@cache
def _comments(module: str) -> Mapping[str, str]:
    """`Class.field`, or `EVENTS.<event>`, and the comment in the lines above it or behind it."""
    source = inspect.getsource(sys.modules[module])
    lines = source.splitlines()
    places = dict(_places(ast.parse(source)))
    return {name: text for name, line in places.items() if (text := _comment_at(lines, line - 1))}


def _places(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield f"{node.name}.{line.target.id}", line.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                if isinstance(key, ast.Constant):
                    yield f"EVENTS.{key.value}", key.lineno


def _comment_at(lines: list[str], index: int) -> str:
    above: list[str] = []
    while index and (found := re.fullmatch(r"\s*# (.*)", lines[index - 1 - len(above)])):
        above.insert(0, found[1])
    behind = re.search(r"\s{2}# (.*)$", lines[index])
    return " ".join(above) or (behind[1] if behind else "")


if __name__ == "__main__":
    print(events_page(), end="")
