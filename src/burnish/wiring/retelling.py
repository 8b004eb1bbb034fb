"""A task's story, read back from its file: believed line by line, and never further than it can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from burnish.core.event import TYPES, Recorded
from burnish.core.history import History
from burnish.core.status import Status
from burnish.core.task import TaskType
from burnish.review.strictjson import loads
from burnish.wiring.book import StoreBook, write_story

if TYPE_CHECKING:
    from burnish.wiring.app import App

KEYS = {"id": int, "ts": str, "project": str, "task": str, "run": int, "cycle": int, "type": str, "data": dict}
CANNOT_BE_SHOWN = "its approval could not be shown, so it is to be judged again"


class Damaged(Exception):
    """The file does not tell a story that can be believed."""


def read_story(data: bytes, task: int) -> list[Recorded]:
    """Every line of an `events.jsonl`, or `Damaged` with the line that is not right."""
    if not data or not data.endswith(b"\n"):
        raise Damaged("it was cut off" if data else "it is empty")
    events: list[Recorded] = []
    for number, line in enumerate(data[:-1].decode("utf-8", "replace").split("\n"), 1):
        event = _event(line, number, task)
        if events and event.id <= events[-1].id:
            raise Damaged(f"line {number} is out of order")
        events.append(event)
    if events[0].type != "task.created":
        raise Damaged("it does not begin with the task")
    return events


def _event(line: str, number: int, task: int) -> Recorded:
    try:
        value: Any = loads(line)
    except ValueError as error:
        raise Damaged(f"line {number} cannot be read") from error
    if not isinstance(value, dict) or set(value) != set(KEYS):
        raise Damaged(f"line {number} is not an event")
    if any(type(value[key]) is not kind for key, kind in KEYS.items()) or value["type"] not in TYPES:
        raise Damaged(f"line {number} is not an event that burnish knows")
    if value["task"] != str(task):
        raise Damaged(f"line {number} is of another task")
    where = (value["id"], value["ts"], value["project"], task, value["run"], value["cycle"])
    return Recorded(*where, value["type"], value["data"])


def as_far_as_shown(
    events: list[Recorded], holds: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[Recorded], str | None]:
    """The story up to the first approval that nothing shows; `holds` looks an approval up in the repository."""
    approved = person = False
    kind = str(events[0].data.get("spec", {}).get("type", TaskType.IMPLEMENT))
    for place, event in enumerate(events):
        to = event.data.get("to") if event.type == "task.status" else None
        unshown = to == Status.VERIFIED and not (approved or person)
        if event.type == "review.approved":
            approved = holds(event.data)
            unshown = not approved
        elif event.type in ("approval.voided", "run.started"):
            approved = person = False
        elif event.type == "override.recorded":
            person = True
        if unshown or (to == Status.COMPLETED and not _may_complete(event, kind)):
            return _cut(events, place), CANNOT_BE_SHOWN
    return events, None


def _may_complete(event: Recorded, kind: str) -> bool:
    return event.data.get("from") == Status.VERIFIED or kind in (TaskType.PLAN, TaskType.REVIEW)


def _cut(events: list[Recorded], place: int) -> list[Recorded]:
    """Without what cannot be shown, and with the word that it is to be judged again."""
    lost = events[place]
    again = {"action": "again", "by": "burnish", "why": CANNOT_BE_SHOWN, "supersede": ["check", "review"]}
    word = Recorded(lost.id, lost.ts, lost.project, lost.task, lost.run, lost.cycle, "decision.made", again)
    # what a person took away does not come back because its story has a flaw
    removed = [event for event in events[place + 1 :] if event.type == "task.removed"]
    return [*events[:place], word, *removed[-1:]]


@dataclass(frozen=True, slots=True)
class _Remembering(StoreBook):
    """The book, with the history of a task that is in no list any more."""

    told: History = field(kw_only=True)

    def history(self, task_id: int) -> History:
        return self.told


def keep_removal(app: App, told: History) -> None:
    """The trail of a removed task, once more: else a rebuilt database would bring it back."""
    from burnish.engine.archive import archive
    from burnish.wiring.helpers import Stops
    from burnish.wiring.rendering import Nobody
    from burnish.wiring.requests import RunRequest
    from burnish.wiring.running import deps_for

    task = told.task
    if not task.branch:
        write_story(app.task_folder(task), app.store.events(app.key, task=task.id))
    else:
        deps = deps_for(app, RunRequest(), Nobody(), Stops(), "")
        book = _Remembering(app.store, app.key, told=told)
        archive(replace(deps, book=book), app.code.workspace(task), task, task.cycle)
