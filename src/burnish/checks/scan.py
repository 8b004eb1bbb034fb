"""Runs the analysers on the changed files in parallel. Errors become notes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from burnish.checks.scanners.base import ScanContext, Scanner, ScanResult
from burnish.checks.scanners.others import Clippy, Eslint, Golangci, Shellcheck
from burnish.checks.scanners.parsers import SyntaxScanner
from burnish.checks.scanners.ruff import Ruff
from burnish.core.finding import Remark

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
