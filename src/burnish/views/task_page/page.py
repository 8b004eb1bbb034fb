"""The head of a task's page: where it stands, what happens next, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from burnish.core.commit import TargetConflict
from burnish.core.decision import is_repeated_failure, needs_description
from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding, worst_first
from burnish.core.journal import read
from burnish.core.journal_events import FindingChanged, TaskMerged
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.board import Holders, Need, is_rejected, needs_of
from burnish.views.board_moves import ACTS, IDLE, NEEDS_TRUST, RUNNING, Act, moves, others, why_not
from burnish.views.status import doing
from burnish.views.task import failure_output
from burnish.views.task_page.answers import PageAnswer, answer_of, may_hand_off

TONES: Mapping[Status, str] = {
    Status.BACKLOG: "",
    Status.IN_PROGRESS: "busy",
    Status.CODE_REVIEW: "busy",
    Status.WAITING_APPROVAL: "warn",
    Status.VERIFIED: "good",
    Status.COMPLETED: "good",
    # as on its card: red is for what failed
    Status.BLOCKED: "warn",
    Status.FAILED: "bad",
    Status.CANCELLED: "",
}

# the notes of rejections without a note of the person
_REJECTED_WITHOUT_NOTE = ("rejected by a person", "the plan was rejected by a person")
# Why it stands still, as one says it; `note` follows where there is one.
_BLOCKED: Mapping[Reason, str] = {
    Reason.MAX_CYCLES: "It used up its cycles and the review still asks for changes. Give it one more with a word of "
    "advice, waive what you accept, or override the review.",
    Reason.NEEDS_DISCUSSION: "The reviewer wants to talk it over with a person. Say what is right and let it go on.",
    Reason.REJECTED: "The review rejected it as a whole. Say what to do instead, or start again.",
    Reason.HUMAN_REJECTED: "A person rejected it. Say what to do instead, or start again.",
    Reason.STALLED: "The same problems came back without progress. It needs a word of advice.",
    Reason.BUDGET: "The budget is used up. Raise it, then retry.",
    Reason.UNREADABLE_REVIEW: "The review could not be read, so it counts for nothing. Have it reviewed again.",
    Reason.INCOMPLETE_REVIEW: "Not every changed file was looked at. Have it reviewed again.",
    Reason.GUARD: "It changed what judges it: tests, checks or settings. Only a person can accept that: look at the "
    "guard findings, and waive them or send it back.",
    Reason.NO_CHANGES: "The agent changed nothing. Say more clearly what is wanted, then retry.",
    Reason.SECRET: "The work holds a secret and was not committed. Take it out, then retry.",
    Reason.BRANCH_GONE: "Its branch or its commit is gone, so it is not approved. Retry brings back what can be read.",
    Reason.CONFLICT: "The agent did not resolve the conflicts with the target. Retry asks it again; or merge the "
    "target into the branch by hand, then retry.",
}
# the acts in the order of the buttons; the first that is possible is the one that stands out
_ORDER = (
    "unpause", "run", "ask", "goon", "rebase", "merge", "improve", "retry", "review", "override", "stop", "pause",
    "unqueue", "comment", "back", "restart", "cancel",
)  # fmt: skip
_STANDS_OUT: Mapping[Reason, str] = {
    Reason.BUDGET: "retry",
    Reason.NO_CHANGES: "retry",
    Reason.SECRET: "retry",
    Reason.BRANCH_GONE: "retry",
    Reason.CONFLICT: "retry",
    Reason.UNREADABLE_REVIEW: "review",
    Reason.INCOMPLETE_REVIEW: "review",
}
# on their own places in the page
_ELSEWHERE = ("decide", "remove")


@dataclass(frozen=True, slots=True)
class Button:
    name: str
    act: Act
    first: bool = False
    danger: bool = False


@dataclass(frozen=True, slots=True)
class TaskHead:
    task: Task
    tone: str
    # here, elsewhere, queued, interrupted or nothing
    standing: str
    next: str
    buttons: tuple[Button, ...]
    needs: tuple[Need, ...]
    needed_by: tuple[int, ...]
    # what the person who acts has seen: decisions name it
    commit: str
    # it can be closed by hand
    may_close: bool
    # the end of what the command printed that it failed on
    output: str = ""
    # the form that answers its state
    answer: PageAnswer | None = None
    # an external reviewer can be asked
    may_hand_off: bool = False
    # `waits for claude until 03:00`: the usage limit that it waits for, while it runs or is ready
    limit: str = ""
    # if not, nothing is offered that runs something, or that depends on the settings
    is_trusted: bool = True

    @property
    def running(self) -> bool:
        return self.standing in RUNNING

    @property
    def needs_description(self) -> bool:
        """Whether the task has to be edited before it can continue."""
        return needs_description(self.task.reason, self.task.note)

    @property
    def note(self) -> str:
        """The task's note without the sentence that the page already shows above it."""
        if self.task.note in _REJECTED_WITHOUT_NOTE and is_rejected(self.task):
            return ""
        note, first = self.task.note, self.next.partition(". ")[0].rstrip(".") + "."
        return note.removeprefix(first).lstrip() if note.startswith(first) else note


def head_of(store: Store, project: str, id: int, holders: Holders, conflict: TargetConflict | None = None) -> TaskHead:
    """`conflict`: with its target, where the task is approved."""
    task = store.task(project, id)
    tasks = {other.id: other for other in store.tasks(project, brief=True)}
    standing = holders.standing(task)
    needs = needs_of(task, tasks)
    unmet = [need.id for need in needs if not need.met] if task.status is Status.BACKLOG else []
    is_ready = task.status is Status.BACKLOG and not unmet and standing not in IDLE
    limit = holders.limit(task) if standing in RUNNING or is_ready else ""
    is_trusted = holders.is_trusted(project)
    buttons = _buttons(task, standing, unmet, conflict, is_trusted=is_trusted)
    answer = answer_of(task, {button.name for button in buttons}, conflict)
    if answer and answer.kind == "outside" and not is_trusted:
        answer = None
    return TaskHead(
        task=task,
        tone="warn" if conflict else TONES[task.status],
        standing=standing,
        next=_merged_words(store, task) or what_next(task, standing, unmet, conflict, limit),
        buttons=_without_answered(buttons, answer),
        needs=needs,
        needed_by=tuple(sorted(other.id for other in tasks.values() if id in other.spec.depends_on)),
        commit=task.commit or "",
        may_close=is_trusted and _may_close(task, standing),
        output=failure_output(task, store.events(project, task=id)) if task.status is Status.FAILED else "",
        answer=answer,
        may_hand_off=is_trusted and may_hand_off(task, at_rest=standing in ("", "interrupted")),
        limit=limit,
        is_trusted=is_trusted,
    )


def _merged_words(store: Store, task: Task) -> str:
    """`It is merged into main.`; "" if it is not merged."""
    if task.status is not Status.COMPLETED:
        return ""
    events = store.events(task.project, task=task.id, types=["task.merged"])
    into = read(TaskMerged, events[-1].data).into if events else ""
    return f"It is merged into {into}." if into else ""


# the button that each form stands for
_ANSWERED_BY = {"note": "improve", "budget": "retry", "secret": "retry", "outside": ""}


def _without_answered(buttons: tuple[Button, ...], answer: PageAnswer | None) -> tuple[Button, ...]:
    """The form has the button that stands out."""
    if answer is None:
        return buttons
    name = _ANSWERED_BY.get(answer.kind) or ("rebase" if any(b.name == "rebase" for b in buttons) else "retry")
    return tuple(replace(button, first=False) for button in buttons if button.name != name)


def sorted_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Findings sorted: open first, then by severity."""
    return sorted(worst_first(tuple(findings)), key=lambda finding: not finding.alive)


def _may_close(task: Task, standing: str) -> bool:
    closable = (Status.VERIFIED, Status.BLOCKED, Status.FAILED, Status.CODE_REVIEW, Status.IN_PROGRESS)
    return task.status in closable and standing not in (*RUNNING, "queued") and bool(task.base)


def _buttons(
    task: Task,
    standing: str,
    unmet: Sequence[int],
    conflict: TargetConflict | None = None,
    *,
    is_trusted: bool = True,
) -> tuple[Button, ...]:
    possible = set(moves(task, unmet=unmet, standing=standing).values())
    possible.update(others(task, standing=standing))
    if "raise" in possible:
        # here the form asks for the limit
        possible.add("retry")
    if task.status is Status.BLOCKED and not why_not(task, "improve", unmet, standing):
        possible.add("improve")
    if conflict and not conflict.needs_person and "merge" in possible:
        # a merge would be refused
        possible.remove("merge")
        possible.add("rebase")
    if not is_trusted:
        possible -= NEEDS_TRUST
    names = [name for name in _ORDER if name in possible - set(_ELSEWHERE)]
    preference = _STANDS_OUT.get(task.reason, "improve") if task.reason else ""
    editing = needs_description(task.reason, task.note)
    first = preference if preference in names else next(iter(names), "")
    harmless = (
        first not in ("cancel", "stop", "pause", "unqueue", "comment", "back", "restart")
        or task.status is Status.CANCELLED
    )
    order = sorted(names, key=lambda name: name != first)
    return tuple(
        Button(name, ACTS[name], first=name == first and harmless and not editing, danger=name == "cancel")
        for name in order
    )


def what_next(
    task: Task,
    standing: str = "",
    unmet: Sequence[int] = (),
    conflict: TargetConflict | None = None,
    limit: str = "",
) -> str:
    """The state of the task in one or two sentences. `limit`: the usage limit that it waits for, in words."""
    if limit:
        return f"It {limit}, because of its usage limit. Then it {'continues' if standing in RUNNING else 'can start'}."
    if standing in RUNNING:
        return _running(task, standing)
    if standing == "queued":
        return "It is queued: this server starts it when a slot is free."
    if standing == "paused":
        return "It is paused: no run takes it up until you unpause it."
    match task.status:
        case Status.BACKLOG:
            if unmet:
                return f"It waits for {', '.join(f'T{id}' for id in unmet)}, and can start when that is verified."
            return "It is ready to be started."
        case Status.IN_PROGRESS | Status.CODE_REVIEW:
            return _at_rest(task, standing)
        case Status.WAITING_APPROVAL:
            return "It waits for your decision."
        case Status.VERIFIED:
            if conflict:
                remedy = conflict.remedy(str(task.branch))
                return f"It is approved, but {conflict.words}{f'; {remedy}' if remedy else ''}."
            into = f" into {task.target}" if task.target else ""
            return f"It is approved and ready to be merged{into}."
        case Status.BLOCKED:
            if is_repeated_failure(task.reason, task.note):
                return "A program failed in the same way several times. Correct what is named here, then retry."
            return _BLOCKED.get(task.reason, "It needs a person.") if task.reason else "It needs a person."
        case Status.FAILED:
            return "It could not be run. Correct what is named here, then retry: it continues where it stopped."
        case Status.CANCELLED:
            return "It was cancelled; what was done so far is kept."
    return "It is done."


def _running(task: Task, standing: str) -> str:
    who = task.agent or task.spec.agent or "The agent"
    where = "" if standing == "here" else " (in another process)"
    if not task.phase:
        doing_now = "being reviewed" if task.status is Status.CODE_REVIEW else "being worked on"
        return f"It is {doing_now}{where}."
    if task.phase.startswith(("implement", "improve")):
        return f"{who} is {doing(task.phase)}{where}. Then come the checks and the review."
    if task.phase.startswith("review"):
        return f"A review is running{_step_words(task.phase)}{where}. Then burnish decides on the next step."
    then = {"check": " Then comes the review."}
    return f"It is {doing(task.phase)}{where}.{then.get(task.phase, '')}"


def _step_words(phase: str) -> str:
    step = phase.partition(":")[2]
    return f" ({step})" if step else ""


def _at_rest(task: Task, standing: str) -> str:
    if standing == "interrupted":
        return "It was interrupted. It can continue at the interrupted phase; finished phases do not run again."
    if task.waits_for == "improve":
        return "The review asks for changes. Improve the task, or review it again."
    if task.waits_for == "outside":
        return f"It was handed to an external reviewer: burnish review {task.id} --from FILE imports the reply."
    if task.status is Status.CODE_REVIEW and task.waits_for:
        return "It waits for its review. Review it, or improve it."
    return "No process runs it. Continue it."


# -- findings -------------------------------------------------------------------------------------
# Findings with their history: what happened to each, and who did it.

_WORDS = {
    "finding.opened": "raised",
    "finding.resolved": "resolved",
    "finding.reopened": "open again",
    "finding.waived": "waived",
    "finding.disputed": "disputed by who works on it",
    "finding.reanchored": "moved with the code",
    "finding.replied": "answered",
}


@dataclass(frozen=True, slots=True)
class FindingEvent:
    at: str
    cycle: int
    words: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    history: tuple[FindingEvent, ...]


def findings_view(store: Store, project: str, id: int) -> tuple[FindingView, ...]:
    """What is alive first, then the worst. Only of the run that counts."""
    task = store.task(project, id)
    changes: dict[str, list[FindingEvent]] = {}
    for event in store.events(project, task=id):
        if event.type in _WORDS and event.run in (0, task.run):
            finding = read(FindingChanged, event.data).finding
            changes.setdefault(finding.id, []).append(_change(event, finding))
    return tuple(FindingView(f, tuple(changes.get(f.id, ()))) for f in sorted_findings(store.findings(project, id)))


def _change(event: RecordedEvent, finding: Finding) -> FindingEvent:
    note = finding.note.replace(" by user:", " by ", 1)
    if event.type == "finding.waived" and finding.waiver:
        note = f"{finding.waiver.by.removeprefix('user:')}: {finding.waiver.reason}"
    if event.type == "finding.replied" and finding.replies:
        note = f"{finding.replies[-1].by.removeprefix('user:')}: {finding.replies[-1].text}"
    if event.type == "finding.disputed":
        note = finding.evidence or note
    return FindingEvent(event.ts, event.cycle, _WORDS[event.type], note)
