"""Task functions for several features: add a task, and expire waivers."""

from __future__ import annotations

from datetime import date

from burnish.adapters.redaction import clean_spec
from burnish.config.policy import policy_for
from burnish.core.finding import Severity
from burnish.core.task import Spec, Task
from burnish.engine.commands import waive
from burnish.git.base import resolve_base
from burnish.runtime.app import App
from burnish.runtime.task_validation import validated_spec


def add_task(app: App, spec: Spec) -> Task:
    spec = clean_spec(app.event_log.secrets, validated_spec(spec, base=app.config.workspace.base))
    if spec.base_ref:
        resolve_base(app.repo, spec.base_ref)  # a typo fails here, before a run
    if spec.of is not None:
        app.store.task(app.key, spec.of)
    defaults = policy_for(app.config, spec, installed=lambda name: True, detected=())
    task = app.store.add_task(app.key, spec, max_cycles=defaults.max_cycles, auto_review=defaults.auto_review)
    app.event_log.write_event_file(task.id)
    return task


def expire_waivers(app: App) -> list[str]:
    """Reopen findings whose waiver has expired; returns one line per task."""
    today, level, notes = date.today().isoformat(), Severity(app.config.review.block_on), []
    for number in app.store.waived_until(app.key):
        ids = waive.expire(app.event_log, number, today, block_on=level)
        if ids:
            notes.append(f"Task {number}: the waiver of {', '.join(ids)} has expired, it is open again.")
    return notes
