"""Checks in the workspace itself (`checks.where: workspace`), verified to be what the tests import."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.checks.tree_checks import no_answer, output_of
from burnish.adapters.checks.trees import author_view, enclose
from burnish.checks.dependency_files import dependency_paths
from burnish.checks.environment import check_environment
from burnish.checks.import_origins import Origins, project_names, question_spec, read_origins, runs_tests
from burnish.checks.installed import EnvironmentFolder, environment_folders
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.core.policy import CheckSpec
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, remove_tree
from burnish.git.objects import list_files, read_files
from burnish.git.project import Project
from burnish.proc.environment import variables_for_mounts
from burnish.proc.mounts import with_overlays
from burnish.proc.run import StopToken
from burnish.proc.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class WorkspaceTree:
    """A folder with files of the project, seen at the checkout's path in a sandbox.

    `checkout_folders` are the checkout's environment folders, visible if the folder has none.
    """

    project: Project
    files: Path
    sandbox: Sandbox | None
    scratch: Path
    checkout_folders: tuple[EnvironmentFolder, ...] = ()
    own_folders: tuple[EnvironmentFolder, ...] = ()

    @property
    def _folders(self) -> tuple[EnvironmentFolder, ...]:
        return tuple(dict.fromkeys((*self.own_folders, *self.checkout_folders)))

    @property
    def path(self) -> Path:
        return self.project.root if self.sandbox else self.files

    def variables(self, extra: Mapping[str, str]) -> dict[str, str]:
        """The variables of checks, with the programs of its environments first on PATH."""
        if self.sandbox is None:
            return check_environment(os.environ, roots=(self.files, self.project.root), extra=extra)
        env = check_environment(os.environ, extra=extra)
        own = [str(self.path / folder.programs) for folder in self._folders if folder.kind == "python"]
        return env | {"PATH": os.pathsep.join(dict.fromkeys([*own, *env["PATH"].split(os.pathsep)]))}

    def placement(self, env: Mapping[str, str], readable: Sequence[Path] = ()) -> Placement:
        if self.sandbox is None:
            return Placement.plain(self.files, checkout=self.project.root)
        return Placement(
            self.files,
            self.path,
            lambda argv, name, report_dir: self._confined(argv, name, env, report_dir, readable),
            checkout=self.project.root,
        )

    def _confined(
        self, argv: Sequence[str], name: str, env: Mapping[str, str], report_dir: Path, readable: Sequence[Path]
    ) -> tuple[str, ...]:
        """The confined command, with the folder at the checkout's path and at its own."""
        assert self.sandbox
        scratch = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))
        view = author_view(self.project, self.checkout_folders, self.files, scratch)
        programs = [root / folder.programs for root in (self.files, self.project.root) for folder in self._folders]
        inside = enclose(
            self.sandbox,
            argv,
            env=variables_for_mounts(env, roots=(self.path,)),
            programs=programs,
            writable=(self.files, report_dir),
            readable=readable,
            trees=view.mounts,
        )
        return with_overlays(inside, view.overlays)

    def origins(self, specs: Sequence[CheckSpec], commit: str, env: Mapping[str, str], stop: StopToken) -> Origins:
        """Where the interpreter of each test command finds the project's packages, up to the first problem."""
        paths = list_files(self.project, commit)
        projects = project_names(read_files(self.project, commit, dependency_paths(paths)))
        variables = self.variables(env)
        place, found = self.placement(variables), dict[str, str]()
        for test in filter(runs_tests, specs):
            query = question_spec(test, paths, projects)
            if query is None:
                continue
            (report,) = run_checks([query], place=place, out_dir=self.scratch / "origins", env=variables, stop=stop)
            # Both paths are the same folder.
            output = output_of(report).replace(f"{self.files.resolve()}/", f"{self.path.resolve()}/")
            origins = read_origins(output, test, paths, error=no_answer(report))
            found |= dict(origins.packages)
            if origins.problem:
                return Origins(tuple(found.items()), origins.problem)
        return Origins(tuple(found.items()))


@contextmanager
def workspace_tree(
    project: Project, files: Path, sandbox: Sandbox | None, place: Path, commit: str = ""
) -> Iterator[WorkspaceTree]:
    """The workspace as a tree for checks. `place`: for temporary layers over the checkout's environment folders.

    Without the `commit` of the files, environments are not used: they are about to be made.
    """
    paths = list_files(project, commit) if commit else ()
    folders = [environment_folders(root, paths) if commit else () for root in (project.root, files)]
    with disk_errors(f"making a folder in {place}"):
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        scratch = Path(tempfile.mkdtemp(prefix=".workspace-", dir=place))
    try:
        yield WorkspaceTree(project, files, sandbox, scratch, *folders)
    finally:
        remove_tree(scratch)


def other_tree_imported(problem: str, *, is_confined: bool, has_setup: bool) -> PhaseFailed:
    """The error for tests that import other code than the workspace, with a suitable hint."""
    if has_setup:
        hint = "Install the project in editable mode (`pip install -e .`) in workspace.setup"
    else:
        hint = "Set workspace.setup to a command that installs the project in editable mode"
    hint += ", or remove `checks.where: workspace` from your settings."
    if not is_confined:
        hint += " With bubblewrap, the environment in your checkout can be used."
    return PhaseFailed(ErrorCode.CHECK_ERROR, f"The tests would not test the change: {problem}.", hint=hint)
