"""Task functions for several features: validate and add a task, expire waivers, find what limit a task waits for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from burnish.adapters.redaction import clean_spec
from burnish.agents.limit_wait import login_of
from burnish.config.policy import author_of, policy_for
from burnish.core.agent import UsageLimit
from burnish.core.finding import Severity
from burnish.core.status import Status
from burnish.core.task import Item, NewTask, Spec, Task, TaskType
from burnish.engine.commands import waive
from burnish.errors import BadInput, BurnishError, Untrusted
from burnish.git.base import resolve_base
from burnish.runtime.app import App
from burnish.runtime.trust import check_settings
from burnish.store import Store
from burnish.views.status import Alive, is_running
from burnish.views.status_excerpt import reported_limit


def add_task(app: App, spec: Spec) -> Task:
    new = prepared_task(app, spec)
    # first: a worker may take the task at once
    app.send_images(new.spec.description)
    task = app.store.add_task(app.key, new.spec, max_cycles=new.max_cycles, auto_review=new.auto_review)
    app.event_log.write_event_file(task.id)
    return task


def prepared_task(app: App, spec: Spec) -> NewTask:
    """The task as it will be stored: validated, redacted, with what the settings give it."""
    spec = clean_spec(app.event_log.secrets, validated_spec(spec, base=app.config.workspace.base))
    if spec.base_ref:
        resolve_base(app.repo, spec.base_ref)  # a typo fails here, before a run
    if spec.of is not None:
        app.store.task(app.key, spec.of)
    try:
        defaults = policy_for(app.config, spec, installed=lambda name: True, detected=())
    except BadInput:
        _refuse_for_settings(app, spec)
        raise
    return NewTask(spec, defaults.max_cycles, defaults.auto_review)


def _refuse_for_settings(app: App, spec: Spec) -> None:
    """The agent may be described in settings that are invalid, or that do not count yet: report that instead."""
    if app.trust.is_trusted:
        return
    check_settings(app.trust)
    if spec.agent in (app.trust.content.settings.get("agents") or {}):
        what = f"The agent {spec.agent} is described in settings that are not trusted."
        raise Untrusted(what, hint=app.trust.remedy, root=str(app.trust.found.root))


def expire_waivers(app: App) -> list[str]:
    """Reopen findings whose waiver has expired; returns one line per task."""
    today, level, notes = date.today().isoformat(), Severity(app.config.review.block_on), []
    for number in app.store.waived_until(app.key):
        ids = waive.expire(app.event_log, number, today, block_on=level)
        if ids:
            notes.append(f"Task {number}: the waiver of {', '.join(ids)} has expired, it is open again.")
    return notes


# -- task validation ------------------------------------------------------------------------------
# Validates tasks from all sources: command line, web, API.

MAX_PRIORITY = 1_000_000
MAX_CYCLES = 1000
MAX_TAGS = 20
TAG = re.compile(r"\w[\w./+-]{0,39}")


def validated_spec(spec: Spec, *, base: str | None = None) -> Spec:
    """The spec with its title on one line; raises if it is empty or contradictory."""
    others, tags = tuple(dict.fromkeys(spec.depends_on)), clean_tags(spec.tags)
    spec = replace(spec, title=one_title(spec.title), depends_on=others, tags=tags, needs=clean_tags(spec.needs))
    values = {"criteria": spec.criteria, "checklist": spec.checklist, "priority": spec.priority}
    check_values({**values, "max_cycles": spec.max_cycles})
    if spec.type is TaskType.IMPROVE and spec.of is None:
        raise BadInput("An improve task needs to know what it improves.", hint="Add --of ID, e.g. --of 29.")
    if spec.of is not None and spec.type not in (TaskType.IMPROVE, TaskType.REVIEW):
        raise BadInput("--of belongs to an improve or review task.", hint="Add -t improve, or leave --of out.")
    if spec.type is TaskType.REVIEW and spec.of is None and not (spec.base_ref or base):
        raise BadInput(
            "A review task needs to know what it reviews.",
            hint="Add --of ID for a task's branch, or --base REF for what your branch is compared with.",
        )
    return spec


def validated_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Validates a change of some fields."""
    check_values(changes)
    valid = dict(changes)
    if "title" in changes:
        valid["title"] = one_title(changes["title"])
    if "tags" in changes:
        valid["tags"] = clean_tags(changes["tags"])
    if "needs" in changes:
        valid["needs"] = clean_tags(changes["needs"])
    return valid


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags in small letters, each once, without a leading `#`."""
    found = tuple(dict.fromkeys(tag.strip().removeprefix("#").casefold() for tag in tags))
    for tag in found:
        if not TAG.fullmatch(tag):
            raise BadInput(
                f"{tag!r} cannot be a tag.", hint="Use up to 40 letters, digits and . _ / + -, without spaces."
            )
    if len(found) > MAX_TAGS:
        raise BadInput(f"A task cannot have {len(found)} tags.", hint=f"Use at most {MAX_TAGS}.")
    return found


def one_title(text: str) -> str:
    title = " ".join(text.split())
    if not title:
        raise BadInput("The title is empty.", hint='Give a title: burnish add "Refuse empty passwords"')
    return title


def check_values(changes: Mapping[str, Any]) -> None:
    """Checks single values of a new task or of a change."""
    items = [item.text for item in changes.get("checklist", ())]
    if not all(text.strip() for text in (*changes.get("criteria", ()), *items)):
        raise BadInput("A criterion or checklist item is empty.", hint="Say what must hold, or leave the option out.")
    priority = changes.get("priority", 0)
    if abs(priority) > MAX_PRIORITY:
        raise BadInput(f"{str(priority)[:20]} is not a valid priority.", hint=f"Use -{MAX_PRIORITY} to {MAX_PRIORITY}.")
    cycles = changes.get("max_cycles")
    if cycles is not None and not 1 <= cycles <= MAX_CYCLES:
        raise BadInput(f"A task cannot have {str(cycles)[:20]} cycles.", hint=f"Use 1 to {MAX_CYCLES}.")


def refuse_past(day: date) -> None:
    """Raise if the end of a waiver is in the past."""
    if day < date.today():
        raise BadInput(f"{day} is in the past.", hint="A waiver ends on a day to come, or has no end.")


def ticked(checklist: tuple[Item, ...], tick: Sequence[int], untick: Sequence[int]) -> tuple[Item, ...]:
    """The list with items ticked and unticked; they count from 1."""
    many = len(checklist)
    for number in (*tick, *untick):
        if not 1 <= number <= many:
            raise BadInput(
                f"There is no checklist item {number}.", hint=f"It has {many} item{'' if many == 1 else 's'}."
            )
    return tuple(
        Item(item.text, done=(item.done or number in tick) and number not in untick)
        for number, item in enumerate(checklist, 1)
    )


# -- usage limits ---------------------------------------------------------------------------------


def author_login(app: App, task: Task) -> str:
    """The login of the agent that implements a task; "" if that has a fallback, which takes over at a usage limit."""
    entry = app.agent_settings().get(author_of(app.config, task.spec, app.installed))
    return login_of(entry) if entry and not entry.fallback else ""


@dataclass(frozen=True, slots=True)
class LimitFinder:
    """Finds the usage limit that a task waits for, among those that have not ended."""

    store: Store
    limits: Sequence[UsageLimit]
    open_app: Callable[[str], App]
    alive: Alive = None
    # project → what was opened for it; None if its settings cannot be read
    _apps: dict[str, App | None] = field(default_factory=dict)

    def limit_of(self, task: Task) -> UsageLimit | None:
        """The one that its running phase has reported; in the backlog, the one of its author."""
        if not self.limits:
            return None
        if task.status is Status.BACKLOG:
            login = self._login(task)
            return next((limit for limit in self.limits if limit.login == login), None)
        return reported_limit(self.store, task, self.limits) if is_running(task, self.alive) else None

    def _login(self, task: Task) -> str:
        try:
            if task.project not in self._apps:
                self._apps[task.project] = None
                self._apps[task.project] = self.open_app(task.project)
            app = self._apps[task.project]
            return author_login(app, task) if app else ""
        except BurnishError:
            return ""
