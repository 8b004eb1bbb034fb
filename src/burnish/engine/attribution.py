"""Who works on a phase, and who did it in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from burnish.core.agent import AgentReply
from burnish.core.event import Event
from burnish.core.flow import WorkStep
from burnish.core.history import History, with_result
from burnish.core.journal import WorkResult
from burnish.core.journal_events import RunStarted, new_event
from burnish.core.task import Task
from burnish.engine.task_setup import TaskSetup


def author_of(setup: TaskSetup, step: WorkStep) -> tuple[str, str | None]:
    """Agent and model of this phase."""
    if step.phase == "improve" and setup.policy.improve_agent:
        return setup.policy.improve_agent, setup.policy.improve_model
    return setup.policy.agent, setup.policy.model


@dataclass(frozen=True, slots=True)
class AuthorSession:
    """A session of an agent on this task, and the tokens that its program had counted in it so far."""

    id: str
    usage: Mapping[str, int] | None


def session_of(setup: TaskSetup, history: History, step: WorkStep) -> AuthorSession | None:
    """The one in which the same agent worked on this task last; whether it goes on there is the agent's setting."""
    agent = author_of(setup, step)[0]
    results = [p.result for p in with_result(history.phases, WorkResult) if p.phase in ("implement", "improve")]
    own = [(work.session, work.session_usage) for work in results if work.session and work.agent == agent]
    if not own or step.phase != "improve":
        return None
    session, usage = own[-1]
    return AuthorSession(session, usage if isinstance(usage, dict) else None)


def who_did(setup: TaskSetup, step: WorkStep, reply: AgentReply) -> tuple[str, str | None]:
    """Agent and model that did it: the fallback where the agent that was asked could not."""
    agent, model = author_of(setup, step)
    same = reply.agent in ("", agent)
    return reply.agent or agent, reply.model or (model if same else None)


def taken_over(setup: TaskSetup, task: Task, step: WorkStep, reply: AgentReply) -> list[Event]:
    """Where a fallback did the work, the task is the fallback's, until the one that was meant does some again."""
    fell_back = reply.agent not in ("", author_of(setup, step)[0])
    agent, model = (reply.agent, reply.model) if fell_back else (setup.policy.agent, setup.policy.model)
    if task.agent in (None, agent):
        return []
    data = RunStarted(task.run, agent=agent, model=model)
    return [new_event("run.started", data, run=task.run, cycle=step.cycle, explicit=("agent", "model"))]
