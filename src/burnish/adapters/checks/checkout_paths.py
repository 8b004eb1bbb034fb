"""Refuses checks whose build files or commands lead to the user's checkout instead of the tree under test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from burnish.checks.import_origins import runs_tests
from burnish.core.policy import CheckSpec, setting_of
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.objects import list_files, read_files
from burnish.git.project import Project


def refuse_absolute_paths(
    project: Project, commit: str, specs: Sequence[CheckSpec], isolation_env: Mapping[str, str]
) -> None:
    """Without a sandbox: raises CHECK_ERROR if a build file, a test command or a variable names the checkout."""
    tests = [spec for spec in specs if runs_tests(spec)]
    if not tests:
        return
    contents = read_files(project, commit, build_files(list_files(project, commit)))
    texts = {path: (data or b"").decode(errors="replace") for path, data in contents.items()}
    texts |= {setting_of(spec.name): spec.words for spec in tests}
    texts |= {f"isolation.env.{name}": value for name, value in isolation_env.items()}
    if problem := names_checkout(texts, sorted({str(project.root), str(project.root.resolve())})):
        raise PhaseFailed(
            ErrorCode.CHECK_ERROR,
            f"The tests would not test the change: {problem}.",
            hint="Use a relative path there, or install bubblewrap: in a sandbox the path leads to the tree; then "
            "`burnish retry`.",
        )


# -- absolute paths -------------------------------------------------------------------------------
# Build files and scripts that name the checkout by its absolute path. Without a sandbox they build the checkout.
#
# `replace example.com/lib => /home/me/calc/lib` in go.mod, `path = "/home/me/calc/lib"` in Cargo.toml, `cd
# /home/me/calc` in a script. For Python, the interpreter reports what it imports (`import_origins`, `import_report`).
# Pure.

_BUILD_FILE = re.compile(
    r"(?:^|/)(?:go\.(?:mod|work)|Cargo\.toml|\.cargo/config(?:\.toml)?|package\.json|[tj]sconfig[^/]*\.json"
    r"|[^/]+\.config\.[cm]?[jt]s|\.(?:mocharc|jestrc|babelrc)[^/]*|GNUmakefile|[Mm]akefile|[^/]+\.(?:mk|cmake|ninja|gradle|gradle\.kts)"
    r"|CMakeLists\.txt|meson\.build|[Jj]ustfile|Taskfile\.ya?ml|Rakefile|Gemfile|pom\.xml|[^/]+\.(?:sh|bash))$"
)
_FOREIGN = re.compile(r"(?:^|/)(?:docs?|examples?|fixtures?|testdata|vendor|third[-_]party|node_modules)/")
# Environments of the checkout: the interpreter reports what they import.
_ENVIRONMENT = re.compile(r"(?:\.venv|venv|env|\.conda|node_modules|\.tox|\.nox)(?:/|$)")
# where a path ends
_REST = re.compile(r"(?=/|[\s\"'`;:,)\]}]|$)(/[^\s\"'`;:,)\]}]*)?")


def build_files(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if _BUILD_FILE.search(path) and not _FOREIGN.search(path)))


def names_checkout(texts: Mapping[str, str], checkouts: Sequence[str]) -> str:
    """The first text that names a path of the checkout, as a message; "" if none does.


    `checkouts` are the checkout's path and its aliases.
    """
    for name, text in texts.items():
        for root in checkouts:
            for found in re.finditer(re.escape(root) + _REST.pattern, text):
                rest = (found[1] or "").lstrip("/")
                if not _ENVIRONMENT.match(rest) and not _in_longer_path(text, found.start()):
                    return f"{name} names {found[0]}, which is in your checkout"
    return ""


def _in_longer_path(text: str, start: int) -> bool:
    """`/backup/home/me/calc` is another place."""
    return start > 0 and re.match(r"[\w.~-]", text[start - 1]) is not None
