"""The transcript of an agent's call: one row for each thing that the agent said or did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# limits of one row, in characters
MAX_TEXT_LENGTH = 4000
MAX_DETAIL_LENGTH = 2000
# of the lines that belong to the line above
INDENT = "    "


class RowKind(StrEnum):
    SAID = "said"
    THOUGHT = "thought"
    READ = "read"
    SEARCHED = "searched"
    EDITED = "edited"
    RAN = "ran"
    ASKED = "asked"
    # any other tool
    USED = "used"
    # a message of the program itself
    ERROR = "error"


# Kinds whose text is a path or a command, with the verb of a line for people.
_VERBS = {
    RowKind.READ: "read",
    RowKind.SEARCHED: "searched",
    RowKind.EDITED: "edited",
    RowKind.RAN: "ran",
    RowKind.ASKED: "asked",
    RowKind.USED: "used",
}
# The same while it goes on.
_DOING = {
    RowKind.THOUGHT: "thinking",
    RowKind.READ: "reading",
    RowKind.SEARCHED: "searching",
    RowKind.EDITED: "editing",
    RowKind.RAN: "running",
    RowKind.ASKED: "asking",
    RowKind.USED: "using",
}


_ENDS = {doing: _VERBS[kind] for kind, doing in _DOING.items() if kind in _VERBS}


def line_at_end(line: str) -> str:
    """How the line of an action that has begun reads when it has ended, without its result; "" for other lines."""
    doing, _, rest = line.partition(" ")
    return f"{_ENDS[doing]} {rest}" if doing in _ENDS and rest else ""


@dataclass(frozen=True, slots=True)
class Row:
    kind: RowKind
    # what was said, the path, the command, the question
    text: str
    # the lines that an edit changed, or the end of the output of a command
    detail: str = ""
    exit_code: int | None = None
    has_failed: bool = False
    # the cost of the call when the row was read; None if it is not known
    cost_usd: float | None = None
    # the action has begun and not ended
    is_running: bool = False

    def line(self) -> str:
        """One line for people: `ran pytest -q (exit code 1)`."""
        first = first_line(self.text)
        if self.kind is RowKind.SAID and first.startswith(("{", "```burnish-")):
            return "wrote its answer"
        if self.kind is RowKind.THOUGHT and first:
            return f"thinking: {first}"
        verbs = _DOING if self.is_running else _VERBS
        words = f"{verbs[self.kind]} {first}".rstrip() if self.kind in verbs else first
        if self.exit_code:
            return f"{words} (exit code {self.exit_code})"
        return f"{words} (failed)" if self.has_failed else words

    def rest(self) -> Iterator[str]:
        """What follows the one line, indented: further lines of a message, or the detail of an ended action."""
        if self.kind in (RowKind.SAID, RowKind.ERROR):
            _, *lines = [line for line in self.text.split("\n") if line.strip()] or [""]
        else:
            lines = [] if self.is_running or self.kind is RowKind.THOUGHT else self.detail.split("\n")
        yield from (f"{INDENT}{line}" for line in lines if line.strip())

    def lines(self) -> Iterator[str]:
        """The row for people: what was said in full, an action on one line with its detail below."""
        lines = self.text.split("\n")
        match self.kind:
            case RowKind.SAID:
                # aider leaves several blank lines around a diff
                yield from (line for line, before in zip(lines, [".", *lines], strict=False) if line or before)
            case RowKind.THOUGHT:
                yield from (f"  (thinking) {line}" for line in lines if line.strip())
            case RowKind.ERROR:
                yield from (f"! {line}" for line in lines)
            case _:
                yield f"• {self.line()}"
                yield from (f"{INDENT}{line}" for line in self.detail.split("\n") if line)

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"kind": str(self.kind), "text": self.text}
        if self.detail:
            values["detail"] = self.detail
        if self.exit_code is not None:
            values["exit_code"] = self.exit_code
        if self.has_failed:
            values["failed"] = True
        if self.cost_usd is not None:
            values["cost_usd"] = self.cost_usd
        return values


def row_from_json(values: Mapping[str, Any]) -> Row | None:
    """The row; None if a later version wrote a kind that this one does not know."""
    if values.get("kind") not in set(RowKind):
        return None
    code, cost = values.get("exit_code"), values.get("cost_usd")
    return Row(
        RowKind(values["kind"]),
        str(values.get("text", "")),
        str(values.get("detail", "")),
        code if isinstance(code, int) else None,
        bool(values.get("failed")),
        float(cost) if isinstance(cost, int | float) else None,
    )


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")
