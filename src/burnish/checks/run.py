"""Runs checks in parallel, each with its own supervisor process, and returns their reports."""

from __future__ import annotations

import html
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from xml.parsers import expat

from burnish.checks.checkout_programs import CheckoutProgram, program_problem, started_elsewhere, with_program_report
from burnish.checks.command_line import uncommitted_only
from burnish.checks.environment import with_gradle_options
from burnish.checks.evidence import FOLDER, collect_evidence, files_before
from burnish.checks.go_test import plain_output
from burnish.checks.import_origins import PYTEST_SETTINGS, runs_tests
from burnish.checks.import_report import (
    import_hint,
    imported_elsewhere,
    replaced_files,
    unreported_imports,
    with_import_report,
)
from burnish.checks.outcome import error_report, report_of, tail_of
from burnish.checks.placement import Placement
from burnish.checks.reading import iterate_lines
from burnish.checks.report_formats import FileStats, report_file_stats
from burnish.checks.runners import prepare
from burnish.core.check import CheckReport
from burnish.core.policy import CheckSpec
from burnish.folder_walk import ReadFolder, read_folder, walk_folders
from burnish.proc.run import Command, ProgramMissing, ShimLost, StopToken, run
from burnish.regular_files import read_regular


@dataclass(frozen=True, slots=True)
class _CheckRunContext:
    """The placement of the checks, and the settings they share."""

    place: Placement
    out_dir: Path
    env: Mapping[str, str]
    stop: StopToken | None
    cap_bytes: int
    lock_file: Path | None
    clean_output: Callable[[Path], None]
    memory_bytes: int | None


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
    memory_bytes: int | None = None,
) -> tuple[CheckReport, ...]:
    """One report per check, in the order given.

    `clean_output` redacts secrets in the files of a check before they are read: readers shorten long text, and part
    of a secret would not be recognised.
    """
    context = _CheckRunContext(place, out_dir.resolve(), env, stop, cap_bytes, lock_file, clean_output, memory_bytes)
    checks = tuple(specs)
    if len(checks) <= 1:
        return tuple(_run_one(spec, context) for spec in checks)
    groups = _groups(checks, place)
    with ThreadPoolExecutor(len(groups), thread_name_prefix="check") as pool:
        found = [report for reports in pool.map(partial(_run_group, context=context), groups) for report in reports]
    reports = {report.name: report for report in found}
    return tuple(reports[spec.name] for spec in checks)


# Programs that write what they build beside the sources, and do not wait for each other.
_BUILDER = re.compile(r"(?<![\w.-])(?:g?make|ninja|cmake|meson)(?![\w.-])")


def _groups(checks: Iterable[CheckSpec], place: Placement) -> list[list[CheckSpec]]:
    """The checks by what may run at the same time. Those that build in one folder run one after the other."""
    groups: dict[Path | str, list[CheckSpec]] = {}
    for spec in checks:
        text = spec.command if isinstance(spec.command, str) else shlex.join(spec.command)
        groups.setdefault(place.written_by(spec.name) if _BUILDER.search(text) else spec.name, []).append(spec)
    return list(groups.values())


def _run_group(checks: Iterable[CheckSpec], context: _CheckRunContext) -> list[CheckReport]:
    return [_run_one(spec, context) for spec in checks]


def _run_one(spec: CheckSpec, context: _CheckRunContext) -> CheckReport:
    call_dir = context.out_dir / spec.name
    shutil.rmtree(call_dir, ignore_errors=True)
    call_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A new private folder, so that any report in it was written by this run.
    report_dir = Path(tempfile.mkdtemp(prefix="report-", dir=call_dir))
    try:
        place = _in_folder(context.place, spec.cwd)
    except ValueError as error:
        return error_report(spec, str(error))
    if uncommitted_reason := uncommitted_only(spec.command, context.place.files / spec.cwd):
        return error_report(spec, uncommitted_reason)
    read = cache(read_folder)  # several looks at one tree, all before the check can change it
    env = with_import_report(spec, report_dir, _with_own_programs(context.env, place, spec.cwd), context.place, read)
    if runs_tests(spec) and _sets_variable("GRADLE_OPTS", spec, context.place.files):
        env = with_gradle_options(env)
    env = _without_committed_cache(env, spec, context.place.files, report_dir)
    env, programs = with_program_report(spec, context.place, report_dir, env, read)
    maven = _maven_modules(spec, context.place, read)
    check = prepare(spec, report_dir=report_dir, env=env, root=context.place.files / spec.cwd)
    wrap = context.place.wrap
    reports = check.known.runner.tree_reports if check.known else None
    before = report_file_stats(context.place.written_by(spec.name), *reports) if reports else {}
    shown_before = files_before(spec, context.place)
    argv = wrap(check.argv, spec.name, report_dir) if wrap else _without_results_of_go(check.argv, spec, context.place)
    command = Command(
        argv=argv,
        cwd=place,
        env=check.env,
        call_dir=call_dir,
        timeout_seconds=spec.timeout_seconds,
        cap_bytes=context.cap_bytes,
        lock_file=context.lock_file,
        wrapped=wrap is not None,
        memory_bytes=context.memory_bytes,
    )
    try:
        exit_record = run(command, stop=context.stop)
    except (ProgramMissing, ShimLost) as error:
        return error_report(spec, f"{error.what} {error.hint}")
    finally:
        evidence = collect_evidence(spec, context.place, report_dir, shown_before, call_dir / FOLDER)
        context.clean_output(call_dir)
    report = report_of(spec, check, exit_record, place=context.place, report_dir=report_dir, before=before)
    others = replaced_files(report_dir, context.place.files, spec.cwd)
    report = replace(report, evidence=evidence, replaced=others.by_stand_ins, shadowed=others.by_others)
    if check.report == "go" and not check.promised:
        _make_readable(exit_record.stdout)
        # A secret may be split over two events.
        context.clean_output(call_dir)
        report = replace(report, tail=tail_of(exit_record.stdout, exit_record.stderr))
    problem = _untested_problem(spec, context.place, report_dir, programs, maven)
    if not problem and (unreported_import := unreported_imports(spec, context.place, report_dir, env, report.tail)):
        problem = unreported_import, import_hint(is_confined=False)
    if problem:
        why, hint = problem
        unknown = error_report(spec, f"The tests do not test the change: {why}.", hint)
        return replace(
            unknown, tail=report.tail, output_path=report.output_path, seconds=report.seconds, evidence=evidence
        )
    return _from_root(report, context.place, spec.cwd) if spec.cwd else report


def _without_committed_cache(
    env: Mapping[str, str], spec: CheckSpec, files: Path, report_dir: Path
) -> Mapping[str, str]:
    """Variables that give pytest a new cache, if the tree has one: `--lf` would run only the tests that it names."""
    if not runs_tests(spec) or not any((files / base / ".pytest_cache").exists() for base in ("", spec.cwd)):
        return env
    if _switches_cache_off(spec, files) or "no:cacheprovider" in env.get("PYTEST_ADDOPTS", ""):
        return env  # pytest then does not know the option
    cache = shlex.quote(f"cache_dir={report_dir / 'pytest-cache'}")
    return {**env, "PYTEST_ADDOPTS": " ".join(filter(None, (env.get("PYTEST_ADDOPTS"), f"-o {cache}")))}


def _switches_cache_off(spec: CheckSpec, files: Path) -> bool:
    paths = dict.fromkeys(files / base / name for base in ("", spec.cwd) for name in PYTEST_SETTINGS)
    texts = (read_regular(path, longest=256 * 1024) or b"" for path in paths)
    return any(b"no:cacheprovider" in text for text in texts) or _sets_variable("no:cacheprovider", spec, files)


# Files that may set variables for the tests.
_SETS_VARIABLES = re.compile(
    r"(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|magefile\.go|\.env(?:rc|\..*)?|.*\.(?:mk|sh)"
)
_SCRIPT_FOLDERS = ("", "scripts", "script", "hack", "build", "ci", "tools", "tests", "test")


def _without_results_of_go(argv: tuple[str, ...], spec: CheckSpec, place: Placement) -> tuple[str, ...]:
    """The command; where the project sets GOFLAGS itself, after Go has dropped the results of earlier tests.

    The variable of checks (`-count=1`) does not count there, and without a sandbox all trees share Go's cache.
    """
    if not runs_tests(spec) or not _sets_variable("GOFLAGS", spec, place.files):
        return argv
    return ("/bin/sh", "-c", 'go clean -testcache >/dev/null 2>&1; exec "$@"', "sh", *argv)


def _sets_variable(variable: str, spec: CheckSpec, files: Path) -> bool:
    """True if the command, or a file that may set variables for the tests, names this one."""
    if variable in spec.words:
        return True
    for folder in dict.fromkeys(files / base / name for base in ("", spec.cwd) for name in _SCRIPT_FOLDERS):
        try:
            names = [entry.name for entry in os.scandir(folder) if _SETS_VARIABLES.fullmatch(entry.name)]
        except OSError:
            continue
        if any(variable.encode() in (read_regular(folder / name, longest=256 * 1024) or b"") for name in names):
            return True
    return False


def _untested_problem(
    spec: CheckSpec, place: Placement, report_dir: Path, programs: Mapping[str, CheckoutProgram], maven: _MavenModules
) -> tuple[str, str] | None:
    """What the tests imported or started instead of the tree, and a hint; None if nothing."""
    new_files = place.written_by(spec.name)
    if elsewhere := imported_elsewhere(report_dir, place.files, spec.cwd, place.path, new_files, place.checkout):
        return elsewhere, import_hint(is_confined=place.wrap is not None)
    if copy := _installed_copy(spec, place, maven):
        return copy, _COPY_HINT
    program = started_elsewhere(report_dir, programs)
    return program_problem(program, is_confined=place.wrap is not None) if program else None


def _make_readable(stdout: Path) -> None:
    """Replace the events of `go test -json` by its plain output, since burnish added the option."""
    plain = stdout.with_name("stdout-plain")
    with plain.open("w", encoding="utf-8", errors="replace") as file:
        file.writelines(plain_output(iterate_lines(stdout)))
    plain.replace(stdout)


def _in_folder(place: Placement, cwd: str) -> Path:
    """The working directory of a check; raises ValueError if the tree has no such folder."""
    if not cwd:
        return place.path
    folder = (place.files / cwd).resolve()
    if not folder.is_dir() or not folder.is_relative_to(place.files.resolve()):
        raise ValueError(f"The folder {cwd} does not exist in this commit.")
    return place.path / cwd


def _with_own_programs(env: Mapping[str, str], folder: Path, cwd: str) -> Mapping[str, str]:
    """The environment with the `.venv` of the check's folder before that of the root."""
    own = folder / ".venv" / "bin"
    return {**env, "PATH": f"{own}{os.pathsep}{env.get('PATH', os.defpath)}"} if cwd and own.is_dir() else env


def _from_root(report: CheckReport, place: Placement, cwd: str) -> CheckReport:
    """The report with paths relative to the repository instead of the check's folder."""

    def from_root(file: str | None) -> str | None:
        if file is None or (place.files / file).exists() or not (place.files / cwd / file).exists():
            return file
        return f"{cwd}/{file}"

    failures = tuple(replace(one, file=from_root(one.file)) for one in report.failures)
    remarks = tuple(replace(one, file=from_root(one.file)) for one in report.remarks)
    return replace(report, failures=failures, remarks=remarks)


# -- copies of Maven modules ----------------------------------------------------------------------
# Finds tests of Maven that use an installed copy of a module of the tree instead of its sources.
#
# A module outside of the reactor (`mvn -pl app test`, `cd app && mvn test`) comes from the local repository, where
# `mvn install` in the user's checkout left a copy. Reports of surefire and failsafe name the class path of the tests.

_MAVEN_REPORTS = (("target/surefire-reports", "target/failsafe-reports"), "TEST-")
_NO_POMS = frozenset(("node_modules", "target", "src"))
_CLASS_PATH = re.compile(rb"<property name=\"(?:surefire\.test|java)\.class\.path\" value=\"([^\"]*)\"")
_POM_BYTES = 1024 * 1024
# project/parent/groupId
_POM_LEVELS = 3
_REPORT_BYTES = 4 * 1024 * 1024

_COPY_HINT = (
    "Test the modules together (`mvn test` at the root, `mvn -pl app -am test`), or install the module in the test "
    "command"
)


@dataclass(frozen=True, slots=True)
class _MavenModules:
    """The modules of a tree as (group, artifact, version), and the reports that were there before the check."""

    modules: frozenset[tuple[str, str, str]] = frozenset()
    before: FileStats = field(default_factory=dict)
    started_at: float = 0.0


def _maven_modules(spec: CheckSpec, place: Placement, read: ReadFolder) -> _MavenModules:
    if place.checkout is None or spec.name == "origins" or not runs_tests(spec):
        return _MavenModules()
    modules = frozenset(_poms(place.files, read))
    return _MavenModules(modules, _maven_reports(spec, place) if modules else {}, time.time())


def _maven_reports(spec: CheckSpec, place: Placement) -> FileStats:
    return report_file_stats(place.written_by(spec.name), *_MAVEN_REPORTS)


def _poms(tree: Path, read: ReadFolder) -> Iterator[tuple[str, str, str]]:
    for folder, folders, files in walk_folders(tree, read):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_POMS]
        if "pom.xml" in files and (data := read_regular(Path(folder, "pom.xml"), longest=_POM_BYTES)):
            found = _pom_elements(data)
            group = found.get("project/groupId") or found.get("project/parent/groupId", "")
            version = found.get("project/version") or found.get("project/parent/version", "")
            if artifact := found.get("project/artifactId"):
                yield group, artifact, version


def _pom_elements(data: bytes) -> dict[str, str]:
    """The texts of the first levels of a POM by path; what comes before an error in the file, if it has one."""
    path: list[str] = []
    found: dict[str, str] = {}

    def start(name: str, _attributes: dict[str, str]) -> None:
        path.append(name)

    def end(_name: str) -> None:
        path.pop()

    def text(value: str) -> None:
        if len(path) <= _POM_LEVELS and value.strip():
            found.setdefault("/".join(path), value.strip())

    def doctype(*_: object) -> None:
        raise ValueError("entities can expand without limit")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, doctype
    with suppress(expat.ExpatError, ValueError, LookupError):
        parser.Parse(data, True)
    return found


def _installed_copy(spec: CheckSpec, place: Placement, maven: _MavenModules) -> str:
    """The copy of a module of the tree on the class path of the tests, as a problem; "" if there is none."""
    if not maven.modules:
        return ""
    now = _maven_reports(spec, place)
    for report in (path for path, stats in now.items() if maven.before.get(path) != stats):
        for jar in _class_path(report):
            module = next((one for one in maven.modules if _is_of(jar, one)), None)
            if module and _is_foreign_copy(Path(jar), spec.name, place, maven.started_at):
                group, artifact, _ = module
                return f"they use the installed copy of {group}:{artifact}, {jar}, instead of its sources"
    return ""


def _class_path(report: Path) -> list[str]:
    try:
        with report.open("rb") as file:
            found = _CLASS_PATH.findall(file.read(_REPORT_BYTES))
    except OSError:
        return []
    texts = [html.unescape(value.decode("utf-8", "replace")) for value in found]
    return list(dict.fromkeys(word for text in texts for word in text.split(os.pathsep) if word.endswith(".jar")))


def _is_of(jar: str, module: tuple[str, str, str]) -> bool:
    """True for `…/org/example/calc/1.0/calc-1.0.jar`. A version with a property can be any version."""
    group, artifact, version = module
    folder = "/" if "${" in group else f"/{group.replace('.', '/')}/"
    start = rf"{re.escape(folder)}{re.escape(artifact)}/"
    middle = r"[^/]+" if "${" in version or not version else re.escape(version)
    return re.search(rf"{start}{middle}/{re.escape(artifact)}-[^/]+\.jar$", jar) is not None


def _is_foreign_copy(jar: Path, check: str, place: Placement, started_at: float) -> bool:
    """False for a copy that was installed from this tree: by set-up, by the build or by the test command."""
    real = Path(os.path.realpath(jar))
    if real.is_relative_to(place.path.resolve()):
        return False  # a repository in the tree
    layers = [*place.home_written_by(check), *([place.home] if place.home else [])]
    for folder, layer in layers:
        if real.is_relative_to(folder) and os.path.lexists(layer / real.relative_to(folder)):
            return False
    try:
        return real.stat().st_mtime < (place.made_at or started_at)
    except OSError:
        return False
