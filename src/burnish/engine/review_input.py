"""What is under review in one cycle, gathered once for all reviewers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.commit import Commit
from burnish.core.finding import Finding
from burnish.core.history import History, review_phase
from burnish.core.policy import Policy, ReviewerSpec
from burnish.core.task import Spec, Task, TaskType
from burnish.core.text_encoding import read_text
from burnish.engine.checking import delta_since, remembered
from burnish.engine.failure_text import error_text
from burnish.engine.ports import Deps
from burnish.engine.target_merge import resolved_conflicts
from burnish.engine.task_setup import TaskSetup
from burnish.review.context import ReviewContext
from burnish.review.lock_digest import with_lock_digests
from burnish.review.packing import only
from burnish.review.target_text import TargetChanges


@dataclass(frozen=True, slots=True)
class ReviewInput:
    spec: Spec
    cycle: int
    max_cycles: int
    commit: Commit
    change: Change
    delta: Change | None
    findings: tuple[Finding, ...]
    comparisons: tuple[Comparison, ...]
    project_context: tuple[tuple[str, str], ...]
    plan: str
    previous_error: str
    session_log: str
    # a file of the reviewed tree, None where there is none
    read: Callable[[str], bytes | None]
    auto_fixed: int | None = None
    target_changes: TargetChanges | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)

    def context(self, policy: Policy, reviewer: ReviewerSpec, number: str) -> ReviewContext:
        return ReviewContext(
            task=self.spec,
            number=number,
            change=self.change,
            cycle=self.cycle,
            max_cycles=self.max_cycles,
            delta=self.delta,
            findings=self.findings,
            checks=self.comparisons,
            plan=self.plan,
            project_context=self.project_context,
            previous_error=self.previous_error,
            session_log=self.session_log,
            auto_fixed=self.auto_fixed,
            target_changes=self.target_changes,
            limits=policy.limits,
            switches=policy.context,
            system=self.prompts.get("review.system"),
            template=self.prompts.get("review.template"),
            reviewer_prompt=self.prompts.get(f"reviewer:{reviewer.prompt}") if reviewer.prompt else None,
            command=self.prompts.get("command:review"),
            categories=reviewer.categories,
            reads_files=reviewer.reads_files,
        )

    @property
    def judged(self) -> tuple[str, ...]:
        """Criteria and checklist items, in one list."""
        return (*self.spec.criteria, *(item.text for item in self.spec.checklist))

    def only(self, paths: tuple[str, ...]) -> ReviewInput:
        """The part of the change in these paths."""
        return replace(self, change=only(self.change, paths))

    def text_of(self, path: str) -> str | None:
        """A file of the reviewed tree, for finding the place that a quote means."""
        if path not in self._texts:
            data = self.read(path)
            self._texts[path] = None if data is None else _as_text(data)
        return self._texts[path]


def _as_text(data: bytes) -> str:
    reading = read_text(data)
    return reading.text if reading else data.decode(errors="replace")


def review_input(deps: Deps, setup: TaskSetup, history: History, cycle: int, step: str = "") -> ReviewInput:
    """What the review of a cycle looks at, or a step of the pipeline after it."""
    task = history.task
    head = setup.head()
    context = (
        deps.repository.context_files(setup.workspace, setup.base) if "project_context" in setup.policy.context else ()
    )
    # what stopped a review is not an error of the work, and must not change a prompt that was already answered
    failures = [p.result for p in history.failures() if not p.result.keeps_answers]
    return ReviewInput(
        spec=_beside_criteria(task.spec) if step else task.spec,
        cycle=cycle,
        max_cycles=task.max_cycles,
        commit=head,
        change=with_lock_digests(setup.workspace.changes(setup.base.tree, head.tree), setup.workspace.read_blobs),
        delta=delta_since(setup, history, cycle, review_phase(step)),
        # findings of the review in the same cycle are not earlier findings for a step
        findings=tuple(f for f in history.findings if not step or f.first_cycle < cycle),
        comparisons=remembered(deps, task, cycle),
        project_context=context,
        plan=plans_of(deps, task),
        previous_error=error_text(failures[-1], setup.policy.limits.error_kb) if failures else "",
        session_log=_session_log(deps, setup, task, cycle),
        auto_fixed=_auto_fixed(deps, task, cycle),
        target_changes=resolved_conflicts(deps, setup, history, cycle),
        read=lambda path: setup.workspace.read(head.sha, [path]).get(path),
        prompts=dict(deps.prompts),
    )


def _beside_criteria(spec: Spec) -> Spec:
    """The spec for a pipeline step: the first review has judged the criteria, so they are only listed."""
    items = (*spec.criteria, *(item.text for item in spec.checklist))
    if not items:
        return spec
    note = "\n".join(["Judged by the review before this one:", *(f"- {item}" for item in items)])
    return replace(spec, criteria=(), checklist=(), description=f"{spec.description}\n\n{note}".strip())


def plans_of(deps: Deps, task: Task) -> str:
    """The text of the plans this task builds on."""
    texts = []
    for number in task.spec.depends_on:
        other = deps.event_log.task(number)
        if other.spec.type == "plan":
            plan = deps.task_files.read(other, "plan.md")
            texts.append(f"# {other.spec.title}\n\n{plan.decode(errors='replace')}" if plan else "")
    return "\n\n".join(t for t in (*texts, review_of(deps, task)) if t)


def review_of(deps: Deps, task: Task) -> str:
    """What an `improve` task is about: the last review of the task that it continues."""
    if task.spec.type is not TaskType.IMPROVE or task.spec.of is None:
        return ""
    other = deps.event_log.task(task.spec.of)
    texts = (deps.task_files.read(other, f"review-cycle-{n}.md") for n in range(other.cycle, 0, -1))
    review = next((text for text in texts if text), None)
    head = f"# The last review of task {other.id}, {other.spec.title}"
    return f"{head}\n\n{review.decode(errors='replace')}" if review else ""


def _auto_fixed(deps: Deps, task: Task, cycle: int) -> int | None:
    count = deps.task_files.stamp(task, f"lint-fix-{task.run}-{cycle}")
    return int(count) if count and count.isdecimal() else None


def _session_log(deps: Deps, setup: TaskSetup, task: Task, cycle: int) -> str:
    if "session_log" not in setup.policy.context:
        return ""
    output = deps.task_files.read(task, f"agent-output-{cycle}.md")
    return output.decode(errors="replace") if output else ""
