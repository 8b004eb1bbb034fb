"""What an approval left open, as tasks of its own (`review.followups`)."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.core.finding import Finding, worst_first
from burnish.core.history import History
from burnish.core.override import Grounds
from burnish.core.task import Spec, Task
from burnish.engine.ports import Deps


def make_followups(deps: Deps, history: History) -> None:
    """One task for each open finding, once; made before the approval is written down, and found again after a crash."""
    task = history.task
    if task.spec.follows:
        # else a reviewer that always has one more wish would keep us busy for ever
        return
    made = {other.spec.follows for other in deps.book.tasks()}
    for spec in followups(task, history.findings):
        if spec.follows not in made:
            new = deps.add(spec)
            deps.progress.note(f"Task {task.id}: {spec.follows.rpartition(' ')[2]} became task {new.id}")


def followups(task: Task, findings: Sequence[Finding]) -> list[Spec]:
    """They start from the branch of the task, where the code in question is."""
    alive = worst_first(tuple(f for f in findings if f.alive))
    return [_spec(task, finding) for finding in alive]


def _spec(task: Task, finding: Finding) -> Spec:
    remark = finding.remark
    line = f":{remark.line}" if remark.line else ""
    parts = [
        remark.description,
        f"Suggestion: {remark.suggestion}" if remark.suggestion else "",
        f"Place: {remark.file}{line}" if remark.file else "",
        f"{finding.id} of task {task.id} ({task.spec.title}): {remark.severity}, {remark.category}."
        " It did not stand in the way of approval.",
    ]
    return Spec(
        title=" ".join(remark.title.split())[:200] or f"Follow up {finding.id} of task {task.id}",
        description="\n\n".join(part for part in parts if part.strip()),
        depends_on=(task.id,),
        priority=task.spec.priority,
        follows=f"{task.id}.{task.run} {finding.id}",
    )


def after_override(history: History, grounds: Grounds) -> Spec:
    """What an override leaves open, as one task."""
    task = history.task
    alive = worst_first(tuple(f for f in history.findings if f.alive))
    lines = [f"- {f.id} {f.remark.title}: {f.remark.description}" for f in alive]
    said = f"Task {task.id} ({task.spec.title}) was accepted against its review. {grounds.explanation}".strip()
    return Spec(
        title=f"Follow up task {task.id}: {' '.join(task.spec.title.split())}"[:200],
        description="\n".join([said, "", "Left open:", *lines] if lines else [said]),
        depends_on=(task.id,),
        priority=task.spec.priority,
        follows=f"{task.id}.{task.run} override",
    )
