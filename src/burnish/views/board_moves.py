"""What a person can make of a task by moving its card: a part of the one table, and the call that each move means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from burnish.core.status import MOVES, Reason, Status, check_move
from burnish.core.task import Task, TaskType
from burnish.errors import Refused


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can be done to a task. `path` is under the task's own address in the API."""

    label: str
    method: str = "POST"
    path: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    # what is asked before: nothing, `sure`, `note`, `text`, `merge`; or `page#part`, which is where it is done
    ask: str = ""
    words: str = ""


ACTS: Mapping[str, Act] = {
    "run": Act("Start", path="/run"),
    "goon": Act("Continue", path="/run", words="Continues at the interrupted phase."),
    "retry": Act(
        "Retry",
        path="/retry",
        words="Runs what stopped once more and continues; finished phases are kept and not paid again.",
    ),
    "restart": Act(
        "Start again",
        path="/retry",
        body={"restart": True},
        ask="sure",
        words="Starts a new run from the current base, and pays for all of it again; the commits so far stay under a "
        "rescue ref.",
    ),
    "raise": Act(
        "Raise and retry…", ask="page#answer", words="The task's page asks for the new limit, and the run continues."
    ),
    "stop": Act("Stop", path="/stop", words="Stops the agents and keeps the work; you can continue later."),
    "unqueue": Act("Take out of the queue", path="/stop", words="The task keeps its status until you start it."),
    "pause": Act("Pause", path="/pause", words="Ends after the phase that is under way; no run continues it."),
    "unpause": Act("Unpause", path="/unpause", words="Runs may take it up again."),
    "improve": Act(
        "Improve",
        path="/improve",
        body={"review": True},
        ask="note",
        words="Runs one more cycle with your note: agent, checks and review.",
    ),
    "comment": Act(
        "Comment",
        path="/comments",
        ask="text",
        words="A finding that the agent settles next. An approval becomes void.",
    ),
    "ask": Act("Review", path="/review", words="Runs checks and review on the branch. The agent is not called."),
    "review": Act(
        "Review again",
        path="/review",
        words="Runs checks and review again on the same commit. The agent is not called.",
    ),
    "back": Act("Put back", "PATCH", body={"status": "backlog"}, words="Moves the task back to the backlog."),
    "cancel": Act("Cancel", path="/cancel", ask="sure", words="Ends the work on the task; the work so far is kept."),
    "merge": Act("Merge…", path="/merge", ask="merge", words="Merges into the branch that the task started from."),
    "rebase": Act(
        "Let the agent resolve",
        path="/rebase",
        ask="sure",
        words="Merges the target into the task's branch. The agent resolves the conflicts; a review follows.",
    ),
    "decide": Act("Decide…", ask="page#gate", words="The task's page shows the findings and asks for your decision."),
    "override": Act(
        "Override…",
        ask="page#override",
        words="Approves without an approving review. Asks for a reason.",
    ),
    "archive": Act("Archive", "PATCH", body={"archived": True}, words="Leaves it out of the board and of lists."),
    "remove": Act("Remove", "DELETE", ask="sure", words="Removes it from all lists; its events and its work are kept."),
}


def acts_json() -> dict[str, dict[str, Any]]:
    """The acts for the script of a page."""
    return {name: asdict(act) for name, act in ACTS.items()}


_S = Status
# A part of MOVES (a test holds them together): the rest, burnish alone does.
BY_HAND: Mapping[Status, Mapping[Status, str]] = {
    _S.BACKLOG: {_S.IN_PROGRESS: "run", _S.CANCELLED: "cancel"},
    _S.IN_PROGRESS: {_S.CANCELLED: "cancel"},
    _S.CODE_REVIEW: {_S.IN_PROGRESS: "improve", _S.VERIFIED: "override", _S.CANCELLED: "cancel"},
    _S.WAITING_APPROVAL: {
        _S.VERIFIED: "decide",
        _S.IN_PROGRESS: "decide",
        _S.BLOCKED: "decide",
        _S.CANCELLED: "cancel",
    },
    _S.VERIFIED: {_S.COMPLETED: "merge", _S.CODE_REVIEW: "review", _S.IN_PROGRESS: "improve"},
    _S.COMPLETED: {},
    _S.BLOCKED: {
        _S.IN_PROGRESS: "retry",
        _S.CODE_REVIEW: "review",
        _S.BACKLOG: "back",
        _S.VERIFIED: "override",
        _S.CANCELLED: "cancel",
    },
    # where it goes on is where it was cut
    _S.FAILED: {_S.IN_PROGRESS: "retry", _S.CODE_REVIEW: "retry", _S.BACKLOG: "back", _S.CANCELLED: "cancel"},
    _S.CANCELLED: {_S.BACKLOG: "back"},
}
_RESOLVE = {_S.IN_PROGRESS: "rebase"}
# actions that need reviewed work, and actions that are not allowed while a runner holds the task
_NEEDS_WORK = ("review", "override", "improve")
_NEEDS_REST = ("ask", "review", "override", "improve", "run", "goon", "merge")
# actions that start a run
_STARTS_RUN = ("ask", "review", "improve", "run", "goon", "retry")
# actions that the server refuses while the checkout is not trusted
NEEDS_TRUST = frozenset({*_STARTS_RUN, "restart", "raise", "rebase", "merge", "decide", "override"})
_COMMENTED = frozenset({*_S} - {_S.BACKLOG, _S.COMPLETED, _S.CANCELLED})
# who holds a task while it is worked on
RUNNING = ("here", "elsewhere")
# not run, and not to be started by hand
IDLE = ("queued", "paused")


def moves(
    task: Task, *, unmet: Sequence[int], standing: str, is_conflict: bool = False, is_trusted: bool = True
) -> dict[Status, str]:
    """Where this task can be put by hand, and by which act; `standing` and `is_trusted` as `Holders` says it.

    `is_conflict`: an approved task that conflicts with its target. What resolves it comes first.
    """
    by_hand = {**_RESOLVE, **{to: act for to, act in BY_HAND[task.status].items() if to not in _RESOLVE}}
    legal = by_hand if is_conflict else BY_HAND[task.status]
    possible = {to: act for to, act in legal.items() if not why_not(task, act, unmet, standing)}
    # a retry alone would be blocked again at once
    is_spent = is_budget_spent(task)
    acts = {to: "raise" if act == "retry" and is_spent else act for to, act in possible.items()}
    return {to: act for to, act in acts.items() if is_trusted or act not in NEEDS_TRUST}


def is_budget_spent(task: Task) -> bool:
    """Whether the limit of this one task was reached; a limit of the run is another one in the next run."""
    return task.status is Status.BLOCKED and task.reason is Reason.BUDGET and "(budget.task_" in task.note


def others(task: Task, *, standing: str, is_trusted: bool = True) -> tuple[str, ...]:
    """What else can be done to it, without a move."""
    if standing == "queued":
        return ("unqueue",)
    if standing == "paused":
        return ("unpause", "remove")
    running = standing in RUNNING
    found = []
    if running:
        found += ["stop"] if task.spec.paused else ["stop", "pause"]
    if task.status is Status.CODE_REVIEW and not running and task.waits_for:
        # a run would leave it alone: its next step is started by hand
        found.append("review" if task.waits_for == "improve" else "ask")
    elif standing == "interrupted" or (task.status is Status.CODE_REVIEW and not running):
        found.append("goon")
    if task.base and task.status in _COMMENTED and task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE):
        found.append("comment")
    if not running and task.base and task.status in (Status.BLOCKED, Status.FAILED, Status.VERIFIED):
        found.append("restart")
    if task.status in (Status.COMPLETED, Status.CANCELLED):
        found.append("archive")
    if not running:
        found.append("remove")
    return tuple(act for act in found if is_trusted or act not in NEEDS_TRUST)


def refuse_move(task: Task, to: Status, *, unmet: Sequence[int], standing: str) -> str:
    """The act that makes this move; raises `Refused` with the reason if a person cannot make it."""
    try:
        check_move(str(task.id), task.status, to)
    except Refused as error:
        # the names of statuses as the board shows them
        raise Refused(error.what.replace("_", " "), hint=(error.hint or "").replace("_", " ")) from error
    act = BY_HAND[task.status].get(to)
    if act is None:
        raise Refused(
            f"A task cannot be moved from {_words(task.status)} to {_words(to)} by hand: burnish does that.",
            hint=_instead(task),
        )
    why = why_not(task, act, unmet, standing)
    if why:
        raise Refused(why, hint=_hint(task, unmet, standing))
    return act


def why_not(task: Task, act: str, unmet: Sequence[int], standing: str) -> str:
    """Why a person cannot do this to the task now; "" if nothing is in the way."""
    if act in _NEEDS_REST and standing == "queued":
        return f"Task {task.id} is queued: it starts when it is its turn."
    if act in _STARTS_RUN and standing == "paused":
        return f"Task {task.id} is paused."
    if act == "run" and unmet:
        return f"Task {task.id} waits for {', '.join(map(str, unmet))}."
    if act in _NEEDS_REST and standing in RUNNING:
        return f"Task {task.id} is being worked on."
    if act in _NEEDS_WORK and not task.base:
        return f"Task {task.id} has not been worked on: there is nothing to judge."
    if act in _NEEDS_WORK and task.reason is Reason.BRANCH_GONE:
        return f"The branch of task {task.id} is gone: there is nothing to judge."
    if act in ("improve", "review") and is_budget_spent(task):
        return f"The budget of task {task.id} is used up: one more call would be blocked at once."
    if act in _NEEDS_WORK and task.status is Status.BLOCKED and task.commit in (None, task.base):
        return f"Task {task.id} has no change yet: there is nothing to judge."
    return ""


def _hint(task: Task, unmet: Sequence[int], standing: str) -> str:
    if standing == "queued":
        return "Take it out of the queue first."
    if unmet and task.status is Status.BACKLOG:
        return "It can start when they are verified or completed."
    if task.reason is Reason.BRANCH_GONE:
        return "Retry brings back what can be read."
    if is_budget_spent(task):
        return "Raise its limit on its page."
    return "Stop it first, or wait until it comes to rest." if task.base else "Retry it, or put it back."


def _instead(task: Task) -> str:
    ways = [_words(to) for to in MOVES[task.status] if to in BY_HAND[task.status]]
    return f"You can move it to: {', '.join(sorted(ways))}." if ways else "It is finished."


def _words(status: Status) -> str:
    return status.value.replace("_", " ")
