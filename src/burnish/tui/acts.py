"""What a person can do to a task from the terminal, the keys that do it, and the words for both."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.core.review import Verdict
from burnish.core.status import Reason, Status
from burnish.core.task import PAUSABLE, Task
from burnish.views.board_moves import ACTS, RUNNING
from burnish.views.status import stands

if TYPE_CHECKING:
    from burnish.core.gate import GateView
    from burnish.core.override import OverrideReasons
    from burnish.tui.project import TaskDetails

_ABOUT = {
    "approve": "Accepts the commit that is shown.",
    "reject": "Blocks the task; nothing is merged.",
    "fix": "Sends it back to the agent with your note.",
    "skip": "Accepts it without a review.",
    "waive": "Accepts one finding.",
    "edit": "Opens the change in $EDITOR, to comment on lines.",
    "describe": "Says more clearly what is wanted.",
    "tag": "Sets the tags of the task.",
}
# how the sentence ends about an act after which a run works on the task
STARTED = ("It runs in the background.", "The run that is under way takes it up.", "A run works on it.")
# the acts after which one does
STARTING = ("fix", "improve", "raise", "retry", "restart", "run", "goon", "ask", "review", "rebase")
LABELS = {
    "approve": "Approve",
    "reject": "Reject",
    "fix": "Fix",
    "skip": "Skip",
    "override": "Override",
    "improve": "Improve",
    "describe": "Describe",
    "comment": "Comment",
    "edit": "In editor",
    "run": "Start",
    "goon": "Continue",
    "ask": "Review",
    "raise": "Raise and retry",
    "retry": "Retry",
    "review": "Review",
    "restart": "Start again",
    "pause": "Pause",
    "unpause": "Unpause",
    "stop": "Stop",
    "cancel": "Cancel",
    "back": "Put back",
    "archive": "Archive",
    "tag": "Tags",
    "merge": "Merge",
    "merge-all": "Merge all",
    "rebase": "Resolve",
    "waive": "Waive",
}
# what each key does: the first of these that is possible
_KEYS = {
    "a": ("approve", "override"),
    "m": ("rebase", "merge"),
    "r": ("reject",),
    "f": ("fix", "describe", "improve"),
    "s": ("skip",),
    "g": ("run", "goon", "ask", "raise", "retry"),
    "c": ("comment",),
    "e": ("edit",),
    "w": ("waive",),
    "v": ("review",),
    "p": ("unpause", "pause"),
    "x": ("stop",),
    "R": ("restart",),
}
# an act of these keys asks for a text
KEYS_WITH_TEXT = "rfcw"


@dataclass(frozen=True, slots=True)
class Order:
    """An act on a task as the person saw it."""

    act: str
    task: int
    # what was shown; a decision about another commit or in another status is refused
    commit: str = ""
    status: Status | None = None
    text: str = ""
    grounds: OverrideReasons | None = None
    # the text answers a question of the reviewer
    is_answer: bool = False
    # what the key was called on the screen
    shown_label: str = ""

    @property
    def label(self) -> str:
        return self.shown_label or LABELS.get(self.act, self.act)


def acts_of(details: TaskDetails) -> list[tuple[str, str]]:
    """What is possible now, each with what it means."""
    possible = [button.name for button in details.head.buttons]
    if answer := details.head.answer:
        # the page of the board has a form in place of this button
        is_approved = details.task.status is Status.VERIFIED
        possible.append(
            {"note": "improve", "budget": "raise", "conflict": "rebase" if is_approved else "retry"}.get(
                answer.kind, "retry"
            )
        )
    if details.task.status is Status.WAITING_APPROVAL:
        gate = details.gate.shown if details.gate else None
        possible += ["approve", "reject", "fix", *(["skip"] if gate and _is_skip_offered(gate) else [])]
    if details.task.status in PAUSABLE and not details.task.is_paused and "pause" not in possible:
        possible.append("pause")
    if details.head.needs_description:
        possible.append("describe")
    if any(view.finding.alive for view in details.findings) and details.head.standing not in RUNNING:
        possible.append("waive")
    if "comment" in possible and details.head.commit:
        possible.append("edit")
    possible.append("tag")
    order = [act for act in LABELS if act in possible]
    return [(act, _ABOUT.get(act) or (ACTS[act].words if act in ACTS else "")) for act in order]


def _is_skip_offered(gate: GateView) -> bool:
    """Not where the review has approved the change: it would be recorded as not reviewed."""
    return gate.may_skip and (gate.against or gate.verdict != Verdict.APPROVED)


def why_not(key: str, details: TaskDetails) -> str:
    """Why the key does nothing for the task now."""
    gate = details.gate.shown if details.gate else None
    if key == "s" and gate and gate.may_skip:
        return "s: the review has approved the change, so there is nothing to skip."
    if key == "s" and gate:
        return "s: a change is accepted without a review only if review.required is false."
    if key in "ae" and not details.shown_commit:
        return f"{key}: the task has no commit."
    return f"{key}: not possible while the task {stands(details.task.status)}."


def what_reasons_are_for(details: TaskDetails) -> str:
    """What an approval that asks for reasons goes against."""
    cycles = [cycle for run in details.story.runs[:1] for cycle in run.cycles[:1]]
    if details.task.reason is Reason.HUMAN_REJECTED:
        what = "A person has rejected it."
    elif not details.gate and not any(cycle.verdict for cycle in cycles):
        what = "No review has judged it."
    else:
        what = "This goes against the review."
    return f"{what} Tick what is true:"


def act_for_key(key: str, details: TaskDetails) -> str:
    possible = [act for act, _ in acts_of(details)]
    return next((act for act in _KEYS[key] if act in possible), "")


def key_of(act: str, details: TaskDetails) -> str:
    """The key that does it now; "" if it has none."""
    return next((key for key in _KEYS if act_for_key(key, details) == act), "")


def keys_of(details: TaskDetails) -> list[tuple[str, str]]:
    """The keys that do something now, with their labels."""
    acts = [(key, act_for_key(key, details)) for key in _KEYS]
    return [(key, label_of(act, details)) for key, act in acts if act]


# keys of pages and lists that show what a command prints
_SHOWN_BY = {"show": "o", "diff": "d", "findings": "i", "inbox": "2", "list": "1"}
_SHOWN_BY |= dict.fromkeys(("log", "log --phase review"), "t")
# the acts that a command stands for
_DONE_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("run", "retry"), ("run", "goon", "raise", "retry")),
    "retry --restart": ("restart",),
    "review": ("review", "ask"),
    **{name: (name,) for name in ("unpause", "pause", "stop", "merge", "rebase", "override")},
    **{f"decide {name}": (name,) for name in ("approve", "reject", "fix")},
}
_COMMAND = re.compile(
    r"(?P<quote>`?)burnish (?P<verb>[a-z]+)(?P<id> \d+)?(?P<rest> --restart| --phase review| approve| reject| fix)?"
    r"(?P=quote)(?! [-\"']| F\d)"
)

_SENTENCE_END = re.compile(r"(?<=[.;!?]) ")


def with_keys(text: str, details: TaskDetails) -> str:
    """The text with the key in place of each command for this task that a key stands for now."""

    def key_for(match: re.Match[str]) -> str:
        is_complete = match["id"] or match["quote"] or match["verb"] in ("inbox", "list")
        if not is_complete or (match["id"] or "").strip() not in ("", str(details.task.id)):
            return match[0]
        command = f"{match['verb']}{match['rest'] or ''}"
        possible = [act for act, _ in acts_of(details)]
        acts = (act for act in _DONE_BY.get(command, ()) if act in possible)
        key = _SHOWN_BY.get(command) or next((key for act in acts if (key := key_of(act, details))), "")
        is_first = match.string[: match.start()].rstrip()[-1:] in ("", ".")
        return f"{'Key' if is_first else 'key'} {key}" if key else match[0]

    return _COMMAND.sub(key_for, text)


def without_commands(text: str, task_id: int) -> str:
    """The sentences that name no command for this task."""

    def names_one(sentence: str) -> bool:
        return any(
            (match["id"] or "").strip() == str(task_id) or match["quote"] for match in _COMMAND.finditer(sentence)
        )

    return " ".join(one for one in _SENTENCE_END.split(text) if not names_one(one)).rstrip(" ;")


def label_of(act: str, details: TaskDetails) -> str:
    if act in ("fix", "improve") and question_of(details):
        return "Answer"
    # what a retry does here
    if act == "retry" and details.task.reason in _RETRIES:
        return _RETRIES[details.task.reason]
    return LABELS[act]


_RETRIES = {Reason.SECRET: "Remove secret", Reason.CONFLICT: "Resolve"}


def question_of(details: TaskDetails) -> str:
    """What the review asks a person; "" if it asks nothing."""
    if details.gate:
        shown = details.gate.shown
        return shown.summary if shown.verdict == Verdict.NEEDS_DISCUSSION else ""
    return details.head.note if details.task.reason is Reason.NEEDS_DISCUSSION else ""


def opposite(order: Order, task: Task) -> Order | None:
    """The legal act that takes this one back; `task` as it was before."""
    back = replace(order, status=None, commit="", text="", shown_label="")
    match order.act:
        case "archive":
            return replace(back, act="unarchive")
        case "pause" | "unpause":
            return replace(back, act="unpause" if order.act == "pause" else "pause")
        case "cancel" if task.status is Status.BACKLOG:
            # it has nothing but its text, so nothing is lost
            return replace(back, act="back")
        case "back" if task.status is Status.CANCELLED:
            return replace(back, act="cancel")
        case "waive":
            return replace(back, act="reopen", text=order.text.partition(" ")[0])
        case "tag":
            return replace(back, act="tag", text=" ".join(task.spec.tags))
        case "describe":
            return replace(back, act="describe", text=task.spec.description)
    return None
