"""Which changed lines no test runs: the tests once more, under coverage, in a copy that is thrown away."""

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
    """For each measured file the lines that were never run, and those that were."""

    missing: Mapping[str, frozenset[int]]
    ran: Mapping[str, frozenset[int]]
    note: str = ""


def _unknown(why: str) -> UntestedLines:
    return UntestedLines({}, {}, why)


def lines_not_run(ground: ScanContext, test: CheckSpec) -> UntestedLines:
    """Never raises; what could not be measured is said in the note."""
    words = _words(test, ground)
    if words is None:
        return _unknown("coverage: the test command is not a plain call of pytest")
    python, arguments = words
    place = ground.out_dir / "coverage"
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir(parents=True, mode=0o700)
        tree = _copy(ground.files, place / "tree")
        if tree is None:
            return _unknown(f"coverage: more than {MOST_FILES} files are too many to copy")
        (place / "rc").write_text(_SETTINGS.format(data=place / "data"))
        return _measure(replace(ground, timeout_seconds=test.timeout_seconds), tree, python, arguments)
    except (OSError, ValueError) as error:
        return _unknown(f"coverage: {str(error)[:200]}")
    finally:
        shutil.rmtree(place / "tree", ignore_errors=True)


def _measure(ground: ScanContext, tree: Path, python: str, arguments: tuple[str, ...]) -> UntestedLines:
    place = tree.parent

    def ask(name: str, *words: str) -> ToolOutput:
        return call(ground, f"coverage-{name}", (python, *words), cwd=tree, env=env, writable=place)

    rc = f"--rcfile={place / 'rc'}"
    # The tree first: an editable install would measure the user's own files instead.
    roots = [str(root) for root in (tree / "src", tree) if root.is_dir()]
    env = {"PYTHONPATH": ":".join(roots), "PYTHONDONTWRITEBYTECODE": "1", "COVERAGE_RCFILE": str(place / "rc")}
    looked = ask("ask", "-c", _ASK)
    if looked.exit_code != 0:
        return _unknown("coverage is not installed where the tests run: which lines they run is not known")
    # Other processes are not measured, and a second measurement would take the place of ours.
    extra = tuple(
        word for word, name in (("--no-cov", "pytest_cov"), ("-n0", "xdist")) if name in looked.stdout.split()
    )
    said = ask("run", "-m", "coverage", "run", rc, f"--source={tree}", "-m", "pytest", *arguments, *extra)
    if said.trouble or said.exit_code not in (0, 1):
        return _unknown(f"coverage: the tests did not run: {said.trouble or last_line(said.stdout or said.stderr)}")
    report = place / "coverage.json"
    ask("combine", "-m", "coverage", "combine", rc, "--quiet")
    said = ask("report", "-m", "coverage", "json", rc, "--quiet", "-o", str(report))
    written = read_report(place, report.name)
    data = read_json(written.decode("utf-8", "replace")) if isinstance(written, bytes) else None
    if not isinstance(data, dict):
        return _unknown(f"coverage: {said.trouble or last_line(said.stdout or said.stderr)}")
    return _read(data)


_ASK = "import coverage, pytest, importlib.util as u;print(*[n for n in ('pytest_cov', 'xdist') if u.find_spec(n)])"


def _read(data: dict[str, Any]) -> UntestedLines:
    files = data.get("files")
    entries = files.items() if isinstance(files, dict) else ()
    missing = {str(path): _numbers(entry, "missing_lines") for path, entry in entries}
    ran = {str(path): _numbers(entry, "executed_lines") for path, entry in entries}
    if not any(lines for path, lines in ran.items() if not _is_of_tests(path)):
        return _unknown("coverage: the tests ran none of the files here; they may test an installed copy")
    return UntestedLines(missing, ran)


def _numbers(entry: Any, key: str) -> frozenset[int]:
    lines = entry.get(key) if isinstance(entry, dict) else None
    return frozenset(n for n in lines if isinstance(n, int)) if isinstance(lines, list) else frozenset()


def _is_of_tests(path: str) -> bool:
    return PurePosixPath(path).name.startswith(("test_", "conftest")) or path.endswith("_test.py")


def _words(test: CheckSpec, ground: ScanContext) -> tuple[str, tuple[str, ...]] | None:
    """The python that runs pytest, and pytest's arguments."""
    try:
        command = tuple(shlex.split(test.command)) if isinstance(test.command, str) else test.command
    except ValueError:
        return None
    if isinstance(test.command, str) and any(sign in test.command for sign in "|&;<>$`(){}*?\n"):
        return None
    end = pytest_end(command)
    program = shutil.which(command[0], path=ground.env.get("PATH")) if end else None
    if end is None or not program:
        program = shutil.which("python3", path=ground.env.get("PATH")) if end and command[0] == "python" else None
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
