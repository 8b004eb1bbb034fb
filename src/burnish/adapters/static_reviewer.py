"""The static reviewer: no AI, only analysers and rules for the changed lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from burnish.adapters.sandbox import OPEN, SandboxPolicy
from burnish.checks.guard.test_weakening import lost_tests as lost_tests_of
from burnish.checks.scan import lines_not_run, new_errors, scan
from burnish.checks.scanners.base import ScanContext, Wrap
from burnish.core.change import Change
from burnish.core.check import CheckStatus, Comparison
from burnish.core.finding import Category, Remark, Severity
from burnish.core.policy import CheckSpec
from burnish.core.review import Review
from burnish.proc.stop import StopToken
from burnish.review.packing import SOURCE, TEST, kind
from burnish.review.static.files import FileScan, scan_file
from burnish.review.static.lines import unrun_remark
from burnish.review.static.review import SYNTAX, conclude, elsewhere
from burnish.review.static.secrets import stored_secrets

TIMEOUT = 120.0
# Tests that take less time than this run again to measure coverage.
QUICK = 60.0


def static_review(
    change: Change,
    *,
    files: Path,
    out_dir: Path,
    checkout: Path,
    base_text: Callable[[str], str | None],
    new_text: Callable[[str], bytes | None],
    env: Mapping[str, str],
    comparisons: tuple[Comparison, ...] = (),
    test: CheckSpec | None = None,
    stop: StopToken | None = None,
    tests_as_remarks: bool = False,
    coverage: bool | None = None,
    executing: bool = True,
    from_checkout: bool | None = None,
    own_settings: bool = True,
    whole_tree: bool = True,
    lost_tests: bool = False,
    timeout_seconds: float = TIMEOUT,
    confinement: SandboxPolicy = OPEN,
) -> Review:
    """Review every changed file: certain and probable defects, and notes on what could not be checked.

    `files` holds the reviewed tree and is only read. `coverage=None`: if the tests of this change took under a minute.
    `executing=False` skips analysers that run code of the change (golangci-lint, clippy), `from_checkout=False`
    the one that runs code of the checkout (eslint); `own_settings=False` uses burnish's settings for the others, not
    the repository's. `whole_tree=False`: `files` has only the changed ones. `lost_tests`: report deleted or disabled
    tests, if no guard does.
    """
    out_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    context = ScanContext(
        files=files.resolve(),
        out_dir=out_dir.resolve(),
        checkout=checkout.resolve(),
        env=env,
        base_text=base_text,
        is_test=lambda path: kind(path) == TEST,
        stop=stop,
        timeout_seconds=timeout_seconds,
        wrap=_wrapping(confinement),
        own_settings=own_settings,
        whole_tree=whole_tree,
    )
    file_scans = _scan_files(change, base_text, new_text)
    paths = [path for path, file in file_scans.items() if not file.is_lock]
    scan_result = scan(context, paths, executing=executing, from_checkout=from_checkout)
    remarks, caused_errors = _introduced(context, change, file_scans, scan_result.remarks)
    unrun, note = _untested_lines(
        context, file_scans, test if _measures_coverage(coverage, test, comparisons) else None
    )
    return conclude(
        change,
        file_scans,
        remarks,
        caused_remarks=caused_errors,
        unrun=(
            *unrun,
            *stored_secrets(change, file_scans, base_text, new_text),
            *(_lost_tests(change, file_scans, comparisons, base_text) if lost_tests else ()),
        ),
        comparisons=comparisons if tests_as_remarks else (),
        notes=(*scan_result.notes, *note),
        unexamined=scan_result.unexamined,
    )


def _introduced(
    context: ScanContext, change: Change, file_scans: Mapping[str, FileScan], remarks: Sequence[Remark]
) -> tuple[list[Remark], list[Remark]]:
    """Remarks without syntax errors that the base also has; and new errors on other than the changed lines."""
    other_lines = elsewhere(file_scans, remarks)
    syntax = [remark for remark in remarks if remark.rule == SYNTAX and remark.file in file_scans]
    suspects = list(
        dict.fromkeys((*other_lines, *(one for one in syntax if file_scans[one.file or ""].file.status != "A")))
    )
    if not suspects:
        return list(remarks), []
    old_path = {file.path: file.old_path for file in change.files if file.old_path}
    new = set(new_errors(context, suspects, old_path))
    # Files that could not be parsed at the base either have no usable remarks.
    unparsed_files = {one.file for one in suspects if one.rule == SYNTAX and one not in new}
    return [one for one in remarks if one.file not in unparsed_files], [one for one in other_lines if one in new]


def _lost_tests(
    change: Change,
    file_scans: Mapping[str, FileScan],
    comparisons: tuple[Comparison, ...],
    base_text: Callable[[str], str | None],
) -> Iterator[Remark]:
    """Warnings about tests that were deleted, disabled, or renamed so that they do not run."""
    new_text = {path: file.text for path, file in file_scans.items() if file.lines}
    for loss in lost_tests_of(change, comparisons, base_text, new_text.get):
        yield Remark(
            Category.TEST,
            Severity.WARNING,
            loss.title,
            loss.reason,
            file=loss.file,
            line=loss.line,
            end_line=loss.line,
            quote=loss.quote,
            rule="lost-test",
            source="static",
        )


def _wrapping(confinement: SandboxPolicy) -> Wrap | None:
    """A function that runs analysers in the sandbox, with read access only; they write beside their output."""
    sandbox = confinement.require()
    if sandbox is None:
        return None
    return lambda argv, env, reads, writes: sandbox.around(argv, env=env, readable=reads, writable=writes)


def _scan_files(
    change: Change, base_text: Callable[[str], str | None], new_text: Callable[[str], bytes | None]
) -> dict[str, FileScan]:
    found = (
        (file, scan_file(file, new_text(file.path) if file.status != "D" else None, base_text)) for file in change.files
    )
    return {file.path: file_scan for file, file_scan in found if file_scan is not None}


def _measures_coverage(coverage: bool | None, test: CheckSpec | None, comparisons: Sequence[Comparison]) -> bool:
    """True if requested; without a request, if this change's tests ran quickly."""
    if coverage is not None or test is None:
        return bool(coverage)
    reports = [one.report for one in comparisons if one.report.name == test.name]
    return any(report.status is not CheckStatus.ERROR and report.seconds < QUICK for report in reports)


def _untested_lines(
    context: ScanContext, file_scans: Mapping[str, FileScan], test: CheckSpec | None
) -> tuple[list[Remark], list[str]]:
    python = [
        file for file in file_scans.values() if file.path.endswith(".py") and file.kind == SOURCE and file.changed
    ]
    if test is None or not python:
        return [], []
    found = lines_not_run(context, test)
    remarks = [unrun_remark(file, found.missing.get(file.path, ()), found.ran.get(file.path, ())) for file in python]
    return [remark for remark in remarks if remark], [found.note] if found.note else []
