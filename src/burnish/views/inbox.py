"""Everything that needs a person, oldest first, with the one command that answers each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from burnish.core.commit import TargetConflict, left_out_words
from burnish.core.decision import is_repeated_failure, needs_description
from burnish.core.finding import FindingState, worst_first
from burnish.core.journal import WorkResult
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.status import UNDER_WAY, WAITING, doing, is_running, was_sent_back

OPEN = (
    Status.WAITING_APPROVAL,
    Status.BLOCKED,
    Status.FAILED,
    Status.IN_PROGRESS,
    Status.CODE_REVIEW,
    Status.VERIFIED,
)

# What answers a task that stopped, by the reason it stopped for.
ANSWERS = {
    Reason.MAX_CYCLES: "burnish improve {} --review",
    Reason.STALLED: 'burnish improve {} -m "…" --review',
    Reason.NEEDS_DISCUSSION: 'burnish improve {} -m "…" --review',
    Reason.REJECTED: 'burnish improve {} -m "…" --review',
    Reason.HUMAN_REJECTED: 'burnish improve {} -m "…" --review',
    Reason.BUDGET: "burnish retry {}",
    Reason.UNREADABLE_REVIEW: "burnish review {}",
    Reason.INCOMPLETE_REVIEW: "burnish review {}",
    Reason.GUARD: 'burnish waive {} {finding} --reason "…"',
    Reason.NO_CHANGES: "burnish retry {}",
    Reason.SECRET: "burnish retry {}",
    Reason.BRANCH_GONE: "burnish retry {}",
    Reason.CONFLICT: "burnish retry {}",
}


NO_CONFLICTS: Mapping[tuple[str, int], TargetConflict] = {}
NO_TASKS: Mapping[str, Sequence[Task]] = {}
# the budgets that a retry can replace, with its option
TASK_BUDGETS = {"budget.task_usd": " --budget …", "budget.task_tokens": " --tokens …"}
DESCRIBE = 'burnish edit {} -d "…"'

# the parts of the inbox, in their order
SECTIONS = TO_DECIDE, TO_ANSWER, STANDS_STILL = ("Decide", "Answer", "Stopped")
TO_MERGE = "Ready to merge"
# reasons for which a person has to say what to do
_ASKING = frozenset(
    {Reason.NEEDS_DISCUSSION, Reason.REJECTED, Reason.HUMAN_REJECTED, Reason.STALLED, Reason.MAX_CYCLES}
)


def answer_to(reason: Reason | None, note: str) -> str:
    """The command that answers a blocked task, with `{}` for its number."""
    if needs_description(reason, note):
        return DESCRIBE
    if is_repeated_failure(reason, note):
        return "burnish retry {}"
    if reason is Reason.BUDGET:
        # a retry alone would be blocked again at once
        option = next((option for setting, option in TASK_BUDGETS.items() if setting in note), "")
        return f"{ANSWERS[reason]}{option}"
    return ANSWERS[reason] if reason else "burnish retry {}"


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """One thing that waits for a person."""

    task: Task
    # waiting_approval, blocked, failed, review, voided, interrupted, paused, waiver, conflict, ready
    kind: str
    why: str
    # since when
    since: str
    command: str
    # files that no reviewer could be shown, as (path, description): a decision accepts them as well
    unseen_files: tuple[tuple[str, str], ...] = ()
    # paths in which an approved task conflicts with its target
    conflicts: tuple[str, ...] = ()

    @property
    def is_question(self) -> bool:
        """At a gate, the note holds the reviewer's words."""
        return self.kind == "waiting_approval" and self.task.note.rstrip().endswith("?")

    @property
    def section(self) -> str:
        if self.kind == "ready":
            return TO_MERGE
        if self.is_question or (self.kind == "blocked" and self.task.reason in _ASKING):
            return TO_ANSWER
        return TO_DECIDE if self.kind in ("waiting_approval", "review", "waiver", "voided") else STANDS_STILL

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.task.id),
            "project": self.task.project,
            "title": self.task.spec.title,
            "status": self.task.status.value,
            "kind": self.kind,
            "reason": self.task.reason.value if self.task.reason else None,
            "why": self.why,
            "since": self.since,
            "command": self.command,
            "conflicts": list(self.conflicts),
            "unseen_files": [{"path": path, "description": words} for path, words in self.unseen_files],
        }


def inbox(
    store: Store,
    projects: Iterable[str],
    *,
    today: str,
    alive: Callable[[str], bool] = lambda runner: True,
    conflicts: Mapping[tuple[str, int], TargetConflict] = NO_CONFLICTS,
    all_tasks: Mapping[str, Sequence[Task]] = NO_TASKS,
) -> list[InboxEntry]:
    """All entries, oldest first; tasks that are ready to merge come last.

    `conflicts`: approved tasks that cannot be merged as they are, by project and number. `all_tasks`: all tasks of a
    project, brief, if they were read already.
    """
    found = [
        entry for project in projects for entry in _of_project(store, project, today, alive, all_tasks.get(project))
    ]
    found = [_with_conflict(entry, conflicts) if entry.kind == "ready" else entry for entry in found]
    return sorted(found, key=lambda e: (e.kind == "ready", e.since, e.task.project, e.task.id))


def in_sections(entries: Iterable[InboxEntry]) -> list[InboxEntry]:
    """Section by section, and last those that only have to be merged."""
    return sorted(entries, key=lambda entry: (*SECTIONS, TO_MERGE).index(entry.section))


def waiting_ids(
    store: Store,
    project: str,
    all_tasks: Sequence[Task] | None,
    *,
    today: str,
    alive: Callable[[str], bool],
    is_queued: Callable[[Task], bool],
    conflicts: Mapping[tuple[str, int], TargetConflict],
) -> Iterator[int]:
    """The tasks of `inbox` without those that only need to be merged or are queued; the board asks after each event."""
    for task, state, _ in _states(store, project, today, alive, all_tasks):
        if state == _READY and (project, task.id) not in conflicts:
            continue
        if state == _UNDER_WAY and is_queued(task) and _under_way(store, task).kind == "interrupted":
            continue
        yield task.id


def from_elsewhere(command: str, folder: str) -> str:
    """The same command for use outside of the project's folder."""
    return command.replace("burnish ", f"burnish -C {quote(folder)} ", 1)


def _open_tasks(store: Store, project: str, all_tasks: Sequence[Task] | None) -> list[Task]:
    """Those that can need a person."""
    if all_tasks is None:
        return [*store.tasks(project, statuses=OPEN, brief=True), *store.paused_backlog(project)]
    return [task for task in all_tasks if task.status in OPEN or (task.status is Status.BACKLOG and task.is_paused)]


def _of_project(
    store: Store, project: str, today: str, alive: Callable[[str], bool], all_tasks: Sequence[Task] | None
) -> Iterator[InboxEntry]:
    incomplete = set(store.left_out(project))
    found = list(_states(store, project, today, alive, all_tasks))
    # a comment or a waiver changes a task without ending its wait, so its last change does not count
    since = store.statuses_since(project, [task.id for task, state, _ in found if state in (_READY, _STOPPED)])
    for task, state, over in found:
        if state == _PAUSED:
            yield InboxEntry(task, "paused", _why_paused(task), *_when(task, f"burnish unpause {task.id}"))
        elif state == _WAIVER:
            command = f'burnish waive {task.id} {over[0]} --reason "…"'
            yield InboxEntry(task, "waiver", f"the waiver of {', '.join(over)} has run out", task.updated_at, command)
        elif state == _UNDER_WAY:
            yield _under_way(store, task)
        else:
            entry = replace(_at_rest(store, task), since=since.get(task.id, task.updated_at))
            yield _with_left_out(store, entry) if task.id in incomplete else entry


_PAUSED, _WAIVER, _UNDER_WAY, _READY, _STOPPED = "paused", "waiver", "under way", "ready", "stopped"


def _states(
    store: Store, project: str, today: str, alive: Callable[[str], bool], all_tasks: Sequence[Task] | None
) -> Iterator[tuple[Task, str, tuple[str, ...]]]:
    """The tasks that need a person, why in one word, and the findings whose waiver has run out."""
    waiver_task_ids = set(store.waived_until(project))
    for task in _open_tasks(store, project, all_tasks):
        if task.is_paused and not is_running(task, alive):
            yield task, _PAUSED, ()
        elif task.id in waiver_task_ids and (over := _run_out(store, task, today)):
            yield task, _WAIVER, over
        elif task.status in UNDER_WAY:
            if not is_running(task, alive):
                yield task, _UNDER_WAY, ()
        # a person has decided on a rejected one already
        elif task.reason is not Reason.HUMAN_REJECTED:
            yield task, _READY if task.status is Status.VERIFIED else _STOPPED, ()


def _run_out(store: Store, task: Task, today: str) -> tuple[str, ...]:
    findings = store.findings(task.project, task.id)
    waivers = [f for f in findings if f.state is FindingState.WAIVED and f.waiver and f.waiver.until]
    return tuple(f.id for f in waivers if f.waiver and (f.waiver.until or "") < today)


def _under_way(store: Store, task: Task) -> InboxEntry:
    """Waiting for a review or an improve that a person starts, or without a runner in the middle of the loop."""
    own = [d for d in store.decisions(task.project, task.id) if d.run == task.run]
    approval = store.approval(task.project, task.id)
    if task.waits_for:
        command = WAITING.get(task.waits_for, WAITING["review"]).format(task.id)
        why = (own[-1].data.why if own else "") or "it waits for you to start its review"
        return InboxEntry(task, "review", why, *_when(task, command))
    if approval and not approval.valid and task.status is Status.CODE_REVIEW:
        why = f"no longer approved: {task.note}" if task.note else "its approval is void"
        return InboxEntry(task, "voided", why, *_when(task, f"burnish run {task.id}"))
    return InboxEntry(task, "interrupted", _why_it_stands(task), *_when(task, f"burnish run {task.id}"))


def _why_paused(task: Task) -> str:
    failure = f" after {task.error}" if task.status is Status.FAILED else ""
    return f"paused{failure}: no run takes it up"


def _why_it_stands(task: Task) -> str:
    if was_sent_back(task):
        return f"sent back, not fixed yet: {task.note}" if task.note else "sent back, not fixed yet"
    during = f" while {doing(task.phase)}" if task.phase else ""
    return f"interrupted{during}: no runner works on it; what was finished is not done again"


def _at_rest(store: Store, task: Task) -> InboxEntry:
    if task.status is Status.VERIFIED:
        over = " (by override)" if task.overrides else ""
        return InboxEntry(
            task, "ready", f"approved{over}, ready to be merged", *_when(task, f"burnish merge {task.id}")
        )
    if task.status is Status.WAITING_APPROVAL:
        command = f"burnish decide {task.id} approve"
        note = (task.note or "it waits for your approval").rstrip(".")
        why = f"{note}{'' if note.endswith(('?', '!')) else ':'} approve, reject or fix"
        return InboxEntry(task, "waiting_approval", why, *_when(task, command), _unseen_files(store, task))
    if task.status is Status.FAILED:
        why = f"{task.error}: {task.note}" if task.note else str(task.error or "it could not be run")
        return InboxEntry(task, "failed", why, *_when(task, f"burnish retry {task.id}"))
    command = answer_to(task.reason, task.note)
    finding = _worst(store, task) if "{finding}" in command else ""
    why = f"{task.reason}: {task.note}" if task.note else str(task.reason)
    return InboxEntry(task, "blocked", why, *_when(task, command.format(task.id, finding=finding)))


def _with_conflict(entry: InboxEntry, conflicts: Mapping[tuple[str, int], TargetConflict]) -> InboxEntry:
    task = entry.task
    conflict = conflicts.get((task.project, task.id))
    if conflict is None:
        return entry
    why = entry.why.replace("ready to be merged", f"but {conflict.words}")
    remedy = conflict.remedy(str(task.branch))
    why = f"{why}; {remedy}" if remedy else why
    return replace(entry, kind="conflict", why=why, command=conflict.command(task.id), conflicts=conflict.paths)


def _unseen_files(store: Store, task: Task) -> tuple[tuple[str, str], ...]:
    own = [d for d in store.decisions(task.project, task.id) if d.run == task.run]
    files = own[-1].data.unseen_files if own else ()
    return tuple((file.path, file.description) for file in files)


def _with_left_out(store: Store, entry: InboxEntry) -> InboxEntry:
    """Adds the files that were left out of the commit. NO_CHANGES names them in its own message."""
    task = entry.task
    work_phases = [p for p in store.phases(task.project, task.id, task.run) if p.phase in ("implement", "improve")]
    result = work_phases[-1].result if work_phases else None
    names = result.left_out if isinstance(result, WorkResult) else ()
    if not names or task.reason is Reason.NO_CHANGES:
        return entry
    return replace(entry, why=f"{entry.why}. {left_out_words(names)}")


def _when(task: Task, command: str) -> tuple[str, str]:
    return task.updated_at, command


def _worst(store: Store, task: Task) -> str:
    alive = worst_first(tuple(f for f in store.findings(task.project, task.id) if f.alive))
    return next((f.id for f in alive if f.remark.category.value == "guard"), alive[0].id if alive else "F1")
