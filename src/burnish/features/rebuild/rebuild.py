"""`burnish rebuild`: rebuilds the database from event files in the artifacts and from commit trailers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.codec import encode
from burnish.core.commit import Commit
from burnish.core.event import TYPES, Event, RecordedEvent
from burnish.core.journal import read
from burnish.core.journal_events import (
    RUN_SETTINGS,
    DecisionMade,
    PhaseStarted,
    ReviewApproved,
    RunStarted,
    TaskCreated,
    TaskStatus,
    new_event,
)
from burnish.core.status import Status
from burnish.core.task import Spec, TaskType
from burnish.engine.commands import lifecycle as actions
from burnish.engine.transitions import work_by_hand
from burnish.errors import BurnishError
from burnish.git.artifacts import is_confirmed, read_artifact
from burnish.git.base import resolve_base
from burnish.git.merge import contains
from burnish.git.objects import read_commit
from burnish.git.owned_files import PHASE, has_folder, learn, plain_tree, read_owned_file
from burnish.git.refs import list_refs, read_ref
from burnish.review.artifact import MalformedArtifact, cycle_of, parse_artifact
from burnish.review.strictjson import loads
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

ARTIFACTS = "refs/burnish/artifacts/"
BRANCHES = "refs/heads/burnish/"
NO_TRACE = "Tasks that never ran are recorded only in the burnish home. If it is lost, add them again."
FROM_COMMITS = "the commits of its branch"
_SHA = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAME = re.compile(r"([1-9][0-9]{0,8})-[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class RestoredTask:
    task: int
    source: str
    status: str
    note: str = ""


@dataclass
class RebuildReport:
    restored: list[RestoredTask] = field(default_factory=list)
    # tasks that the database has; they are left as they are
    present: list[int] = field(default_factory=list)
    # what could not be read, by name, and why
    damaged: list[tuple[str, str]] = field(default_factory=list)

    @property
    def note(self) -> str:
        """What cannot be brought back, where somebody may look for it."""
        return NO_TRACE if self.restored or not self.present else ""

    def as_json(self) -> dict[str, Any]:
        restored_tasks = [
            {"id": str(one.task), "status": one.status, "source": one.source, "note": one.note} for one in self.restored
        ]
        damaged_files = [{"file": where, "why": why} for where, why in self.damaged]
        return {
            "restored": restored_tasks,
            "present": [str(number) for number in self.present],
            "damaged": damaged_files,
        }


def rebuild(app: App, *, from_ref: bool) -> RebuildReport:
    """Restore every missing task; existing tasks stay unchanged."""
    refuse_inside_phase()
    app.trust.require()  # whether an approval still holds depends on the settings
    report = RebuildReport()
    recorded_events = app.store.events(app.key)
    task_ids, last = {event.task for event in recorded_events}, max((event.id for event in recorded_events), default=0)
    names = _names(app)
    # Their own numbers, unless others were given out again in the meantime.
    events_by_task = {
        name: _read_events(app, name, report, from_ref=from_ref) for name in names if _number(name) not in task_ids
    }
    if not from_ref:
        report.damaged += [found for name in names for found in _damaged_reviews(app, name)]
    report.present = sorted(_number(name) for name in names if _number(name) in task_ids)
    event_ids = [event.id for event in recorded_events]
    event_ids += [event.id for story in events_by_task.values() if story for event in story[0]]
    clash = len(set(event_ids)) < len(event_ids)
    for name, story in sorted(events_by_task.items(), key=lambda pair: _number(pair[0])):
        found = story or _from_commits(app, name)
        if found is None:
            continue
        events, source, note = found
        if clash or source == FROM_COMMITS:
            start = max(last, *(e.id for s in events_by_task.values() if s for e in s[0]), 0) + 1
            events = [replace(event, id=start + n) for n, event in enumerate(events)]
            last = events[-1].id
        _replay(app, name, events, source, note, report)
    # Last, because new events must not take the ids of restored ones.
    report.restored = [_if_unmoved(app, one) for one in report.restored]
    return report


def _if_unmoved(app: App, one: RestoredTask) -> RestoredTask:
    """An approval may have been voided after its story was last written: the branch itself tells."""
    for task in app.store.tasks(app.key, ids=[one.task]):
        approval = app.store.approval(app.key, task.id)
        policy = app.policy(task) if approval else None
        why = actions.void_stale(app.event_log, app.repository, task, policy)
        if why:
            return replace(one, status=Status.CODE_REVIEW.value, note=f"approval void: {why}")
    return one


def _names(app: App) -> list[str]:
    """Every task that has left a trace: a folder in the home, a ref of artifacts, a branch."""
    folder = app.home / "projects" / app.key / "tasks"
    found = {place.name for place in folder.iterdir()} if folder.is_dir() else set()
    for prefix in (ARTIFACTS, BRANCHES):
        found |= {ref.removeprefix(prefix) for ref in list_refs(app.repo, prefix)}
    names = [name for name in found if _NAME.fullmatch(name)]
    # one task may have had two names: the one with the longest story counts
    best: dict[int, str] = {}
    for name in sorted(names, key=lambda name: _length(folder / name / "artifacts" / "events.jsonl")):
        best[_number(name)] = name
    return sorted(best.values(), key=_number)


def _length(story: Path) -> int:
    return story.stat().st_size if story.is_file() else -1


def _damaged_reviews(app: App, name: str) -> Iterator[tuple[str, str]]:
    """The task's `review-cycle-N.md` that cannot be read. Nothing is decided by them, but people read them."""
    folder = app.home / "projects" / app.key / "tasks" / name / "artifacts"
    for file in sorted(folder.glob("review-cycle-*.md")):
        if cycle_of(file.name) is None or not file.is_file():
            continue
        try:
            parse_artifact(file.read_text("utf-8", "replace"), str(file))
        except MalformedArtifact as error:
            yield str(file), error.what.removeprefix(f"{file} is damaged: ").rstrip(".")


def _number(name: str) -> int:
    return int(name.split("-")[0])


# events, where they were read, a note for the report
TaskEvents = tuple[list[RecordedEvent], str, str]


def _read_events(app: App, name: str, report: RebuildReport, *, from_ref: bool) -> TaskEvents | None:
    """The best copy of the task's events. Others may write to git: decisions there count only if burnish made them."""
    place = app.home / "projects" / app.key / "tasks" / name / "artifacts" / "events.jsonl"
    ref, git_copy = _in_git(app, name)
    here = place.read_bytes() if place.is_file() and not place.is_symlink() and not from_ref else None
    copies: list[tuple[str, bytes]] = []
    if here is not None and (git_copy is None or here.startswith(git_copy)):
        copies.append((str(place), here))
    elif here is not None:
        report.damaged.append((str(place), f"it does not continue the copy in {ref}, which is used instead"))
    copies += [(ref, git_copy)] if git_copy is not None else []
    for source, data in copies:
        try:
            events = read_event_file(data, _number(name))
        except DamagedEventFile as error:
            report.damaged.append((source, str(error)))
            continue
        if source == ref and not is_confirmed(app.repo, name, data):
            return _unconfirmed(app, events, source)
        events, note = verified_events(events, lambda approval: _is_valid_approval(app, approval))
        return events, source, note or ""
    return None


def _unconfirmed(app: App, events: list[RecordedEvent], source: str) -> TaskEvents:
    """Events that others may have written. A task stays completed if a branch of the user has its commit."""
    end, has_change = _end(events), _kind(events) not in (TaskType.PLAN, TaskType.REVIEW)
    if end is None or (end is Status.COMPLETED and has_change and not _is_merged(app, events)):
        return without_decisions(events), source, UNCONFIRMED
    events, note = verified_events(events, lambda approval: _is_valid_approval(app, approval))
    return (events, source, note) if note else (without_approval(events), source, "")


def _is_merged(app: App, events: list[RecordedEvent]) -> bool:
    """Whether a branch of the user has the commit that the events call approved, or HEAD has what it changes."""
    try:
        commits = [read(ReviewApproved, event.data).commit for event in events if event.type == "review.approved"]
    except (ValueError, KeyError, TypeError):
        return False
    if not commits or not _SHA.fullmatch(str(commits[-1])):
        return False
    args = ("-n", "1", commits[-1], "--not", "--exclude=burnish/*", "--branches")
    found = app.repo.user_git("rev-list", *args, ok=(0, 128))
    if found.exit_code == 0 and not found.stdout.strip():
        return True
    try:
        # squashed or rebased
        return found.exit_code == 0 and contains(app.repo, resolve_base(app.repo, None).commit, commits[-1])
    except BurnishError:
        return False


def _in_git(app: App, name: str) -> tuple[str, bytes | None]:
    """The event file on the artifact ref or on the task's branch, whichever is longer, and its location."""
    own, branch = f"{ARTIFACTS}{name}", f"{BRANCHES}{name}"
    path = f".burnish/tasks/{name}/events.jsonl"
    if has_folder(app.repo, branch) and is_confirmed(app.repo, name, read_artifact(app.repo, branch, path) or b""):
        learn(app.repo, _commits(app, name))
    on_ref = read_artifact(app.repo, own, f"{name}/events.jsonl")
    on_branch = read_owned_file(app.repo, branch, path)
    if on_branch is not None and len(on_branch) > len(on_ref or b""):
        return f"{branch}:{path}", on_branch
    return f"{own}:{name}/events.jsonl", on_ref


def _commits(app: App, name: str) -> list[Commit]:
    """The commits that only the task's branch has, oldest first."""
    tip = read_ref(app.repo, f"{BRANCHES}{name}")
    if tip is None:
        return []
    others = ("--exclude=burnish/*", "--branches", "--exclude=*/burnish/*", "--remotes")
    args = ("--first-parent", "--reverse", tip, "--not", *others)
    shas = app.repo.user_git("rev-list", *args).stdout.decode().split()
    return [read_commit(app.repo, sha) for sha in shas]


def _is_valid_approval(app: App, approval: Mapping[str, Any]) -> bool:
    """True if the approved commit exists and has the approved tree."""
    try:
        tree = read_commit(app.repo, str(approval["commit"])).tree
        return plain_tree(app.repo, tree) == approval["tree"] and bool(approval["judge"])
    except (BurnishError, KeyError):
        return False


def _replay(app: App, name: str, events: list[RecordedEvent], source: str, note: str, report: RebuildReport) -> None:
    try:
        app.store.replay(app.key, events)
    except (BurnishError, ValueError, KeyError, TypeError, AttributeError) as error:
        # Inconsistent events are not used; the commits of the branch are.
        report.damaged.append((source, f"it is inconsistent: {error}"))
        was_removed = any(event.type == "task.removed" for event in events)
        found = None if was_removed else _from_commits(app, name)
        if found is None or source == FROM_COMMITS:
            return
        events, source, note = found
        start = max((event.id for event in app.store.events(app.key)), default=0) + 1
        events = [replace(event, id=start + n) for n, event in enumerate(events)]
        app.store.replay(app.key, events)
    tasks = app.store.tasks(app.key, ids=[_number(name)])
    status = tasks[0].status.value if tasks else "removed"
    if tasks and not note and source != FROM_COMMITS:
        app.store.mark_archived(app.key, _number(name), events[-1].id)
    report.restored.append(RestoredTask(_number(name), source, status, note))


def _from_commits(app: App, name: str) -> TaskEvents | None:
    """Events from the commits of the branch, if there is no event file. The task is not approved."""
    commits = _commits(app, name)
    own = [c for c in commits if c.trailers.get("Burnish-Task") == str(_number(name))]
    own = [c for c in own if c.trailers.get("Burnish-Phase") != PHASE]
    if not own or not commits[0].parents:
        return None
    task_events = _events_from(app, name, commits[0].parents[0], own)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    events = [
        RecordedEvent(n, now, app.key, _number(name), e.run, e.cycle, e.type, e.data)
        for n, e in enumerate(task_events, 1)
    ]
    return events, FROM_COMMITS, "only its commits are left: it must be reviewed again"


def _events_from(app: App, name: str, base: str, commits: list[Commit]) -> list[Event]:
    subject = commits[0].message.partition("\n")[0]
    title = subject.removeprefix("feat: ").strip() or name
    spec, target = Spec(title), resolve_base(app.repo, None).target
    start = RunStarted(1, f"burnish/{name}", target, base, max_cycles=3, auto_review=True)
    events = [
        new_event("task.created", TaskCreated(encode(spec))),
        new_event("run.started", start, run=1, explicit=RUN_SETTINGS),
        new_event("task.status", TaskStatus(Status.BACKLOG, Status.IN_PROGRESS), run=1),
    ]
    for cycle, commit in enumerate(commits, 1):
        phase = "implement" if cycle == 1 else "improve"
        tree = plain_tree(app.repo, commit.tree)
        events += [
            new_event("phase.started", PhaseStarted(phase), run=1, cycle=cycle),
            new_event("phase.finished", work_by_hand(phase, commit.sha, tree), run=1, cycle=cycle),
        ]
        if cycle < len(commits):
            decision = DecisionMade(action="revise", by="burnish", why="restored from the commits")
            events.append(new_event("decision.made", decision, run=1, cycle=cycle, explicit=("blockers",)))
    last = TaskStatus(Status.IN_PROGRESS, Status.CODE_REVIEW)
    return [*events, new_event("task.status", last, run=1, cycle=len(commits))]


# -- event file -----------------------------------------------------------------------------------
# Reads a task's events from its file, and verifies each approval in the repository.

EVENT_KEYS = {"id": int, "ts": str, "project": str, "task": str, "run": int, "cycle": int, "type": str, "data": dict}
NOT_VERIFIED = "its approval could not be verified, so it must be reviewed again"
UNCONFIRMED = "its record was not written in this repository on this machine, so it must be reviewed again"
UNCONFIRMED_END = "its record was not written in this repository on this machine, so its approval does not count"
# what a person or a reviewer decided
_DECIDING = ("review.approved", "override.recorded", "finding.waived")


class DamagedEventFile(Exception):
    """The file is damaged or inconsistent."""


def read_event_file(data: bytes, task: int) -> list[RecordedEvent]:
    """The events of an `events.jsonl`. Raises `DamagedEventFile` with the number of the first wrong line."""
    if not data or not data.endswith(b"\n"):
        raise DamagedEventFile("it was cut off" if data else "it is empty")
    events: list[RecordedEvent] = []
    for number, line in enumerate(data[:-1].decode("utf-8", "replace").split("\n"), 1):
        event = _event(line, number, task)
        if events and event.id <= events[-1].id:
            raise DamagedEventFile(f"line {number} is out of order")
        events.append(event)
    if events[0].type != "task.created":
        raise DamagedEventFile("it does not begin with task.created")
    return events


def _event(line: str, number: int, task: int) -> RecordedEvent:
    try:
        value: Any = loads(line)
    except ValueError as error:
        raise DamagedEventFile(f"line {number} cannot be read") from error
    if not isinstance(value, dict) or set(value) != set(EVENT_KEYS):
        raise DamagedEventFile(f"line {number} is not an event")
    if any(type(value[key]) is not kind for key, kind in EVENT_KEYS.items()) or value["type"] not in TYPES:
        raise DamagedEventFile(f"line {number} has an unknown event type or a value of the wrong type")
    if value["task"] != str(task):
        raise DamagedEventFile(f"line {number} belongs to another task")
    where = (value["id"], value["ts"], value["project"], task, value["run"], value["cycle"])
    return RecordedEvent(*where, value["type"], value["data"])


def verified_events(
    events: list[RecordedEvent], is_valid: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[RecordedEvent], str | None]:
    """The events up to the first approval that cannot be verified; `is_valid` looks it up in the repository."""
    has_approval = has_override = False
    kind = _kind(events)
    for index, event in enumerate(events):
        to = read(TaskStatus, event.data).to if event.type == "task.status" else None
        is_unverified = to == Status.VERIFIED and not (has_approval or has_override)
        if event.type == "review.approved":
            has_approval = is_valid(event.data)
            is_unverified = not has_approval
        elif event.type in ("approval.voided", "run.started"):
            has_approval = has_override = False
        elif event.type == "override.recorded":
            has_override = True
        if is_unverified or (to == Status.COMPLETED and not _may_complete(event, kind)):
            return _cut(events, index), NOT_VERIFIED
    return events, None


def _end(events: list[RecordedEvent]) -> Status | None:
    changes = [read(TaskStatus, event.data).to for event in events if event.type == "task.status"]
    return Status(changes[-1]) if changes and changes[-1] in (Status.COMPLETED, Status.CANCELLED) else None


def without_approval(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """The events, and one that voids the approval: nothing can be signed or merged by it."""
    if not any(event.type == "review.approved" for event in events):
        return events
    return [*events, replace(events[-1], id=events[-1].id + 1, type="approval.voided", data={"why": UNCONFIRMED_END})]


def without_decisions(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """The events up to the first decision of a reviewer or a person, and a decision to review again."""
    return _cut(events, next((index for index, event in enumerate(events) if _decides(event)), len(events)))


def _decides(event: RecordedEvent) -> bool:
    if event.type == "task.status":
        return read(TaskStatus, event.data).to in (Status.VERIFIED, Status.WAITING_APPROVAL)
    return event.type in _DECIDING


def _kind(events: list[RecordedEvent]) -> str:
    return str(read(TaskCreated, events[0].data).spec.get("type", TaskType.IMPLEMENT))


def _may_complete(event: RecordedEvent, kind: str) -> bool:
    return read(TaskStatus, event.data).before == Status.VERIFIED or kind in (TaskType.PLAN, TaskType.REVIEW)


def _cut(events: list[RecordedEvent], index: int) -> list[RecordedEvent]:
    """The events before `index`, and a decision to review again."""
    after = events[index] if index < len(events) else replace(events[-1], id=events[-1].id + 1)
    data = {"action": "again", "by": "burnish", "why": NOT_VERIFIED, "supersede": ["check", "review"]}
    decision = replace(after, type="decision.made", data=data)
    # A removed task stays removed, even if its event file is damaged.
    removals = [event for event in events[index + 1 :] if event.type == "task.removed"]
    return [*events[:index], decision, *removals[-1:]]
