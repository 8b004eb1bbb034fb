"""How many approvals a change of settings or prompts costs, before it is made or when it is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.core.approval import Approval, asked_for
from burnish.core.earlier_approvals import earlier_approvals
from burnish.core.policy import Policy
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.wiring.prompt_desk import Where, kept

if TYPE_CHECKING:
    from burnish.wiring.app import App

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)
NOTICED = "The change of settings or prompts"


@dataclass(frozen=True, slots=True)
class ApprovalCost:
    # tasks whose approval is void after the change, and those whose approval counts again
    lost: tuple[int, ...] = ()
    regained: tuple[int, ...] = ()

    def words(self, change: str) -> list[str]:
        """One line for each; none where nothing changes."""
        lines = []
        if self.lost:
            lines.append(f"{change} voids {_count(self.lost)}: reviewed again before the merge, unless you undo it.")
        if self.regained:
            lines.append(f"{change} brings back {_count(self.regained)}, without a review.")
        return lines


def _count(ids: Sequence[int]) -> str:
    names = ", ".join(map(str, ids[:10])) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
    return f"{len(ids)} approval{'s' * (len(ids) != 1)} (task{'s' * (len(ids) != 1)} {names})"


def _cost(app: App, prompts: Callable[[], dict[str, str]]) -> ApprovalCost:
    """What it costs to have these texts in force instead of those that are."""
    after = copy(app)
    try:
        after.prompts = prompts()
        lost = [task.id for task, one in _held(app) if _holds(one, app.policy(task)) and not _fits(one, after, task)]
        back = [task.id for task, ones in _voided(app) if any(_returns(one, app, after, task) for one in ones)]
    except BurnishError:
        # settings that do not load, or a checkout that is not trusted: nothing is judged by them
        return ApprovalCost()
    return ApprovalCost(tuple(lost), tuple(back))


def cost_so_far(app: App) -> ApprovalCost:
    """What changes that were already made cost, and the next run will carry out."""
    try:
        lost = [task.id for task, one in _held(app) if not _fits(one, app, task)]
        back = [task.id for task, ones in _voided(app) if any(_fits(one, app, task) for one in ones)]
    except BurnishError:
        return ApprovalCost()
    return ApprovalCost(tuple(lost), tuple(back))


def cost_of_edit(app: App, name: str) -> ApprovalCost:
    """Of any other text in the place of this one."""
    return _cost(app, lambda: {**app.prompts, name: f"{app.prompts.get(name, '')}\n(changed)"})


def cost_of_switch(app: App, name: str, *, on: bool) -> ApprovalCost:
    def after() -> dict[str, str]:
        found = kept(app, name)
        text = found.everywhere.text if found.project.text is None else found.project.text
        return _with(app.prompts, name, text if on else None)

    return _cost(app, after)


def cost_of_reset(app: App, names: Iterable[str], where: Where) -> ApprovalCost:
    def after() -> dict[str, str]:
        prompts = dict(app.prompts)
        for name in names:
            found = kept(app, name)
            left = found.project.text if where.everywhere else found.everywhere.text
            prompts = _with(prompts, name, left if found.enabled else None)
        return prompts

    return _cost(app, after)


def _with(prompts: Mapping[str, str], name: str, text: str | None) -> dict[str, str]:
    rest = {known: words for known, words in prompts.items() if known != name}
    return rest if text is None else {**rest, name: text}


def _held(app: App) -> Iterator[tuple[Task, Approval]]:
    for task in app.store.tasks(app.key, statuses=APPROVED):
        approval = app.store.approval(app.key, task.id)
        if approval and approval.valid:
            yield task, approval


def _voided(app: App) -> Iterator[tuple[Task, list[Approval]]]:
    for task in app.store.tasks(app.key, statuses=(Status.CODE_REVIEW,)):
        approval = app.store.approval(app.key, task.id)
        if approval and not approval.valid:
            earlier = earlier_approvals(app.store.events(app.key, task=task.id))
            asked = asked_for(task.spec)
            yield task, [e.approval for e in earlier if e.run == task.run and e.approval.asked in ("", asked)]


def _fits(approval: Approval, app: App, task: Task) -> bool:
    return _holds(approval, app.policy(task))


def _returns(approval: Approval, app: App, after: App, task: Task) -> bool:
    return _fits(approval, after, task) and not _fits(approval, app, task)


def _holds(approval: Approval, policy: Policy) -> bool:
    return approval.judged_by(policy.judge, policy.judge_before, policy.criteria)
