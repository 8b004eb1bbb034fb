"""Budgets that cannot be counted: announced before a run begins, or refused (`budget.uncounted`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from burnish.agents.base import AgentSettings
from burnish.agents.countable import uncounted_tokens, uncounted_usd
from burnish.config.sections import BudgetSection
from burnish.core.policy import Policy
from burnish.errors import Refused


def uncounted_budgets(
    budget: BudgetSection, run_usd: float | None, agents: Mapping[str, AgentSettings], policies: Iterable[Policy]
) -> list[str]:
    """One line for each agent and kind of budget that cannot be kept. `run_usd`: what `--budget` says."""
    most_usd = run_usd if run_usd is not None else budget.session_usd
    session = "--budget" if run_usd is not None else "budget.session_usd"
    usd = [name for name, most in (("budget.task_usd", budget.task_usd), (session, most_usd)) if most is not None]
    counts = (("budget.task_tokens", budget.task_tokens), ("budget.session_tokens", budget.session_tokens))
    tokens = [name for name, most in counts if most is not None]
    found: dict[str, None] = {}
    for name, model, is_author in dict.fromkeys(agent for policy in policies for agent in _agents_of(policy, agents)):
        entry = agents[name]
        own = [f"agents.{name}.budget_usd"] if entry.budget_usd is not None else []
        if (own or usd) and (why := uncounted_usd(entry, model, os.environ, is_author=is_author)):
            found[_line([*usd, *own], name, why)] = None
        if tokens and (why := uncounted_tokens(entry)):
            found[_line(tokens, name, why)] = None
    return list(found)


def refuse_uncounted(budget: BudgetSection, lines: list[str]) -> None:
    if lines and budget.uncounted == "refuse":
        raise Refused(lines[0], hint="Set a model with a known price, or `budget: {uncounted: warn}`.")


def _line(budgets: list[str], agent: str, why: str) -> str:
    return f"{', '.join(budgets)} cannot be counted for {agent}: {why}."


def _agents_of(policy: Policy, agents: Mapping[str, AgentSettings]) -> Iterator[tuple[str, str | None, bool]]:
    """Everyone who may be called for a task, with which model, and as an author; fallbacks with their own model."""
    authors = [
        (policy.agent, policy.model),
        (policy.improve_agent or policy.agent, policy.improve_model or policy.model),
    ]
    reviewers = [(one.agent, one.model) for one in policy.reviewers]
    reviewers += [(one.agent, one.model) for step in policy.pipeline for one in step.reviewers]
    calls = [(*one, True) for one in authors] + [(*one, False) for one in reviewers]
    for name, model, is_author in calls:
        visited_names: list[str] = []
        following: str | None = name
        while following and following in agents and following not in visited_names:
            visited_names.append(following)
            yield following, model if following == name else None, is_author
            following = agents[following].fallback
