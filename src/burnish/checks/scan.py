"""Runs the analysers on the changed files in parallel. Errors become notes."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.checks.reading import read_report
from burnish.checks.runners import pytest_end
from burnish.checks.scanners.base import ScanContext, Scanner, ScanResult, ToolOutput, call, last_line, read_json
from burnish.checks.scanners.others import Clippy, Eslint, Golangci, Shellcheck
from burnish.checks.scanners.parsers import SyntaxScanner
from burnish.checks.scanners.ruff import Ruff
from burnish.core.finding import Remark
from burnish.core.policy import CheckSpec

SCANNERS: tuple[Scanner, ...] = (Ruff(), SyntaxScanner(), Shellcheck(), Eslint(), Golangci(), Clippy())
READ_WHOLE_TREE = (Eslint(), Golangci(), Clippy())
SYNTAX = "syntax-error"


def scan(
    context: ScanContext, paths: Iterable[str], *, executing: bool = True, from_checkout: bool | None = None
) -> ScanResult:
    """The remarks of all analysers on these files.

    `executing=False` skips analysers that run code of the change, `from_checkout=False` those that run code of the
    checkout (its plug-ins). `from_checkout` defaults to `executing`.
    """
    files, notes = _readable(context, paths)
    allowed_sources = _allowed(executing, from_checkout)
    jobs: list[tuple[Scanner, tuple[str, ...]]] = []
    for scanner in SCANNERS:
        scanner_paths = tuple(path for path in files if scanner.wants(path))
        if scanner_paths and scanner.executes not in allowed_sources:
            notes.append(f"{scanner.name}: skipped, because it runs code from the repository")
        elif scanner_paths:
            jobs.append((scanner, scanner_paths))
    with ThreadPoolExecutor(max(len(jobs), 1), thread_name_prefix="scan") as pool:
        results = list(pool.map(lambda job: job[0].scan(context, job[1]), jobs))
    return ScanResult(
        tuple(remark for one in results for remark in one.remarks),
        (*notes, *(note for one in results for note in one.notes)),
        {
            path: f"{job[0].name}: {why}"
            for job, one in zip(jobs, results, strict=True)
            for path, why in one.unexamined.items()
        },
    )


def _allowed(executing: bool, from_checkout: bool | None) -> set[str]:
    plug_ins = executing if from_checkout is None else from_checkout
    return {"", *(["change"] if executing else []), *(["checkout"] if plug_ins else [])}


def needs_whole_tree(context: ScanContext, paths: Sequence[str], *, executing: bool, from_checkout: bool) -> bool:
    """True if an installed analyser reads more than the changed files."""
    allowed_sources = _allowed(executing, from_checkout) - {""}
    candidates = (scanner for scanner in READ_WHOLE_TREE if scanner.executes in allowed_sources)
    return any(any(map(scanner.wants, paths)) and scanner.program(context) for scanner in candidates)


def new_errors(context: ScanContext, found: Sequence[Remark], old_path: dict[str, str]) -> tuple[Remark, ...]:
    """The errors that the same files do not have at the base."""
    root = context.out_dir / "base"
    shutil.rmtree(root, ignore_errors=True)
    paths = list(dict.fromkeys(remark.file for remark in found if remark.file))
    written_paths = [path for path in paths if _write_file(root / path, context.base_text(old_path.get(path, path)))]
    before = scan(replace(context, files=root, out_dir=context.out_dir / "scan-base"), written_paths, executing=False)
    # Old and new problems are compared by title, since line numbers change.
    old_problems = {_problem_key(remark) for remark in before.remarks}
    unparsed_files = {remark.file for remark in before.remarks if remark.rule == SYNTAX}
    return tuple(
        remark for remark in found if _problem_key(remark) not in old_problems and remark.file not in unparsed_files
    )


def _problem_key(remark: Remark) -> tuple[str | None, str, str]:
    return remark.file, remark.rule, remark.title


def _write_file(target: Path, text: str | None) -> bool:
    if text is None:
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", errors="replace", newline="")
    except (OSError, ValueError):
        return False
    return True


def _readable(context: ScanContext, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Plain files whose names can be used in a JSON report, and a note about the others."""
    files: list[str] = []
    odd = 0
    for path in paths:
        try:
            path.encode()
            plain = (context.files / path).is_file() and not (context.files / path).is_symlink()
        except (OSError, ValueError):
            plain, odd = False, odd + 1
        if plain and "\n" not in path:
            files.append(path)
    return files, [f"{odd} files with names that are not UTF-8 were not analysed"] if odd else []


# -- scan coverage --------------------------------------------------------------------------------
# Finds changed lines that no test runs: runs the tests again with coverage, in a temporary copy.

MAX_FILES = 20_000
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
            return _unknown(f"coverage: more than {MAX_FILES} files are too many to copy")
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
        return names if count > MAX_FILES else [name for name in names if name == ".git"]

    shutil.copytree(files, target, symlinks=True, ignore=too_many)
    return None if count > MAX_FILES else target
