"""The application: what the command line and the board can ask for."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from burnish import config as settings
from burnish.agents.base import AgentSettings
from burnish.checks.detect import FoundChecks, find_checks
from burnish.config.policy import policy_for
from burnish.config.settings import Config
from burnish.core.approval import asked_for
from burnish.core.finding import Finding, Severity, Waiver
from burnish.core.policy import Policy
from burnish.core.status import Status, check_move
from burnish.core.task import Spec, Task
from burnish.engine import actions, ruling
from burnish.engine.continuing import refuse_if_branch_held, refuse_if_branch_stuck
from burnish.engine.ports import Gate, Progress
from burnish.engine.restore_approval import restore_approval
from burnish.errors import BadInput, BurnishError, NotFound
from burnish.git.artifacts import read_artifact
from burnish.git.base import resolve_base, start_problems
from burnish.git.large import MEGABYTE
from burnish.git.project import Project, discover, open_project
from burnish.git.written import read_written
from burnish.regular_files import read_below
from burnish.review.commit_message import check_commit_message
from burnish.store import Store
from burnish.store.rows import ProjectRow
from burnish.wiring.book import StoreBook
from burnish.wiring.check_environments import Command
from burnish.wiring.code import GitCode
from burnish.wiring.discretion import clean_changes, clean_spec
from burnish.wiring.holding import is_runner_dead
from burnish.wiring.moved_repository import ensure_id, locate
from burnish.wiring.prompts import own_prompts
from burnish.wiring.reader import home_of, no_tasks, open_home, open_home_to_write, refuse_inside_phase
from burnish.wiring.requests import LogFile, RunReport, RunRequest
from burnish.wiring.roster import agent_settings, can_start
from burnish.wiring.specs import sound, sound_changes
from burnish.wiring.surroundings import surroundings_of
from burnish.wiring.tree_checks import found_setup, tests_are_automatic
from burnish.wiring.trust import CheckoutTrust, examine, load_settings


@dataclass
class App:
    home: Path
    store: Store
    project: ProjectRow
    repo: Project
    config: Config
    trust: CheckoutTrust
    flags: Mapping[str, Any] = field(default_factory=dict)
    # a line for the person: the repository was moved
    note: str = ""
    # commit → the checks that `auto` stands for there
    _automatic: dict[str, FoundChecks] = field(default_factory=dict)
    # commit → the set-up that `init` would write for it
    _setups: dict[str, Command | None] = field(default_factory=dict)

    @classmethod
    def open(cls, start: Path, *, flags: Mapping[str, Any], store: Store | None = None, reading: bool = False) -> App:
        """With the caller's `store`, where there is one already. `reading`: also where nothing can be written."""
        found = discover(start)
        home = home_of()
        trust = examine(found, home)
        if trust.problem:
            raise trust.problem
        config = load_settings(trust, flags)
        store = store or (open_home(home, reading=True) if reading else open_home_to_write(home))
        can_write = store.obstacle is None
        located = locate(store, found, home, create=can_write)
        project = located.project
        if project is None:
            raise no_tasks(found.root)
        repo = open_project(found, home=home, key=project.key, exclude=config.workspace.copies, reading=reading)
        project = ensure_id(store, project, repo) if can_write else project
        return cls(home, store, project, repo, config, trust, flags, located.note)

    @property
    def key(self) -> str:
        return self.project.key

    @property
    def locks(self) -> Path:
        return self.home / "locks"

    @cached_property
    def code(self) -> GitCode:
        workspace = self.config.workspace
        most = int(self.config.commit.max_file_mb * MEGABYTE)
        return GitCode(
            self.repo, self.home, self.key, workspace.artifacts, tuple(workspace.copies), max_file_bytes=most
        )

    @cached_property
    def book(self) -> StoreBook:
        folder = self.home / "projects" / self.key / "tasks"
        is_dead = partial(is_runner_dead, self.store, self.locks)
        return StoreBook(self.store, self.key, is_dead=is_dead, tasks_folder=folder)

    @cached_property
    def prompts(self) -> dict[str, str]:
        found = own_prompts(
            self.config,
            self.repo.root,
            settings.user_folder(),
            trusted=self.trust.is_trusted,
            outside=self.trust.outside,
        )
        if self.trust.is_trusted:
            # read later than it was examined: it may have changed
            examine(self.trust.found, self.home).require()
        return found

    @property
    def person(self) -> str:
        return f"user:{getpass.getuser()}"

    def task_folder(self, task: Task) -> Path:
        return self.home / "projects" / self.key / "tasks" / task.name

    # how a task is to be run

    def agent_settings(self) -> dict[str, AgentSettings]:
        return agent_settings(self.config)

    def installed(self, agent: str) -> bool:
        return can_start(self.config, agent)

    def policy(self, task: Task) -> Policy:
        """How the task is to be worked on and judged: by the settings of a trusted checkout, or not at all."""
        self.trust.require()
        if self.config.commit.message:
            check_commit_message(self.config.commit.message)
        found = self._detected(task)
        policy = policy_for(
            self.config,
            task.spec,
            installed=self.installed,
            detected=found.specs,
            prompts=self.prompts,
        )
        # what the run was begun with counts, unless a person has edited the task since
        notes = (*policy.notes, *found.notes)
        setup = self.setup_at(self._base_commit(task)) if policy.checks else policy.setup
        return replace(policy, max_cycles=task.spec.max_cycles or policy.max_cycles, notes=notes, setup=setup)

    def _detected(self, task: Task) -> FoundChecks:
        wanted = (self.config.checks.test, self.config.checks.lint)
        if not any(entry is not None and entry.command == "auto" for entry in wanted):
            return FoundChecks()
        return self.detected_at(self._base_commit(task))

    def _base_commit(self, task: Task) -> str:
        return task.base or resolve_base(self.repo, task.spec.base_ref or self.config.workspace.base).commit

    def setup_at(self, commit: str) -> Command | None:
        """`workspace.setup`; without it, and with automatic tests, what `init` would write for that commit."""
        if self.config.workspace.setup or not tests_are_automatic(self.config):
            return self.config.workspace.setup
        return self.found_setup(commit)

    def found_setup(self, commit: str) -> Command | None:
        if commit not in self._setups:
            self._setups[commit] = found_setup(self.repo, commit)
        return self._setups[commit]

    def detected_at(self, commit: str) -> FoundChecks:
        """The checks that `auto` stands for in that commit."""
        if commit not in self._automatic:
            around = surroundings_of(self.repo.root)
            found = find_checks(self.code.files(commit), lambda path: self.code.text(commit, path), around)
            self._automatic[commit] = found
        return self._automatic[commit]

    # what a person does to tasks

    def add(self, spec: Spec) -> Task:
        spec = clean_spec(self.book.secrets, sound(spec, base=self.config.workspace.base))
        if spec.base_ref:
            resolve_base(self.repo, spec.base_ref)  # a typing error costs nothing here, and a run later
        if spec.of is not None:
            self.store.task(self.key, spec.of)
        plain = policy_for(self.config, spec, installed=lambda name: True, detected=())
        task = self.store.add_task(self.key, spec, max_cycles=plain.max_cycles, auto_review=plain.auto_review)
        self.book.keep_story(task.id)
        return task

    def start_problems(self) -> list[BurnishError]:
        """Why no task could be run now."""
        return start_problems(self.repo)

    def edit(self, task_id: int, changes: Mapping[str, Any], *, status: str | None) -> Task:
        refuse_inside_phase()
        changes = sound_changes(changes)
        task = self.store.task(self.key, task_id)
        if status not in (None, Status.BACKLOG):
            raise BadInput(
                f"A task's status cannot be set to {status!r} by hand.", hint="Only `--status backlog` puts it back."
            )
        if status:
            check_move(str(task_id), task.status, Status.BACKLOG)
        if changes:
            self._change(task, clean_changes(self.book.secrets, changes))
        if status:
            actions.put_back(self.book, task_id)
        return self.store.task(self.key, task_id)

    def _change(self, task: Task, changes: Mapping[str, Any]) -> None:
        """Other words are another task: not under the hands of who works on it, and not on the old approval."""
        reworded = asked_for(replace(task.spec, **changes)) != asked_for(task.spec)
        if reworded:
            self.book.refuse_if_held(task.id)
        edited = self.store.edit_task(self.key, task.id, changes)
        self.book.keep_story(task.id)
        if reworded and task.status in ruling.APPROVED:
            actions.void_stale(self.book, self.code, edited, self.policy(edited))
        elif reworded and task.status is Status.CODE_REVIEW and self.trust.is_trusted:
            restore_approval(self.book, self.code, edited, self.policy(edited))

    def remove(self, task_id: int) -> Task:
        from burnish.wiring.retelling import keep_removal

        refuse_inside_phase()
        told = self.store.history(self.key, task_id)
        task = actions.remove(self.book, self.code, task_id)
        keep_removal(self, told)
        return task

    def cancel(self, task_id: int) -> Task:
        refuse_inside_phase()
        return actions.cancel(self.book, self.code, task_id)

    def retry(self, task_id: int, *, restart: bool) -> Task:
        refuse_inside_phase()
        task = self.store.task(self.key, task_id)
        refuse_if_branch_stuck(self.book, self.code, task)
        if restart:
            refuse_if_branch_held(self.book, task)
            return actions.restart(self.book, self.code, task_id)
        return actions.retry(self.book, self.code, task_id, by=self.person)

    def review_again(self, task_id: int) -> Task:
        refuse_inside_phase()
        self.trust.require()
        return actions.review_again(self.book, task_id, by=self.person)

    # what a person rules on findings

    def waive(self, task_id: int, finding: str, *, reason: str, until: date | None = None) -> Finding:
        refuse_inside_phase()
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        waiver = Waiver(self.person, reason.strip(), at, until.isoformat() if until else None)
        return ruling.waive(self.book, task_id, finding, waiver, block_on=Severity(self.config.review.block_on))

    def reopen(self, task_id: int, finding: str, *, reason: str = "") -> Finding:
        refuse_inside_phase()
        level = Severity(self.config.review.block_on)
        return ruling.reopen(self.book, task_id, finding, by=self.person, reason=reason, block_on=level)

    def expire_waivers(self) -> list[str]:
        """Reopen what was waived until a day that has passed; a line for each task."""
        today, level, told = date.today().isoformat(), Severity(self.config.review.block_on), []
        for number in self.store.waived_until(self.key):
            ids = ruling.expire(self.book, number, today, block_on=level)
            if ids:
                told.append(f"Task {number}: the waiver of {', '.join(ids)} has run out, it is open again.")
        return told

    # looking

    def path(self, task_id: int) -> Path:
        task = self.store.task(self.key, task_id)
        place = self.code.path(task)
        if not task.branch or not place.is_dir():
            raise BadInput(f"Task {task_id} has no workspace yet.", hint=f"`burnish run {task_id}` makes one.")
        return place

    def diff(self, task_id: int, *, since_review: bool) -> bytes:
        from burnish.wiring.changes import change_of

        return change_of(self, task_id, since_review=since_review).text().encode("utf-8", "surrogateescape")

    def artifact(self, task_id: int, name: str) -> bytes:
        task = self.store.task(self.key, task_id)
        kept = self.task_folder(task) / "artifacts" / Path(name).name
        if kept.is_file():
            return kept.read_bytes()
        found = read_artifact(self.repo, f"refs/burnish/artifacts/{task.name}", f"{task.name}/{Path(name).name}")
        if found is None and task.branch:
            path = f".burnish/tasks/{task.name}/{Path(name).name}"
            found = read_written(self.repo, f"refs/heads/{task.branch}", path)
        if found is None:
            raise NotFound(f"Task {task_id} has no artifact {name!r}.", hint=f"`burnish show {task_id}` lists them.")
        return found

    def spec_kitty_feedback(self, place: str) -> bytes:
        """What `feedback://feature/WP01/file.md` points at: spec-kitty keeps these files in the git folder."""
        file = self.repo.common_dir / "spec-kitty" / "feedback" / place
        text = read_below(self.repo.common_dir, file.relative_to(self.repo.common_dir))
        if text is None:
            raise NotFound(
                f"There is no regular file {file}.",
                hint="The pointer is spec-kitty's, and its file is not in this clone. Symbolic links are not followed.",
            )
        return text

    def logs(self, task_id: int) -> list[LogFile]:
        from burnish.wiring.logs import find_logs

        return find_logs(self.task_folder(self.store.task(self.key, task_id)))

    def run(self, request: RunRequest, *, progress: Progress, gate: Gate | None = None) -> RunReport:
        from burnish.wiring.running import run

        return run(self, request, progress, gate)
