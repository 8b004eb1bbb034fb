"""While an agent works: what it has used, and whether it may go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from burnish.core.agent import AgentReply, AgentRequest, Setback, Use
from burnish.core.budget import Limit, overspent, task_limits
from burnish.core.codec import encode
from burnish.core.cost import CostSource
from burnish.core.journal import read
from burnish.core.journal_events import BudgetNotice, PhaseProgress, ReviewProgress, new_event
from burnish.core.policy import Policy
from burnish.core.status import ErrorCode
from burnish.core.task import Task
from burnish.engine.ports import Deps
from burnish.errors import OverBudget, PhaseFailed
from burnish.review.quoting import one_line

Ask = Callable[[AgentRequest], AgentReply]


def metered_call(deps: Deps, policy: Policy, task: Task) -> Ask:
    """The way to the task's agents; one that goes past a budget while it works is ended (`OverBudget`)."""

    def ask(request: AgentRequest) -> AgentReply:
        def beyond(agent: str, use: Use) -> str | None:
            running = deps.budget_tracker.using(task.id, str(request.call_dir), agent, use)
            deps.progress.spent(task.id, running)
            fresh = deps.event_log.task(task.id)
            limits = (
                *(limit.more(running) for limit in task_limits(fresh, policy)),
                *deps.budget_tracker.limits([agent]),
            )
            why = overspent(limits) or (uncountable(limits, agent, use) if policy.uncounted == "refuse" else None)
            if not why:
                warn(deps, fresh, request.cycle, limits)
            return why

        stream = ReviewStream(deps, task, request)

        def on_line(line: str) -> None:
            deps.progress.output(task.id, line)
            stream.line(line)

        try:
            reply = deps.agents(task.id).call(
                request,
                on_output=on_line,
                beyond=beyond,
                on_setback=lambda setback: _record_setback(deps, task, request, setback),
            )
        except PhaseFailed as failure:
            _check_failure(deps, policy, task, request, failure)
            raise
        use = Use(reply.cost_usd, reply.tokens, reply.cost_source)
        agent = reply.agent or request.agent
        _check_counted(deps, policy, task, request, agent, use, has_all_tokens=reply.has_all_tokens)
        return reply

    return ask


def uncountable(limits: Iterable[Limit], agent: str, use: Use) -> str | None:
    """Why USD budgets cannot be counted after a call with this cost."""
    names = ", ".join(limit.name for limit in limits if not limit.tokens)
    if not names or use.source not in (CostSource.UNKNOWN, CostSource.PARTIAL):
        return None
    if use.usd is None:
        return f"{names} cannot be counted: {agent} reported no cost, and none follows from its tokens and model"
    return f"{names} cannot be counted: a part of what {agent} used has no known cost"


def _check_failure(deps: Deps, policy: Policy, task: Task, request: AgentRequest, failure: PhaseFailed) -> None:
    """A failed call has a cost too. A person who stopped it knows of that, and a budget that is reached is reported."""
    if isinstance(failure, OverBudget) or failure.code == ErrorCode.INTERRUPTED or not failure.cost_source:
        return
    use = Use(failure.cost_usd, failure.tokens, CostSource(failure.cost_source))
    try:
        agent = failure.agent or request.agent
        # What a failed call used is a lower bound: only a cost that is unknown is announced.
        _check_counted(deps, policy, task, request, agent, use, has_all_tokens=True)
    except OverBudget as refused:
        refused.what = f"{refused.what}. Its call failed: {failure.what}"
        refused.agent, refused.cost_usd = failure.agent, failure.cost_usd
        refused.cost_source, refused.tokens = failure.cost_source, failure.tokens
        raise refused from failure


def uncountable_tokens(limits: Iterable[Limit], agent: str, *, has_all_tokens: bool) -> str | None:
    """Why token budgets cannot be counted after a call."""
    names = ", ".join(limit.name for limit in limits if limit.tokens)
    if not names or has_all_tokens:
        return None
    return f"{names} cannot be counted: {agent} reported no token counts, or some that are not whole numbers"


def _check_counted(
    deps: Deps, policy: Policy, task: Task, request: AgentRequest, agent: str, use: Use, *, has_all_tokens: bool
) -> None:
    """A budget that a call has made uncountable: announced once, or the end of the task."""
    limits = (*task_limits(deps.event_log.task(task.id), policy), *deps.budget_tracker.limits([agent]))
    for why, limit in (
        (uncountable(limits, agent, use), next((one for one in limits if not one.tokens), None)),
        (
            uncountable_tokens(limits, agent, has_all_tokens=has_all_tokens),
            next((one for one in limits if one.tokens), None),
        ),
    ):
        if why and limit:
            _announce_uncounted(deps, policy, task, request, limit, why)


def _announce_uncounted(deps: Deps, policy: Policy, task: Task, request: AgentRequest, limit: Limit, why: str) -> None:
    if policy.uncounted == "refuse":
        unit = "Choose a program that reports its tokens" if limit.tokens else "Set a model with a known price"
        raise OverBudget(why, hint=f"{unit}, or `budget: {{uncounted: warn}}`.")
    events = [event for event in deps.event_log.events(task.id) if event.type == "budget.warned"]
    notices = [read(BudgetNotice, event.data) for event in events]
    # once for a budget, also if a second agent cannot be counted
    if not any(notice.uncounted and notice.budget == limit.name for notice in notices):
        notice = BudgetNotice(why, limit.name, uncounted=True)
        deps.record(task, new_event("budget.warned", notice, run=task.run, cycle=request.cycle))


def _record_setback(deps: Deps, task: Task, request: AgentRequest, setback: Setback) -> None:
    """Record a retry of the agent, so that a long wait is explained. At most one event for each try."""
    data = PhaseProgress(request.phase, setback.words, **encode(setback))
    deps.record(task, new_event("phase.progress", data, run=task.run, cycle=request.cycle))


def warn(deps: Deps, task: Task, cycle: int, limits: Iterable[Limit]) -> None:
    """Warn before a budget is used up."""
    for limit in limits:
        if limit.near and not _is_warned(deps, task, limit):
            notice = BudgetNotice(limit.words, limit.name)
            deps.record(task, new_event("budget.warned", notice, run=task.run, cycle=cycle))


def _is_warned(deps: Deps, task: Task, limit: Limit) -> bool:
    """Whether the warning was given: once for each task's own budget, and once in a run for a shared one."""
    if not limit.name.startswith("budget.task_"):
        # one call that no other thread can come between
        return deps.warned.setdefault(limit.name, task.id) != task.id or _on_record(deps, task, limit)
    return _on_record(deps, task, limit)


def _on_record(deps: Deps, task: Task, limit: Limit) -> bool:
    events = (e for e in deps.event_log.events(task.id) if e.type == "budget.warned" and e.run == task.run)
    notices = (read(BudgetNotice, event.data) for event in events)
    return any(notice.budget == limit.name and not notice.uncounted for notice in notices)


# -- review stream --------------------------------------------------------------------------------
# What a reviewer prints while it works, as `review.progress` events: few, short, and none of a quick review.

# seconds between two events, and at most so many of one call: the log has every line
PACE = 2.0
MAX_SENT = 100
MAX_LINE_LENGTH = 300


@dataclass(slots=True)
class ReviewStream:
    deps: Deps
    task: Task
    request: AgentRequest
    sent: int = 0
    last: float = field(default_factory=time.monotonic)

    def line(self, text: str) -> None:
        """Called with each line of output; the newest one stands for those before it."""
        now, words = time.monotonic(), one_line(text, longest=MAX_LINE_LENGTH)
        # the verdict is reported as a whole, when the review is complete
        is_verdict = "burnish-verdict" in words or words.startswith(("{", "```"))
        if self.request.role != "review" or not words or is_verdict or self.sent >= MAX_SENT or now - self.last < PACE:
            return
        self.sent, self.last = self.sent + 1, now
        data = ReviewProgress(self.request.agent, words)
        self.deps.record(self.task, new_event("review.progress", data, run=self.task.run, cycle=self.request.cycle))
