"""The static reviewer put together: no AI, only analysers and a look at the changed lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from burnish.adapters.sandbox import OPEN, SandboxPolicy
from burnish.checks.guard.test_weakening import lost_tests as lost_tests_of
from burnish.checks.scan import new_errors, scan
from burnish.checks.scan_coverage import lines_not_run
from burnish.checks.scanners.base import ScanContext, Wrap
from burnish.core.change import Change
from burnish.core.check import CheckStatus, Comparison
from burnish.core.finding import Category, Remark, Severity
from burnish.core.policy import CheckSpec
from burnish.core.review import Review
from burnish.proc.stop import StopToken
from burnish.review.packing import SOURCE, TEST, kind
from burnish.review.static.files import FileScan, scan_file
from burnish.review.static.review import SYNTAX, conclude, elsewhere
from burnish.review.static.stored import stored_secrets
from burnish.review.static.untested_lines import unrun_remark

TIMEOUT = 120.0
# Tests that take no longer than this are run a second time to see what they run.
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
    """Look at every changed file; say what is surely wrong, what is likely wrong, and what could not be looked at.

    `files` holds the reviewed tree and is only read. `coverage=None`: if the tests of this change took under a minute.
    `executing=False` leaves out analysers that run code of the change (golangci-lint, clippy), `from_checkout=False`
    the one that runs code of the checkout (eslint); `own_settings=False` uses our own settings for the others, not
    the repository's. `whole_tree=False`: `files` has only the changed ones. `lost_tests`: say which tests were deleted
    or switched off, where no guard does.
    """
    out_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    ground = ScanContext(
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
    looked = _looked(change, base_text, new_text)
    paths = [path for path, file in looked.items() if not file.is_lock]
    seen = scan(ground, paths, executing=executing, from_checkout=from_checkout)
    scanned, caused = _introduced(ground, change, looked, seen.remarks)
    unrun, note = _unrun(ground, looked, test if _measured(coverage, test, comparisons) else None)
    return conclude(
        change,
        looked,
        scanned,
        caused_remarks=caused,
        unrun=(
            *unrun,
            *stored_secrets(change, looked, base_text, new_text),
            *(_lost_tests(change, looked, comparisons, base_text) if lost_tests else ()),
        ),
        comparisons=comparisons if tests_as_remarks else (),
        notes=(*seen.notes, *note),
    )


def _introduced(
    ground: ScanContext, change: Change, looked: Mapping[str, FileScan], remarks: Sequence[Remark]
) -> tuple[list[Remark], list[Remark]]:
    """Remarks without syntax errors that the base has too; and errors off the changed lines that are new."""
    off = elsewhere(looked, remarks)
    syntax = [remark for remark in remarks if remark.rule == SYNTAX and remark.file in looked]
    suspects = list(dict.fromkeys((*off, *(one for one in syntax if looked[one.file or ""].file.status != "A"))))
    if not suspects:
        return list(remarks), []
    old_path = {file.path: file.old_path for file in change.files if file.old_path}
    new = set(new_errors(ground, suspects, old_path))
    # of a file that could not be parsed before either, nothing is known
    unparsed = {one.file for one in suspects if one.rule == SYNTAX and one not in new}
    return [one for one in remarks if one.file not in unparsed], [one for one in off if one in new]


def _lost_tests(
    change: Change,
    looked: Mapping[str, FileScan],
    comparisons: tuple[Comparison, ...],
    base_text: Callable[[str], str | None],
) -> Iterator[Remark]:
    """Tests that were deleted, renamed so that they do not run, or switched off. People may mean it: a warning."""
    new_text = {path: file.text for path, file in looked.items() if file.lines}
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
    """Analysers only read; what they write goes beside their output."""
    sandbox = confinement.require()
    if sandbox is None:
        return None
    return lambda argv, env, reads, writes: sandbox.around(argv, env=env, readable=reads, writable=writes)


def _looked(
    change: Change, base_text: Callable[[str], str | None], new_text: Callable[[str], bytes | None]
) -> dict[str, FileScan]:
    found = (
        (file, scan_file(file, new_text(file.path) if file.status != "D" else None, base_text)) for file in change.files
    )
    return {file.path: seen for file, seen in found if seen is not None}


def _measured(coverage: bool | None, test: CheckSpec | None, comparisons: Sequence[Comparison]) -> bool:
    """As asked; unasked, if this change's tests ran, and soon ended."""
    if coverage is not None or test is None:
        return bool(coverage)
    reports = [one.report for one in comparisons if one.report.name == test.name]
    return any(report.status is not CheckStatus.ERROR and report.seconds < QUICK for report in reports)


def _unrun(
    ground: ScanContext, looked: Mapping[str, FileScan], test: CheckSpec | None
) -> tuple[list[Remark], list[str]]:
    python = [file for file in looked.values() if file.path.endswith(".py") and file.kind == SOURCE and file.changed]
    if test is None or not python:
        return [], []
    found = lines_not_run(ground, test)
    remarks = [unrun_remark(file, found.missing.get(file.path, ()), found.ran.get(file.path, ())) for file in python]
    return [remark for remark in remarks if remark], [found.note] if found.note else []
