"""Run checks side by side, each under its own watch, and say what came of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from burnish.checks.checkout_programs import CheckoutProgram
from burnish.checks.go_test import plain_output
from burnish.checks.import_report import import_hint, imported_elsewhere, with_import_report
from burnish.checks.outcome import report_of, tail_of, trouble
from burnish.checks.placement import Placement
from burnish.checks.prepare import prepare
from burnish.checks.program_report import program_problem, started_elsewhere, with_program_report
from burnish.checks.reading import iterate_lines
from burnish.checks.report_formats import marks_of
from burnish.checks.uncommitted_files import uncommitted_only
from burnish.checks.unreported_imports import unreported_imports
from burnish.core.check import CheckReport
from burnish.core.policy import CheckSpec
from burnish.proc.run import Command, ProgramMissing, ShimLost, StopToken, run


@dataclass(frozen=True, slots=True)
class _CheckRunContext:
    """Where the checks stand, and what they share."""

    place: Placement
    out_dir: Path
    env: Mapping[str, str]
    stop: StopToken | None
    cap_bytes: int
    lock_file: Path | None
    clean_output: Callable[[Path], None]


def run_checks(
    specs: Iterable[CheckSpec],
    *,
    place: Placement,
    out_dir: Path,
    env: Mapping[str, str],
    stop: StopToken | None = None,
    cap_bytes: int = 64 * 1024 * 1024,
    lock_file: Path | None = None,
    clean_output: Callable[[Path], None] = lambda folder: None,
) -> tuple[CheckReport, ...]:
    """One report per check, in the order given.

    `clean_output` takes secrets out of what a check left in its folder, before it is read: readers cut what is long,
    and a part of a secret cannot be found any more.
    """
    ground = _CheckRunContext(place, out_dir.resolve(), env, stop, cap_bytes, lock_file, clean_output)
    checks = tuple(specs)
    if len(checks) <= 1:
        return tuple(_run_one(spec, ground) for spec in checks)
    with ThreadPoolExecutor(len(checks), thread_name_prefix="check") as pool:
        return tuple(pool.map(partial(_run_one, ground=ground), checks))


def _run_one(spec: CheckSpec, ground: _CheckRunContext) -> CheckReport:
    call_dir = ground.out_dir / spec.name
    shutil.rmtree(call_dir, ignore_errors=True)
    call_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    # New and ours alone: a report that is found there afterwards was written by this run and no other.
    report_dir = Path(tempfile.mkdtemp(prefix="report-", dir=call_dir))
    try:
        place = _in_folder(ground.place, spec.cwd)
    except ValueError as error:
        return trouble(spec, str(error))
    if nothing_seen := uncommitted_only(spec.command, ground.place.files / spec.cwd):
        return trouble(spec, nothing_seen)
    env = with_import_report(spec, report_dir, _with_own_programs(ground.env, place, spec.cwd), ground.place)
    env, programs = with_program_report(spec, ground.place, report_dir, env)
    prepared = prepare(spec, report_dir=report_dir, env=env, root=ground.place.files / spec.cwd)
    wrap = ground.place.wrap
    reports = prepared.known.runner.tree_reports if prepared.known else None
    before = marks_of(ground.place.written_by(spec.name), *reports) if reports else {}
    command = Command(
        argv=wrap(prepared.argv, spec.name, report_dir) if wrap else prepared.argv,
        cwd=place,
        env=prepared.env,
        call_dir=call_dir,
        timeout_seconds=spec.timeout_seconds,
        cap_bytes=ground.cap_bytes,
        lock_file=ground.lock_file,
        wrapped=wrap is not None,
    )
    try:
        done = run(command, stop=ground.stop)
    except (ProgramMissing, ShimLost) as error:
        return trouble(spec, f"{error.what} {error.hint}")
    finally:
        ground.clean_output(call_dir)
    report = report_of(spec, prepared, done, place=ground.place, report_dir=report_dir, before=before)
    if prepared.report == "go" and not prepared.promised:
        _make_readable(done.stdout)
        # a secret may be in two events
        ground.clean_output(call_dir)
        report = replace(report, tail=tail_of(done.stdout, done.stderr))
    untested = _not_the_tree(spec, ground.place, report_dir, programs)
    if not untested and (unreported := unreported_imports(spec, ground.place, report_dir, env, report.tail)):
        untested = unreported, import_hint(confined=False)
    if untested:
        why, hint = untested
        unknown = trouble(spec, f"The tests do not test the change: {why}.", hint)
        return replace(unknown, tail=report.tail, output_path=report.output_path, seconds=report.seconds)
    return _from_root(report, ground.place, spec.cwd) if spec.cwd else report


def _not_the_tree(
    spec: CheckSpec, place: Placement, report_dir: Path, programs: Mapping[str, CheckoutProgram]
) -> tuple[str, str] | None:
    """What the tests imported or started instead of the tree, and what to do."""
    if elsewhere := imported_elsewhere(report_dir, place.files, spec.cwd, place.path):
        return elsewhere, import_hint(confined=place.wrap is not None)
    program = started_elsewhere(report_dir, programs)
    return program_problem(program, confined=place.wrap is not None) if program else None


def _make_readable(stdout: Path) -> None:
    """Put in place of the events of `go test -json` what it prints without the option that we added."""
    plain = stdout.with_name("stdout-plain")
    with plain.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(plain_output(iterate_lines(stdout)))
    plain.replace(stdout)


def _in_folder(place: Placement, cwd: str) -> Path:
    """Where a check of one folder starts; raises ValueError if the tree has no such folder."""
    if not cwd:
        return place.path
    folder = (place.files / cwd).resolve()
    if not folder.is_dir() or not folder.is_relative_to(place.files.resolve()):
        raise ValueError(f"The folder {cwd} does not exist in this commit.")
    return place.path / cwd


def _with_own_programs(env: Mapping[str, str], folder: Path, cwd: str) -> Mapping[str, str]:
    """A `.venv` of the folder that a check runs in comes before that of the root."""
    own = folder / ".venv" / "bin"
    return {**env, "PATH": f"{own}{os.pathsep}{env.get('PATH', os.defpath)}"} if cwd and own.is_dir() else env


def _from_root(report: CheckReport, place: Placement, cwd: str) -> CheckReport:
    """Paths that a program printed from its own folder, as the repository knows them."""

    def found(file: str | None) -> str | None:
        if file is None or (place.files / file).exists() or not (place.files / cwd / file).exists():
            return file
        return f"{cwd}/{file}"

    failures = tuple(replace(one, file=found(one.file)) for one in report.failures)
    remarks = tuple(replace(one, file=found(one.file)) for one in report.remarks)
    return replace(report, failures=failures, remarks=remarks)
