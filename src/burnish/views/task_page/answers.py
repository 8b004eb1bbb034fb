"""What answers a task that stands still, in place on its page: the words and the form that each state needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.core.commit import TargetConflict
from burnish.core.decision import is_repeated_failure, needs_description
from burnish.core.status import MOVES, Reason, Status
from burnish.core.task import Task, TaskType


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The form in the box at the top of the page."""

    # note (text and improve), budget, secret, conflict, outside
    kind: str
    # the words of its button, what that does, and what is asked for
    label: str
    effect: str
    placeholder: str = ""
    # of a budget: the limit that was reached, what is proposed, and whether it counts tokens
    limit: str = ""
    proposal: str = ""
    is_tokens: bool = False
    # of a conflict
    paths: tuple[str, ...] = ()


_IMPROVES = "Runs one more cycle with your words: the agent, the checks and a review."
_NOTES: Mapping[Reason, tuple[str, str]] = {
    Reason.NEEDS_DISCUSSION: ("Answer", "Your answer to the reviewer's question"),
    Reason.MAX_CYCLES: ("Improve once more", "A word of advice, if you have one"),
    Reason.STALLED: ("Improve once more", "What the agent should do differently"),
    Reason.REJECTED: ("Send to the agent", "What to do instead"),
    Reason.HUMAN_REJECTED: ("Send to the agent", "What to do instead"),
}


def answer_of(task: Task, possible: set[str], conflict: TargetConflict | None) -> PageAnswer | None:
    """The form for the task's state; None where its buttons are enough. `possible` are the acts it allows now."""
    if task.status is Status.BLOCKED and task.reason and not needs_description(task.reason, task.note):
        return _blocked(task, task.reason, possible)
    if conflict and "rebase" in possible:
        effect = "Merges the target into the branch; the agent resolves the conflicts. Costs one call, and a review."
        return PageAnswer("conflict", "Let the agent resolve", effect, paths=conflict.paths)
    if task.status is Status.CODE_REVIEW and task.waits_for == "outside":
        return PageAnswer("outside", "Record the review", "Takes the review as a cycle, signed with your name.")
    return None


def _blocked(task: Task, reason: Reason, possible: set[str]) -> PageAnswer | None:
    if reason in _NOTES and "improve" in possible and not is_repeated_failure(reason, task.note):
        label, placeholder = _NOTES[reason]
        return PageAnswer("note", label, _IMPROVES, placeholder)
    if "retry" not in possible:
        return None
    if reason is Reason.BUDGET:
        return _budget(task)
    if reason is Reason.SECRET:
        return PageAnswer("secret", "Let the agent remove it", "Runs the agent again on its work. Costs one call.")
    if reason is Reason.CONFLICT:
        effect = "Asks the agent once more to resolve the conflicts. Costs one call, and a review."
        return PageAnswer("conflict", "Let the agent resolve", effect, paths=_conflict_paths(task.note))
    return None


def _budget(task: Task) -> PageAnswer | None:
    """Only a limit of the task itself can be raised for the task; each run has its own session budget."""
    found = re.search(r"of \$?([0-9.]+)(?: tokens)? \((budget\.task_(?:usd|tokens))\)", task.note)
    if not found:
        return None
    is_tokens = found[2] == "budget.task_tokens"
    spent = float(task.tokens) if is_tokens else task.cost_usd or 0.0
    proposal = max(float(found[1]), spent) * 2
    effect = "Raises the limit of this task and continues where it stopped; finished phases are kept."
    words = f"{proposal:.0f}" if is_tokens else f"{proposal:.2f}"
    return PageAnswer("budget", "Raise and retry", effect, limit=found[1], proposal=words, is_tokens=is_tokens)


def _conflict_paths(note: str) -> tuple[str, ...]:
    found = re.search(r"conflicts unresolved in (.+?)(?: and undid changes|\. |\.$)", note)
    return tuple(found[1].split(", ")) if found else ()


def secret_places(task: Task) -> list[tuple[str, int, str]]:
    """Path, line and kind of what looked like a secret, as the note names them; never the value."""
    if task.reason is not Reason.SECRET:
        return []
    listing = task.note.partition("looks like a secret: ")[2].partition("The work is unchanged")[0]
    places = re.findall(r"(?:^|, )(.+?):([0-9]+) \(([^()]*)\)", listing)
    return [(path, int(line), kind) for path, line, kind in places]


def may_hand_off(task: Task, *, at_rest: bool) -> bool:
    """Whether an external reviewer can be asked: there is a change, and the task may go to its review."""
    has_change = bool(task.base) and task.commit not in (None, task.base)
    goes = task.status is Status.CODE_REVIEW or Status.CODE_REVIEW in MOVES[task.status]
    is_code = task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
    return at_rest and has_change and goes and is_code and task.status is not Status.FAILED
