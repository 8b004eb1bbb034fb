"""How many approvals a change of settings or prompts costs, before it is made or when it is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from burnish.core.approval import Approval, asked_for, earlier_approvals
from burnish.core.policy import Policy
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.features.prompts.edit import PromptScope, SavedPrompt, kept
from burnish.user_settings import user_folder

if TYPE_CHECKING:
    from burnish.runtime.app import App

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)
# with approvals that can be lost or can come back
TOUCHED = (*APPROVED, Status.CODE_REVIEW)
NOTICED = "The change of settings or prompts"


@dataclass(frozen=True, slots=True)
class ApprovalCost:
    # tasks whose approval is void after the change, and those whose approval counts again
    lost: tuple[int, ...] = ()
    regained: tuple[int, ...] = ()
    # the same for the user's other projects, by their path, where a change touches them; and those not examined
    elsewhere: tuple[tuple[str, ApprovalCost], ...] = ()
    not_counted: tuple[str, ...] = ()

    def words(self, change: str) -> list[str]:
        """One line for each; none where nothing changes."""
        lines = self._own_words(change)
        for path, cost in self.elsewhere:
            lines += cost._own_words(f"In {path}: {change[0].lower()}{change[1:]}")
        if self.not_counted:
            lines.append(f"Not counted, because they could not be opened: {', '.join(self.not_counted[:10])}.")
        return lines

    def _own_words(self, change: str) -> list[str]:
        lines = []
        if self.lost:
            lines.append(f"{change} voids {_count(self.lost)}: reviewed again before the merge, unless you undo it.")
        if self.regained:
            lines.append(f"{change} brings back {_count(self.regained)}, without a review.")
        return lines

    def as_json(self) -> dict[str, Any]:
        own = {"voids": [str(one) for one in self.lost], "restores": [str(one) for one in self.regained]}
        others = [
            {"project": path, "voids": list(map(str, cost.lost)), "restores": list(map(str, cost.regained))}
            for path, cost in self.elsewhere
        ]
        return {**own, "elsewhere": others, "not_counted": list(self.not_counted)}


def with_other_projects(app: App, cost_in: Callable[[App], ApprovalCost], where: PromptScope) -> ApprovalCost:
    """What a change costs here and, if it is made for all projects, in each of the user's other projects."""
    own = cost_in(app)
    if not where.everywhere:
        return own
    elsewhere: list[tuple[str, ApprovalCost]] = []
    not_counted: list[str] = []
    for row in app.store.projects():
        if row.key == app.key or not any(True for _ in app.store.tasks(row.key, statuses=TOUCHED)):
            continue
        try:
            cost = cost_in(type(app).open(row.root, flags={}, store=app.store))
        except (BurnishError, OSError):
            not_counted.append(str(row.root))
            continue
        if cost.lost or cost.regained:
            elsewhere.append((str(row.root), cost))
    return replace(own, elsewhere=tuple(elsewhere), not_counted=tuple(not_counted))


def _count(ids: Sequence[int]) -> str:
    names = ", ".join(map(str, ids[:10])) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
    return f"{len(ids)} approval{'s' * (len(ids) != 1)} (task{'s' * (len(ids) != 1)} {names})"


def _cost(app: App, prompts: Callable[[], dict[str, str]]) -> ApprovalCost:
    """What it costs to have these texts in force instead of those that are."""
    after = copy(app)
    try:
        after.prompts = prompts()
        lost_ids = [
            task.id for task, one in _held(app) if _holds(one, app.policy(task)) and not _fits(one, after, task)
        ]
        restored_ids = [task.id for task, ones in _voided(app) if any(_returns(one, app, after, task) for one in ones)]
    except BurnishError:
        # settings that do not load, or a checkout that is not trusted: nothing is judged by them
        return ApprovalCost()
    return ApprovalCost(tuple(lost_ids), tuple(restored_ids))


def cost_so_far(app: App) -> ApprovalCost:
    """What changes that were already made cost, and the next run will carry out."""
    try:
        lost_ids = [task.id for task, one in _held(app) if not _fits(one, app, task)]
        restored_ids = [task.id for task, ones in _voided(app) if any(_fits(one, app, task) for one in ones)]
    except BurnishError:
        return ApprovalCost()
    return ApprovalCost(tuple(lost_ids), tuple(restored_ids))


def cost_of_edit(app: App, name: str, where: PromptScope = PromptScope.PROJECT) -> ApprovalCost:
    """Of any other text in the place of this one."""

    def cost_in(one: App) -> ApprovalCost:
        if where.everywhere and kept(one, name).project.text is not None:
            # the project's own text stays in force
            return ApprovalCost()
        return _cost(one, lambda: {**one.prompts, name: f"{one.prompts.get(name, '')}\n(changed)"})

    return with_other_projects(app, cost_in, where)


def cost_of_change(
    app: App, name: str, where: PromptScope, *, text: str | None = None, on: bool | None = None
) -> ApprovalCost:
    """Of this text, of switching it on or off, or of both at once; None: it stays."""

    def cost_in(one: App) -> ApprovalCost:
        found = kept(one, name)
        own, everywhere = found.project.text, found.everywhere.text
        if text is not None and where.everywhere:
            everywhere = text
        elif text is not None:
            own = text
        # the switch of the project wins over the one for all projects
        stays = on is None or (where.everywhere and _is_switched_in_project(found))
        is_enabled = found.enabled if stays else bool(on)
        return _cost(
            one, lambda: _with(one.prompts, name, (everywhere if own is None else own) if is_enabled else None)
        )

    return with_other_projects(app, cost_in, where)


def _is_switched_in_project(prompt: SavedPrompt) -> bool:
    return bool(prompt.switched_at) and not prompt.switched_at.startswith(str(user_folder()))


def cost_of_switch(app: App, name: str, *, on: bool, where: PromptScope = PromptScope.PROJECT) -> ApprovalCost:
    return cost_of_change(app, name, where, on=on)


def cost_of_reset(app: App, names: Iterable[str], where: PromptScope) -> ApprovalCost:
    names = tuple(names)

    def after(one: App) -> dict[str, str]:
        prompts = dict(one.prompts)
        for name in names:
            found = kept(one, name)
            remaining_text = found.project.text if where.everywhere else found.everywhere.text
            prompts = _with(prompts, name, remaining_text if found.enabled else None)
        return prompts

    return with_other_projects(app, lambda one: _cost(one, lambda: after(one)), where)


def _with(prompts: Mapping[str, str], name: str, text: str | None) -> dict[str, str]:
    rest = {other: words for other, words in prompts.items() if other != name}
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
            request_hash = asked_for(task.spec)
            yield task, [e.approval for e in earlier if e.run == task.run and e.approval.asked in ("", request_hash)]


def _fits(approval: Approval, app: App, task: Task) -> bool:
    return _holds(approval, app.policy(task))


def _returns(approval: Approval, app: App, after: App, task: Task) -> bool:
    return _fits(approval, after, task) and not _fits(approval, app, task)


def _holds(approval: Approval, policy: Policy) -> bool:
    return approval.judged_by(policy.judge, policy.judge_before, policy.criteria)
