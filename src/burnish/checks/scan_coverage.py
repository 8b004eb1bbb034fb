"""Finds changed lines that no test runs: runs the tests again with coverage, in a temporary copy."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.checks.prepare import pytest_end
from burnish.checks.reading import read_report
from burnish.checks.scanners.base import ScanContext, ToolOutput, call, last_line, read_json
from burnish.core.policy import CheckSpec

MOST_FILES = 20_000
_SETTINGS = """[run]
branch = False
parallel = True
relative_files = True
data_file = {data}
[report]
ignore_errors = True
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @(abc\\.)?abstractmethod
    if __name__ == .__main__.:
    ^\\s*\\.\\.\\.$
"""


@dataclass(frozen=True, slots=True)
class UntestedLines:
    """The lines of each measured file that did not run, and those that did."""

    missing: Mapping[str, frozenset[int]]
    ran: Mapping[str, frozenset[int]]
    note: str = ""


def _unknown(why: str) -> UntestedLines:
    return UntestedLines({}, {}, why)


def lines_not_run(context: ScanContext, test: CheckSpec) -> UntestedLines:
    """The untested lines; `note` says why they could not be measured. Never raises."""
    words = _words(test, context)
    if words is None:
        return _unknown("coverage: the test command is not a plain call of pytest")
    python, arguments = words
    place = context.out_dir / "coverage"
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir(parents=True, mode=0o700)
        tree = _copy(context.files, place / "tree")
        if tree is None:
            return _unknown(f"coverage: more than {MOST_FILES} files are too many to copy")
        (place / "rc").write_text(_SETTINGS.format(data=place / "data"))
        return _measure(replace(context, timeout_seconds=test.timeout_seconds), tree, python, arguments)
    except (OSError, ValueError) as error:
        return _unknown(f"coverage: {str(error)[:200]}")
    finally:
        shutil.rmtree(place / "tree", ignore_errors=True)


def _measure(context: ScanContext, tree: Path, python: str, arguments: tuple[str, ...]) -> UntestedLines:
    place = tree.parent

    def run_python(name: str, *words: str) -> ToolOutput:
        return call(context, f"coverage-{name}", (python, *words), cwd=tree, env=env, writable=place)

    rc = f"--rcfile={place / 'rc'}"
    # The tree comes first: otherwise an editable install would measure the user's own files.
    roots = [str(root) for root in (tree / "src", tree) if root.is_dir()]
    env = {"PYTHONPATH": ":".join(roots), "PYTHONDONTWRITEBYTECODE": "1", "COVERAGE_RCFILE": str(place / "rc")}
    modules = run_python("ask", "-c", _ASK)
    if modules.exit_code != 0:
        return _unknown("coverage is not installed in the environment of the tests: untested lines are unknown")
    # Other processes are not measured, and pytest-cov would replace this measurement.
    extra = tuple(
        word for word, name in (("--no-cov", "pytest_cov"), ("-n0", "xdist")) if name in modules.stdout.split()
    )
    output = run_python("run", "-m", "coverage", "run", rc, f"--source={tree}", "-m", "pytest", *arguments, *extra)
    if output.trouble or output.exit_code not in (0, 1):
        return _unknown(
            f"coverage: the tests did not run: {output.trouble or last_line(output.stdout or output.stderr)}"
        )
    report = place / "coverage.json"
    run_python("combine", "-m", "coverage", "combine", rc, "--quiet")
    output = run_python("report", "-m", "coverage", "json", rc, "--quiet", "-o", str(report))
    report_data = read_report(place, report.name)
    data = read_json(report_data.decode("utf-8", "replace")) if isinstance(report_data, bytes) else None
    if not isinstance(data, dict):
        return _unknown(f"coverage: {output.trouble or last_line(output.stdout or output.stderr)}")
    return _read(data)


_ASK = "import coverage, pytest, importlib.util as u;print(*[n for n in ('pytest_cov', 'xdist') if u.find_spec(n)])"


def _read(data: dict[str, Any]) -> UntestedLines:
    files = data.get("files")
    entries = files.items() if isinstance(files, dict) else ()
    missing = {str(path): _numbers(entry, "missing_lines") for path, entry in entries}
    ran = {str(path): _numbers(entry, "executed_lines") for path, entry in entries}
    if not any(lines for path, lines in ran.items() if not _is_of_tests(path)):
        return _unknown("coverage: the tests ran no file of the tree; they may test an installed copy")
    return UntestedLines(missing, ran)


def _numbers(entry: Any, key: str) -> frozenset[int]:
    lines = entry.get(key) if isinstance(entry, dict) else None
    return frozenset(n for n in lines if isinstance(n, int)) if isinstance(lines, list) else frozenset()


def _is_of_tests(path: str) -> bool:
    return PurePosixPath(path).name.startswith(("test_", "conftest")) or path.endswith("_test.py")


def _words(test: CheckSpec, context: ScanContext) -> tuple[str, tuple[str, ...]] | None:
    """The python that runs pytest, and pytest's arguments."""
    try:
        command = tuple(shlex.split(test.command)) if isinstance(test.command, str) else test.command
    except ValueError:
        return None
    if isinstance(test.command, str) and any(sign in test.command for sign in "|&;<>$`(){}*?\n"):
        return None
    end = pytest_end(command)
    program = shutil.which(command[0], path=context.env.get("PATH")) if end else None
    if end is None or not program:
        program = shutil.which("python3", path=context.env.get("PATH")) if end and command[0] == "python" else None
        if end is None or not program:
            return None
    if end == 1:
        beside = Path(program).parent / "python"
        return (str(beside), command[1:]) if beside.exists() else None
    return program, command[end:]


def _copy(files: Path, target: Path) -> Path | None:
    count = 0

    def too_many(_: str, names: list[str]) -> list[str]:
        nonlocal count
        count += len(names)
        return names if count > MOST_FILES else [name for name in names if name == ".git"]

    shutil.copytree(files, target, symlinks=True, ignore=too_many)
    return None if count > MOST_FILES else target
