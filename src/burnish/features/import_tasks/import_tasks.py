"""`burnish import`: tasks of other tools become tasks of burnish, all of them or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnish.core.finding import Finding
from burnish.core.journal import read
from burnish.core.journal_events import TaskCreated
from burnish.core.status import Status
from burnish.core.task import NewTask, Spec, Task
from burnish.errors import BadInput
from burnish.exchange.source_task import FieldNote, SourceTask, circle_of, in_order, with_known_dependencies
from burnish.features.import_tasks.sources import Folder, TaskSource, find_sources, read_source
from burnish.runtime.app import App
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.tasks import prepared_task
from burnish.sanitize import without_escapes

MAX_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """A task of the source, and its task in burnish."""

    key: str
    title: str
    # added, present (an earlier import), differs (present, and the source is another now), removed (after an earlier
    # import), finished (in the other tool) or refused
    outcome: str
    # None: finished or refused, or a dry run
    id: int | None = None
    # why it is refused or differs; of an added task: which steps its source leaves out
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ImportReport:
    format: str
    sources: tuple[str, ...]
    dry_run: bool
    tasks: tuple[ImportedTask, ...]
    # of the tasks that were added
    notes: tuple[FieldNote, ...]

    @property
    def added_count(self) -> int:
        return sum(task.outcome == "added" for task in self.tasks)

    @property
    def taken_fields(self) -> Counter[str]:
        return Counter(note.name for note in self.notes if note.is_taken)

    @property
    def left_fields(self) -> Counter[tuple[str, str]]:
        """Name and reason → how often."""
        return Counter((note.name, note.reason) for note in self.notes if not note.is_taken)

    def as_json(self) -> dict[str, Any]:
        tasks = [
            {"key": one.key, "title": one.title, "outcome": one.outcome, "reason": one.reason or None}
            | {"id": str(one.id) if one.id else None}
            for one in self.tasks
        ]
        left_rows = [{"name": name, "reason": why, "count": count} for (name, why), count in self.left_fields.items()]
        fields = {"found": len(self.notes), "taken": dict(self.taken_fields), "left": left_rows}
        facts = {"format": self.format, "sources": list(self.sources), "dry_run": self.dry_run}
        return {**facts, "added": self.added_count, "tasks": tasks, "fields": fields}


def import_tasks(
    app: App, place: str, start: Path, *, format: str | None, dry_run: bool, again: bool = False
) -> ImportReport:
    """Read the tasks at a path or of `gh:owner/repo`, and add those that were not imported before.

    `again`: also those that were removed since.
    """
    refuse_inside_phase()
    folder = Folder(app.trust.found.root, app.trust.found.common_dir)
    sources = find_sources(place, start, folder, format)
    tasks = _all_tasks(sources, folder)
    names = {task.key: f"{source.format}:{source.name}#{task.key}" for source, task in tasks}
    order = {key: number for number, key in enumerate(names)}
    removed_ids = {} if again else _removed_tasks(app)
    outcomes: list[ImportedTask] = []
    notes: list[FieldNote] = []

    def build(first_id: int, existing: list[Task]) -> list[NewTask]:
        ids = {task.spec.source: task.id for task in existing if task.spec.source}
        specs = {task.id: task.spec for task in existing}
        closed_ids = {task.id for task in existing if task.status in (Status.COMPLETED, Status.CANCELLED)}
        new_tasks: list[NewTask] = []
        for _, task in tasks:
            name = names[task.key]
            outcome = _outcome(task, ids.get(name), removed_ids.get(name))
            if outcome.outcome == "present" and outcome.id in specs:
                fields = _changed_fields(specs[outcome.id], prepared_task(app, _spec(task, name, ())).spec)
                if task.is_finished and outcome.id not in closed_ids:
                    fields.append("finished there")
                outcome = replace(outcome, outcome="differs", reason=", ".join(fields)) if fields else outcome
            if outcome.outcome == "added":
                keys = [names[key] for key in sorted(task.depends_on, key=order.__getitem__)]
                # a task that was removed is not waited for
                needs = tuple(ids[one] for one in keys if one in ids)
                new_tasks.append(replace(prepared_task(app, _spec(task, name, needs)), findings=_findings(app, task)))
                ids[name] = first_id + len(new_tasks) - 1
                outcome = replace(outcome, id=None if dry_run else ids[name])
                notes.extend(task.notes)
            outcomes.append(outcome)
        return [] if dry_run else new_tasks

    if dry_run:
        build(0, app.store.tasks(app.key))
    else:
        for task in app.store.add_tasks(app.key, build):
            app.event_log.write_event_file(task.id)
    return ImportReport(sources[0].format, tuple(one.name for one in sources), dry_run, tuple(outcomes), tuple(notes))


def _all_tasks(sources: Sequence[TaskSource], folder: Folder) -> list[tuple[TaskSource, SourceTask]]:
    """The tasks of all sources, each behind those that it depends on."""
    origin: dict[str, TaskSource] = {}
    found: list[SourceTask] = []
    for source in sources:
        for task in read_source(source, folder):
            # features and work packages depend on each other across files; a section of a file only on its file
            shares_keys = source.format in ("automaker", "spec-kitty", "github")
            prefix = "" if shares_keys or len(sources) == 1 else f"{source.name}#"
            unique = replace(task, key=prefix + task.key, depends_on=tuple(prefix + key for key in task.depends_on))
            if unique.key in origin:
                hint = "Give each task a name of its own, then import again."
                raise BadInput(
                    f"Two tasks are called {unique.key}: in {origin[unique.key].name} and {source.name}.", hint=hint
                )
            origin[unique.key] = source
            found.append(unique)
            if len(found) > MAX_TASKS:
                raise BadInput(f"The source has more than {MAX_TASKS:,} tasks.", hint="Import a part of it.")
    if not found:
        raise BadInput(f"{sources[0].name} holds no tasks.", hint="Name another file, or the format with --format.")
    tasks = with_known_dependencies(found)
    if ring := circle_of(tasks):
        what = f"These tasks wait for each other: {' → '.join(ring)}."
        raise BadInput(what, hint="Remove one of these dependencies in the source, then import again.")
    return [(origin[task.key], task) for task in in_order(tasks)]


_COMPARED = ("title", "description", "type", "scope", "criteria", "plan", "priority", "tags")


def _changed_fields(ours: Spec, theirs: Spec) -> list[str]:
    """The fields in which a task differs from its source: it was edited here or there. Ticks are not compared."""
    names = [name for name in _COMPARED if getattr(ours, name) != getattr(theirs, name)]
    items = [tuple(item.text for item in spec.checklist) for spec in (ours, theirs)]
    return [*names, "checklist"] if items[0] != items[1] else names


def _removed_tasks(app: App) -> dict[str, int]:
    """The sources of tasks that a person removed, with their numbers."""
    removed_tasks = {event.task for event in app.store.events(app.key, types=["task.removed"])}
    creation_events = app.store.events(app.key, types=["task.created"]) if removed_tasks else []
    specs = {event.task: read(TaskCreated, event.data).spec for event in creation_events if event.task in removed_tasks}
    return {str(spec["source"]): int(task) for task, spec in specs.items() if task and spec.get("source")}


def _outcome(task: SourceTask, id: int | None, removed_id: int | None) -> ImportedTask:
    if id is not None:
        return ImportedTask(task.key, task.title, "present", id)
    if task.is_finished:
        return ImportedTask(task.key, task.title, "finished")
    if removed_id is not None:
        return ImportedTask(task.key, task.title, "removed", removed_id)
    problem = task.problem or ("" if task.title.strip() else "it has no title")
    return ImportedTask(task.key, task.title, "refused" if problem else "added", reason=problem or _skipped(task))


def _skipped(task: SourceTask) -> str:
    """What the source switches off for its task: a person must see that, since a stranger may have written the file."""
    parts = ["its tests are not run"] if task.skip_tests else []
    return ", ".join([*parts, "it is not reviewed"] if task.auto_review is False else parts)


def _findings(app: App, task: SourceTask) -> tuple[Finding, ...]:
    """The findings without secrets and control characters, like every other text of people."""

    def clean(text: str) -> str:
        return app.event_log.secrets.redact(without_escapes(text))

    texts = [
        (one, replace(one.remark, title=clean(one.remark.title), description=clean(one.remark.description)))
        for one in task.findings
    ]
    return tuple(replace(one, remark=remark) for one, remark in texts)


def _spec(task: SourceTask, source: str, depends_on: tuple[int, ...]) -> Spec:
    return Spec(
        title=task.title,
        description=task.description,
        type=task.type,
        scope=task.scope,
        criteria=task.criteria,
        checklist=task.checklist,
        plan=task.plan,
        depends_on=depends_on,
        priority=task.priority,
        agent=task.agent,
        model=task.model,
        base_ref=task.base_ref,
        skip_tests=task.skip_tests,
        auto_review=task.auto_review,
        max_cycles=task.max_cycles,
        tags=task.tags,
        source=source,
    )
