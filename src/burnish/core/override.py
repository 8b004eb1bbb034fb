"""Overriding a rejection: five questions, and the category that follows from the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from burnish.errors import BadInput


class OverrideReason(StrEnum):
    """Why a rejection does not count."""

    PRE_EXISTING = "pre_existing"
    WRONG_CONTEXT = "wrong_context"
    CROSS_SCOPE = "cross_scope"
    INFRA = "infra"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class OverrideQuestion:
    flag: str
    words: str
    # None: it makes a task and is not a category
    ground: OverrideReason | None


QUESTIONS = (
    OverrideQuestion("--pre-existing", "Was the problem there before this task?", OverrideReason.PRE_EXISTING),
    OverrideQuestion("--wrong-context", "Did the reviewer judge with the wrong context?", OverrideReason.WRONG_CONTEXT),
    OverrideQuestion("--out-of-scope", "Is it outside the scope of this task?", OverrideReason.CROSS_SCOPE),
    OverrideQuestion("--environmental", "Does it come from the environment, not from the code?", OverrideReason.INFRA),
    OverrideQuestion("--follow-up", "Should what is left open become a task of its own?", None),
)


@dataclass(frozen=True, slots=True)
class OverrideReasons:
    """What a person answered."""

    ground: OverrideReason
    explanation: str = ""
    follow_up: bool = False
    # each question by the name of its flag, in their order
    answers: tuple[tuple[str, bool], ...] = ()

    @property
    def words(self) -> str:
        return f"{self.ground}: {self.explanation}" if self.explanation else str(self.ground)


def override_reasons(yes: Mapping[str, bool], explanation: str) -> OverrideReasons:
    """The category of the first question answered with yes; without one an explanation is required."""
    first = next((q.ground for q in QUESTIONS if q.ground and yes.get(q.flag)), OverrideReason.CUSTOM)
    words = explanation.strip()
    if first is OverrideReason.CUSTOM and not words:
        raise BadInput(
            "An override needs a reason.",
            hint=f'Give one of {", ".join(q.flag for q in QUESTIONS if q.ground)}, or say it: --explain "…"',
        )
    answers = tuple((q.flag.removeprefix("--").replace("-", "_"), bool(yes.get(q.flag))) for q in QUESTIONS)
    return OverrideReasons(first, words, bool(yes.get("--follow-up")), answers)


_GROUND_WORDS = {
    OverrideReason.PRE_EXISTING: "the problem was there before this task",
    OverrideReason.WRONG_CONTEXT: "the reviewer judged with the wrong context",
    OverrideReason.CROSS_SCOPE: "it is outside the scope of this task",
    OverrideReason.INFRA: "it comes from the environment",
}


def reason_words(data: Mapping[str, Any]) -> str:
    """Why a person overrode the review, without who: `the problem was there before this task: see #12`."""
    ground = next((words for name, words in _GROUND_WORDS.items() if name == data.get("category")), "")
    words = ": ".join(part for part in (ground, str(data.get("explanation") or "").strip()) if part)
    return words + (f" (follow-up: task {data['follow_up']})" if data.get("follow_up") else "")


def in_words(data: Mapping[str, Any]) -> str:
    """One line for people and prompts, from an `override.recorded` event's data."""
    explanation = str(data.get("explanation") or "").strip()
    follow_up = f" (follow-up: task {data['follow_up']})" if data.get("follow_up") else ""
    who = f"overridden by {data.get('by', 'a person')}, {data.get('category', 'custom')}"
    return f"{who}{': ' if explanation else ''}{explanation}{follow_up}"
