"""Money and tokens: how much is left."""

from __future__ import annotations

from burnish.core.policy import Policy
from burnish.core.task import Task


def overspent(task: Task, policy: Policy) -> str | None:
    """Why no further phase of this task may be paid for, or None."""
    if policy.task_usd is not None and (task.cost_usd or 0.0) >= policy.task_usd:
        return f"the task has cost ${task.cost_usd or 0.0:.2f} of ${policy.task_usd:.2f} (budget.task_usd)"
    if policy.task_tokens is not None and task.tokens >= policy.task_tokens:
        return f"the task has used {task.tokens} of {policy.task_tokens} tokens (budget.task_tokens)"
    return None
