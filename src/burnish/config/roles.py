"""Who does what, and with which model."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.config.kinds import CLI_KINDS, READ_NO_FILES, READY_KINDS
from burnish.core.policy import ReviewerSpec
from burnish.core.task import Spec
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.config.sections import TaskKind
    from burnish.config.settings import Config
    from burnish.config.values import ReviewerEntry, RoleEntry

AUTO = "auto"


@dataclass(frozen=True)
class RoleResolver:
    """The parts of one task, given out by the settings and the task."""

    config: Config
    spec: Spec
    installed: Callable[[str], bool]

    def worker(self, role: str) -> tuple[str, str | None]:
        """Agent and model that implement or improve; the agent is "" where none is installed."""
        part = self._role(role)
        name = self.spec.agent or (part.agent if part else None) or self.config.agent
        agent = self._first_installed() if name == AUTO else self._known(name)
        if self.spec.model:
            return agent, self.spec.model
        of_role = part.model if part and not self.spec.agent else None
        return agent, of_role or self._kind.model or self._own_model(agent)

    def panel(self, entries: Iterable[ReviewerEntry]) -> tuple[ReviewerSpec, ...]:
        return tuple(self._reviewer(entry) for entry in entries)

    def _reviewer(self, entry: ReviewerEntry) -> ReviewerSpec:
        agent = self._reviewing() if entry.agent == AUTO else self._known(entry.agent)
        minutes = entry.timeout_minutes or self._kind.review_timeout_minutes
        return ReviewerSpec(
            agent=agent,
            model=None if self.kind_of(agent) == "static" else entry.model or self._review_model(agent),
            prompt=entry.prompt,
            categories=entry.categories,
            timeout_seconds=minutes * 60,
            reads_files=self._reads_files(agent),
            program=self._program(agent),
        )

    def _program(self, agent: str) -> tuple[str, ...]:
        entry = self.config.agents.get(agent)
        if entry is None or (entry.kind == agent and not entry.argv):
            return ()
        return (entry.kind, *(entry.argv or ()))

    def _reviewing(self) -> str:
        """`auto`: who plays the role, else the agent CLI that does the work, else the first installed."""
        role = self._role("review")
        if role and role.agent:
            return self._known(role.agent)
        worker, _ = self.worker("implement")
        # Any other command does one job; nothing says that it knows how to review.
        if self.kind_of(worker) in CLI_KINDS and self.installed(worker):
            return worker
        return self._first_installed() or "static"

    def _review_model(self, agent: str) -> str | None:
        worker, model = self.worker("implement")
        role = self._role("review")
        return (
            self.config.review.model
            or self._kind.review_model
            or (role.model if role and role.agent in (None, agent) else None)
            or (model if worker == agent else None)
            or self._own_model(agent)
        )

    def kind_of(self, agent: str) -> str:
        entry = self.config.agents.get(agent)
        return entry.kind if entry else agent

    def _reads_files(self, agent: str) -> bool:
        entry = self.config.agents.get(agent)
        if entry and entry.reads_files is not None:
            return entry.reads_files
        return self.kind_of(agent) not in READ_NO_FILES

    def _own_model(self, agent: str) -> str | None:
        entry = self.config.agents.get(agent)
        return entry.model if entry else None

    @property
    def _kind(self) -> TaskKind:
        kind: TaskKind = getattr(self.config.task_types, self.spec.type.value)
        return kind

    def _role(self, role: str) -> RoleEntry | None:
        return next((entry for name, entry in self.config.roles.items() if name == role), None)

    def _first_installed(self) -> str:
        return next((name for name in CLI_KINDS if self.installed(name)), "")

    def _known(self, name: str) -> str:
        if name in self.config.agents or name in READY_KINDS:
            return name
        close = difflib.get_close_matches(name, [*self.config.agents, *READY_KINDS], n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Describe it in burnish.yaml under agents: {name}."
        raise BadInput(f"There is no agent called {name}.", hint=hint)
