"""The command of an agent call: its environment, its sandbox, the copy of its login, what it sees of the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.agents.base import Agent, Call, SetsHomeSettings
from burnish.agents.confined_login import ConfinedLogins, linked_home
from burnish.agents.program import agent_environment, located, own_program
from burnish.agents.question import RECORDS, AgentCall
from burnish.core.agent import AgentRequest, Setback
from burnish.proc.environment import variables_for_mounts
from burnish.proc.mounts import Mount, TreeView, with_overlays
from burnish.proc.run import Command
from burnish.proc.sandbox import Sandbox

OnSetback = Callable[[Setback], None]


@dataclass(frozen=True, slots=True)
class CallCommands:
    """Prepares the commands of the agents of one project."""

    checkout: Path
    cap_bytes: int
    sandbox: Sandbox | None
    logins: ConfinedLogins | None
    # (workspace, scratch) → what an author sees beside its workspace
    author_view: Callable[[Path, Path], TreeView] | None
    # most memory of a call, with all that the program starts
    memory_bytes: int | None

    def author_view_for(self, request: AgentRequest) -> Callable[[Path, Path], TreeView] | None:
        """Authors see their workspace at the checkout's path, too. Reviewers never do: they see the checkout itself."""
        return self.author_view if self.sandbox is not None and not request.read_only else None

    @contextmanager
    def _view(self, request: AgentRequest, folder: Path) -> Iterator[TreeView]:
        author_view = self.author_view_for(request)
        if author_view is None:
            yield TreeView()
            return
        # not in the folder of the call: what the kernel keeps there is removed outside of the sandbox
        scratch = folder.with_name(f"{folder.name}-overlay")
        view = author_view(request.cwd, scratch)
        try:
            yield view
        finally:
            view.remove_scratch()
            with suppress(OSError):
                scratch.rmdir()

    @contextmanager
    def prepared(
        self, question: AgentCall, call: Call, folder: Path, lock_file: Path | None, on_setback: OnSetback
    ) -> Iterator[tuple[Command, Path | None]]:
        """What to run, and the folder of its sessions; the copy of its login lasts as long as the block."""
        request, entry = question.request, question.entry
        env = agent_environment(os.environ, request, entry, keys=question.agent.keys, checkout=self.checkout)
        env = {**env, **call.env}
        argv = (located(call.argv), *call.argv[1:])
        if call.without_lines:
            how = ("--pipe-stdin",) if call.stdin_by_pipe else ()
            argv = (*own_program("line_filter"), *how, *call.without_lines, "--", *argv)
        with ExitStack() as stack:
            if self.sandbox and self.logins:
                # a reviewer works in a read-only snapshot
                writable, readable = ((folder,), (request.cwd,)) if request.read_only else ((request.cwd, folder), ())
                visible = (*readable, *request.images, *([Path(entry.script)] if entry.script else []))
                # What it prints is what it is billed and judged by: it may not be rewritten from inside. Nor may what
                # it is asked: the shim reads that outside of the sandbox, again if bubblewrap has to be started again.
                names = ("stdin", "stdout", "stderr", *RECORDS)
                outputs = tuple(Mount(folder.resolve() / name, "read") for name in names)
                for_mounts = variables_for_mounts(env, roots=(request.cwd, self.checkout))
                login = stack.enter_context(self.logins.mounted(request, entry, for_mounts))
                view = stack.enter_context(self._view(request, folder))
                for warning in login.warnings:
                    on_setback(Setback(entry.name, warning, "may fail", warning=True))
                env |= login.env
                sessions = login.sessions
                argv = self.sandbox.around(
                    argv,
                    env=for_mounts,
                    writable=writable,
                    readable=visible,
                    mounts=(*login.mounts, *outputs),
                    trees=view.mounts,
                )
                argv = with_overlays(argv, view.overlays)
            else:
                env |= own_home(question.agent, request, folder, env)
                sessions = _own_sessions(question.agent, env)
            yield (
                Command(
                    argv=argv,
                    cwd=request.cwd,
                    env=env,
                    call_dir=folder,
                    stdin=question.stdin(call, folder),
                    timeout_seconds=request.timeout_seconds,
                    cap_bytes=self.cap_bytes,
                    lock_file=lock_file,
                    wrapped=self.sandbox is not None,
                    durable=True,
                    memory_bytes=self.memory_bytes,
                ),
                sessions,
            )


def own_home(agent: Agent, request: AgentRequest, folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """For a reviewer without a sandbox: variables that name a home with our settings, or without the user's code."""
    if not isinstance(agent, SetsHomeSettings) or not (request.read_only or request.quotes_change):
        return {}
    homes: dict[tuple[str, str], dict[str, Mapping[str, Any] | None]] = {}
    for path, values in agent.home_settings(request).items():
        variable, place = agent.login.variable_for(path, env)
        homes.setdefault((variable, place), {})[str(Path(path).relative_to(place))] = values
    user_home = Path(env.get("HOME") or Path.home())
    return {
        variable: str(linked_home(folder / variable.lower(), Path(env.get(variable) or user_home / place), below))
        for (variable, place), below in homes.items()
    }


def _own_sessions(agent: Agent, env: Mapping[str, str]) -> Path | None:
    home = Path(env.get("HOME") or Path.home())
    return next((agent.login.located(path, home, env) for path in agent.login.sessions), None)
