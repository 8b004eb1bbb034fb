"""Run the analysers over the changed files, side by side. Whatever goes wrong is a note."""

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
    ground: ScanContext, paths: Iterable[str], *, executing: bool = True, from_checkout: bool | None = None
) -> ScanResult:
    """What they say about these files.

    `executing=False` leaves out those that run code of the change, `from_checkout=False` those that run code of the
    checkout (its plug-ins); unless it is given, the two are the same.
    """
    there, notes = _readable(ground, paths)
    allowed = _allowed(executing, from_checkout)
    jobs: list[tuple[Scanner, tuple[str, ...]]] = []
    for scanner in SCANNERS:
        wanted = tuple(path for path in there if scanner.wants(path))
        if wanted and scanner.executes not in allowed:
            notes.append(f"{scanner.name}: left out, because it runs code from the repository")
        elif wanted:
            jobs.append((scanner, wanted))
    with ThreadPoolExecutor(max(len(jobs), 1), thread_name_prefix="scan") as pool:
        seen = list(pool.map(lambda job: job[0].scan(ground, job[1]), jobs))
    return ScanResult(
        tuple(remark for one in seen for remark in one.remarks),
        (*notes, *(note for one in seen for note in one.notes)),
    )


def _allowed(executing: bool, from_checkout: bool | None) -> set[str]:
    plug_ins = executing if from_checkout is None else from_checkout
    return {"", *(["change"] if executing else []), *(["checkout"] if plug_ins else [])}


def needs_whole_tree(ground: ScanContext, paths: Sequence[str], *, executing: bool, from_checkout: bool) -> bool:
    """Would an installed analyser look beyond the changed files?"""
    allowed = _allowed(executing, from_checkout) - {""}
    candidates = (scanner for scanner in READ_WHOLE_TREE if scanner.executes in allowed)
    return any(any(map(scanner.wants, paths)) and scanner.program(ground) for scanner in candidates)


def new_errors(ground: ScanContext, found: Sequence[Remark], old_path: dict[str, str]) -> tuple[Remark, ...]:
    """Those of the errors that the same files, as the base has them, do not show."""
    root = ground.out_dir / "base"
    shutil.rmtree(root, ignore_errors=True)
    paths = list(dict.fromkeys(remark.file for remark in found if remark.file))
    laid = [path for path in paths if _lay(root / path, ground.base_text(old_path.get(path, path)))]
    before = scan(replace(ground, files=root, out_dir=ground.out_dir / "scan-base"), laid, executing=False)
    # One thing that was wrong before and one that is: told apart by their words, for lines have moved.
    known = {_said(remark) for remark in before.remarks}
    unread = {remark.file for remark in before.remarks if remark.rule == SYNTAX}
    return tuple(remark for remark in found if _said(remark) not in known and remark.file not in unread)


def _said(remark: Remark) -> tuple[str | None, str, str]:
    return remark.file, remark.rule, remark.title


def _lay(target: Path, text: str | None) -> bool:
    if text is None:
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", errors="replace", newline="")
    except (OSError, ValueError):
        return False
    return True


def _readable(ground: ScanContext, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Plain files whose names survive a JSON report; the others are named."""
    there: list[str] = []
    odd = 0
    for path in paths:
        try:
            path.encode()
            plain = (ground.files / path).is_file() and not (ground.files / path).is_symlink()
        except (OSError, ValueError):
            plain, odd = False, odd + 1
        if plain and "\n" not in path:
            there.append(path)
    return there, [f"{odd} files with names that are not UTF-8 were not given to analysers"] if odd else []
