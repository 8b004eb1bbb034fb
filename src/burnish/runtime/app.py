"""The application: the data that all features share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from burnish import config as settings
from burnish.adapters.checkout_files import FOUND_CHECKS, detection_context, find_checks_at
from burnish.adapters.checks.environments import Command
from burnish.adapters.checks.tree_checks import found_commands, tests_are_automatic
from burnish.adapters.configured_agents import agent_settings, can_start
from burnish.adapters.event_log import StoreEventLog
from burnish.adapters.repository import GitRepository
from burnish.adapters.task_files import IMAGES
from burnish.adapters.task_locks import is_runner_dead
from burnish.adapters.telemetry import observers
from burnish.agents.base import AgentSettings
from burnish.checks.tools import BUILD, SETUP, FoundChecks
from burnish.checks.unrun_tests import files_of, partly_unrun_files
from burnish.cluster.shared_refs import SharedRefs, has_remote
from burnish.cluster.task_share import drop_copies, refresh, send_images
from burnish.config.policy import policy_for
from burnish.config.settings import Config
from burnish.core.images import image_names
from burnish.core.policy import Policy
from burnish.core.task import Task
from burnish.engine.lost_branch import OPEN
from burnish.errors import BurnishError
from burnish.git.discovery import discover
from burnish.git.project import Project, open_project
from burnish.git.refs import KnownRefs
from burnish.git.staging import MEGABYTE
from burnish.proc.identity import login_name
from burnish.review.templates import check_commit_message
from burnish.runtime.project_identity import ensure_id, locate, publish_project
from burnish.runtime.prompts import own_prompts
from burnish.runtime.reader import home_of, no_tasks, open_home, open_home_to_write
from burnish.runtime.trust import CheckoutTrust, examine, load_settings
from burnish.store import Store
from burnish.store.rows import ProjectRow

# Who sent the request that is being handled; "": the login of this process acts. A thread of a run has no request.
ACTING: ContextVar[str] = ContextVar("ACTING", default="")


def current_person() -> str:
    return ACTING.get() or f"user:{login_name()}"


@dataclass
class App:
    home: Path
    store: Store
    project: ProjectRow
    repo: Project
    config: Config
    trust: CheckoutTrust
    flags: Mapping[str, Any] = field(default_factory=dict)
    # A note for the user that the repository was moved.
    note: str = ""
    # set by a server, which starts many runs
    known_refs: KnownRefs | None = None
    # commits of tasks are on another machine, and the remote could not be reached
    is_behind: bool = False
    # commit → the checks that `auto` stands for there
    _automatic: dict[str, FoundChecks] = field(default_factory=dict)
    # commit → the commands that `init` would write for it, by setting
    _commands: dict[str, dict[tuple[str, ...], Command]] = field(default_factory=dict)

    @classmethod
    def open(cls, start: Path, *, flags: Mapping[str, Any], store: Store | None = None, reading: bool = False) -> App:
        """Open the app, with the caller's `store` if given. `reading`: works without write access."""
        found = discover(start)
        home = home_of()
        trust = examine(found, home)
        if trust.problem:
            raise trust.problem
        config = load_settings(trust, flags)
        store = store or (open_home(home, reading=True) if reading else open_home_to_write(home))
        can_write = store.obstacle is None
        location = locate(store, found, home, create=can_write, is_trusted=trust.is_trusted)
        project = location.project
        if project is None:
            raise no_tasks(found.root)
        repo = open_project(found, home=home, key=project.key, exclude=config.workspace.copies, reading=reading)
        project = ensure_id(store, project, repo) if can_write else project
        app = cls(home, store, project, repo, config, trust, flags, location.note)
        if store.is_shared:
            app.note = " ".join(filter(None, [app.note, _meet(app)]))
        return app

    @property
    def key(self) -> str:
        return self.project.key

    @cached_property
    def shared_refs(self) -> SharedRefs | None:
        """The refs on the remote that machines share; None if this one works alone, or may not ask the remote."""
        # `.git` names the remote, and programs that reach it
        return SharedRefs(self.repo, self.shared_remote) if self.shared_remote and self.trust.is_trusted else None

    @cached_property
    def shared_remote(self) -> str:
        """The remote that has what other machines did; "" if this one works alone."""
        remote = self.config.machine.remote
        return remote if self.store.is_shared and has_remote(self.repo.root, remote) else ""

    def drop_copies(self, numbers: Collection[int]) -> str:
        """Remove what the remote has of tasks that are over; returns why it could not be done."""
        return drop_copies(self.shared_refs, numbers) if self.shared_refs and numbers else ""

    def send_images(self, description: str) -> None:
        """Give other machines the images of a description."""
        if image_names(description) and self.shared_refs:
            send_images(self.shared_refs, self.home / IMAGES, description)

    @property
    def locks(self) -> Path:
        return self.home / "locks"

    @cached_property
    def repository(self) -> GitRepository:
        workspace = self.config.workspace
        most = int(self.config.commit.max_file_mb * MEGABYTE)
        return GitRepository(
            self.repo,
            self.home,
            self.key,
            workspace.artifacts,
            tuple(workspace.copies),
            max_file_bytes=most,
            remote=self.shared_remote,
            release_over_files=int(self.config.clean.release_over_files),
        )

    @cached_property
    def event_log(self) -> StoreEventLog:
        folder = self.home / "projects" / self.key / "tasks"
        is_dead = partial(is_runner_dead, self.store, self.locks)
        return StoreEventLog(self.store, self.key, is_dead=is_dead, tasks_folder=folder, observers=observers())

    @cached_property
    def prompts(self) -> dict[str, str]:
        return own_prompts(
            self.config,
            self.repo.root,
            settings.user_folder(),
            trusted=self.trust.is_trusted,
            accepted_files=self.trust.accepted_files,
        )

    @property
    def person(self) -> str:
        return current_person()

    def task_folder(self, task: Task) -> Path:
        return self.home / "projects" / self.key / "tasks" / task.name

    # how a task is to be run

    def agent_settings(self) -> dict[str, AgentSettings]:
        return agent_settings(self.config)

    def installed(self, agent: str) -> bool:
        return can_start(self.config, agent)

    def policy(self, task: Task) -> Policy:
        """The policy for the task, from the settings of a trusted checkout; raises for an untrusted one."""
        self.trust.require()
        if self.config.commit.message:
            check_commit_message(self.config.commit.message)
        base_commit = cache(partial(self._base_commit, task))
        found, is_automatic = self._detected(base_commit)
        policy = policy_for(
            self.config,
            task.spec,
            installed=self.installed,
            detected=found.specs if is_automatic else (),
            prompts=self.prompts,
        )
        # The values at the start of the run count, unless a person edited the task since.
        unrun = found.unrun_by(policy.checks)
        notes = (*policy.notes, *(found.notes if is_automatic else ()), *(one.note(folder) for folder, one in unrun))
        setup = self.setup_at(base_commit()) if policy.checks else policy.setup
        max_cycles = task.spec.max_cycles or policy.max_cycles
        return replace(
            policy,
            max_cycles=max_cycles,
            notes=notes,
            setup=setup,
            unrun_files=files_of(unrun),
            partly_unrun_files=partly_unrun_files(unrun),
        )

    def _detected(self, base_commit: Callable[[], str]) -> tuple[FoundChecks, bool]:
        """What `auto` stands for, and whether a setting is `auto`; else it only tells which tests no check runs."""
        entries = (self.config.checks.test, self.config.checks.lint)
        is_automatic = any(entry is not None and entry.command == "auto" for entry in entries)
        if self.config.checks.test is None and not is_automatic:
            return FoundChecks(), False
        return self.detected_at(base_commit()), is_automatic

    def _base_commit(self, task: Task) -> str:
        if task.base:
            return task.base
        base = self.repository.base(task.spec.base_ref or self.config.workspace.base, ())
        assert base, "only several branches can conflict"
        return base.commit

    def setup_at(self, commit: str) -> Command | None:
        """`workspace.setup`; without it, and with automatic tests, the command that `init` would write."""
        if self.config.workspace.setup or not tests_are_automatic(self.config):
            return self.config.workspace.setup
        return self.found_setup(commit)

    def found_setup(self, commit: str) -> Command | None:
        return self._found_commands(commit).get(SETUP)

    def found_build(self, commit: str) -> Command | None:
        return self._found_commands(commit).get(BUILD)

    def _found_commands(self, commit: str) -> dict[tuple[str, ...], Command]:
        if commit not in self._commands:
            self._commands[commit] = found_commands(self.repo, commit)
        return self._commands[commit]

    def detected_at(self, commit: str) -> FoundChecks:
        """The checks that `auto` stands for in that commit."""
        if commit not in self._automatic:
            self._automatic[commit] = find_checks_at(
                commit,
                self.repository.files,
                lambda path: self.repository.text(commit, path),
                detection_context(self.repo.root),
                self.home / "projects" / self.key / FOUND_CHECKS,
            )
        return self._automatic[commit]


def _meet(app: App) -> str:
    """Let other machines find this repository, and get what they did. Returns what could not be done."""
    refs = app.shared_refs
    if refs is None:
        app.is_behind = bool(app.shared_remote)
        return "The git remote is not asked before the checkout is trusted." if app.is_behind else ""
    try:
        if problem := publish_project(app.store, app.project, refs.remote):
            return problem
    except BurnishError as error:
        return error.what
    branches = [(row.branch, row.commit) for row in app.store.task_branches(app.key, OPEN)]
    app.is_behind = not refresh(refs, branches)
    return "Commits of tasks are on another machine, and the remote cannot be reached." if app.is_behind else ""
