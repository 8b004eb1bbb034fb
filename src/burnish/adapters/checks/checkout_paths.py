"""Refuses checks whose build files or commands lead to the user's checkout instead of the tree under test."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.checks.absolute_paths import build_files, names_checkout
from burnish.checks.import_origins import runs_tests
from burnish.core.policy import CheckSpec, setting_of
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.project import Project
from burnish.git.reading import list_files, read_files


def refuse_absolute_paths(project: Project, commit: str, specs: Sequence[CheckSpec]) -> None:
    """Without a sandbox: raises CHECK_ERROR if a build file or a test command names the checkout by its path."""
    tests = [spec for spec in specs if runs_tests(spec)]
    if not tests:
        return
    contents = read_files(project, commit, build_files(list_files(project, commit)))
    texts = {path: (data or b"").decode(errors="replace") for path, data in contents.items()}
    texts |= {setting_of(spec.name): spec.words for spec in tests}
    if problem := names_checkout(texts, sorted({str(project.root), str(project.root.resolve())})):
        raise PhaseFailed(
            ErrorCode.CHECK_ERROR,
            f"The tests would not test the change: {problem}.",
            hint="Use a relative path there, or install bubblewrap: in a sandbox the path leads to the tree; then "
            "`burnish retry`.",
        )
