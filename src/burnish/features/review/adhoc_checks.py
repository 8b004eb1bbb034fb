"""The parts of a review without a task that run programs: the tests, and the static reviewer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from burnish.adapters.checkout_files import detection_context
from burnish.adapters.checks.tree_checks import (
    CheckContext,
    TreeChecks,
    decode_text,
    found_commands,
    tests_are_automatic,
)
from burnish.adapters.configured_agents import agent_settings
from burnish.adapters.redaction import redact_folder, secrets_from_environment
from burnish.adapters.sandbox import OPEN, SandboxPolicy, known_projects
from burnish.checks.discover import find_checks
from burnish.checks.environment import check_environment
from burnish.checks.flakes import confirm_failures, flaky_failures, may_have_changing_names
from burnish.checks.guard.test_counts import is_skip
from burnish.checks.outcome import TIMED_OUT, error_report
from burnish.checks.run import run_checks
from burnish.checks.scan import needs_whole_tree
from burnish.checks.scanners.base import ScanContext
from burnish.checks.tools import BUILD, SETUP, FoundChecks
from burnish.config.policy import checks_for
from burnish.config.settings import Config
from burnish.core.change import Change
from burnish.core.check import (
    MAX_RERUN,
    CheckReport,
    CheckStatus,
    Comparison,
    about_change,
    compare,
    is_blamed,
    without_flaky,
)
from burnish.core.policy import CheckSpec, Policy, fill_isolation_env, is_test
from burnish.core.review import Review
from burnish.core.review_checks import (
    CheckState,
    ReviewedCheck,
    is_documentation,
    is_test_path,
    may_read_documents,
    reads_documents,
    reviewed_check,
)
from burnish.core.status import ErrorCode
from burnish.engine.panel_review import PanelSlot
from burnish.engine.ports import CheckedCommit
from burnish.engine.review_input import ReviewInput
from burnish.errors import PhaseFailed
from burnish.git.objects import Contents, list_files, read_files
from burnish.git.project import Project
from burnish.git.review_target import CommitRange
from burnish.proc.environment import path_outside
from burnish.proc.run import StopToken
from burnish.proc.slots import slot

# Unasked, tests may take this long: somebody waits for the review.
PATIENCE = 60.0
# At most this many files are searched for tests of the documentation.
MAX_READ = 500
ONLY_TESTS = "a review runs the tests alone; its static reviewer runs linters of its own"


@dataclass(frozen=True, slots=True)
class ReviewEnvironment:
    """One review's place, and what it is done with."""

    project: Project
    place: Path
    home: Path
    config: Config
    policy: Policy
    stop: StopToken
    # run code of the change? None: if it is what the user has checked out
    tests: bool | None
    say: Callable[[str], None]
    on_output: Callable[[str], None] | None = None
    confinement: SandboxPolicy = OPEN
    # has a person accepted what the repository brings?
    trusted: bool = True
    # its files as they were examined
    accepted_files: Mapping[str, str] = field(default_factory=dict)

    def is_static(self, agent: str) -> bool:
        settings = agent_settings(self.config).get(agent)
        return (settings.kind if settings else agent) == "static"

    def may_run(self, pair: CommitRange) -> bool:
        """Code that is not in the user's own checkout is run only if they say so."""
        return self.trusted and (self.tests if self.tests is not None else pair.checked_out)

    @property
    def may_run_checkout(self) -> bool:
        """Linters of a trusted checkout, with its own plug-ins and settings, may look at any commit."""
        return self.trusted and self.tests is not False


@dataclass(frozen=True, slots=True)
class TestOutcome:
    comparisons: tuple[Comparison, ...] = ()
    checks: tuple[ReviewedCheck, ...] = ()
    # on tests of the project that no check runs
    notes: tuple[str, ...] = ()
    specs: tuple[CheckSpec, ...] = ()


def run_tests(ground: ReviewEnvironment, pair: CommitRange, change: Change) -> TestOutcome:
    """The tests on the reviewed tree and, if some fail or are skipped, on the one before; and the other checks.

    In a repository with several parts, those of each part that the change touches.
    """
    configured_specs = checks_for(ground.config, (), skip_tests=False)
    others = tuple(_not_run(spec.name, spec, ONLY_TESTS) for spec in configured_specs if not is_test(spec.name))
    why = _why_not(ground, pair, change)
    found = FoundChecks() if why or not ground.may_run(pair) else _found_checks(ground, pair)
    specs = () if why else _test_specs(ground, pair, found)
    if not specs:
        parts = [
            _not_run(spec.name, spec, why) for spec in configured_specs if is_test(spec.name) and spec.name != "test"
        ]
        first = _not_run("test", None, why or "no test command is configured or found")
        return TestOutcome(checks=(first, *(parts if why else ()), *others))
    outcomes = [_run_test(ground, pair, change, spec) for spec in specs]
    comparisons = tuple(comparison for one in outcomes for comparison in one.comparisons)
    checks = (*(check for one in outcomes for check in one.checks), *others)
    notes = (unrun.note(folder) for folder, unrun in found.unrun_by((*specs, *configured_specs)))
    return TestOutcome(comparisons, checks, tuple(notes), specs)


def _run_test(ground: ReviewEnvironment, pair: CommitRange, change: Change, spec: CheckSpec) -> TestOutcome:
    if not spec.concerns(_changed_paths(change)):
        return TestOutcome(checks=(_not_run(spec.name, spec, f"no changed file under {', '.join(spec.paths)}"),))
    ground.say(f"Running the tests ({spec.words}); --no-tests leaves them out")
    comparison = about_change(_compared(ground, pair, change, spec), change)
    if not ground.tests and _took_too_long(comparison.report):
        if slower := _only_slow_now(ground, pair, spec, comparison.report):
            return slower
        why = f"it takes longer than {PATIENCE:g} seconds; --tests waits for it"
        return TestOutcome(checks=(_not_run(spec.name, spec, why),))
    check = reviewed_check(comparison)
    # what could not start says nothing about the change
    comparisons = () if check.state is CheckState.COULD_NOT_START else (comparison,)
    return TestOutcome(comparisons, (check,))


def _only_slow_now(
    ground: ReviewEnvironment, pair: CommitRange, spec: CheckSpec, report: CheckReport
) -> TestOutcome | None:
    """The outcome where the tests end in time before the change, and not with it: it may have made them hang."""
    try:
        with tree_of(review_trees(ground, pair), ground, spec, pair.old.sha, pair.old.sha, "before") as place:
            before = run_in(ground, place, spec, "tests-before")
    except PhaseFailed as failed:
        if failed.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
            raise
        return None
    if before.status is CheckStatus.ERROR:
        return None
    why = f"took longer than {PATIENCE:g} seconds, before the change {before.seconds:.0f}; --tests waits for it"
    check = ReviewedCheck(spec.name, spec.words, CheckState.NEW_FAILURES, why)
    return TestOutcome((compare(report, before),), (check,))


def _changed_paths(change: Change) -> set[str]:
    return {path for file in change.files for path in (file.path, file.old_path) if path}


def _not_run(name: str, spec: CheckSpec | None, why: str) -> ReviewedCheck:
    return ReviewedCheck(name, spec.words if spec else "", CheckState.NOT_RUN, why)


def _why_not(ground: ReviewEnvironment, pair: CommitRange, change: Change) -> str:
    """Why the tests do not run, "" if they do."""
    if ground.tests is False:
        return "--no-tests was given"
    if not ground.trusted:
        return "this repository is not trusted (burnish trust)"
    if ground.tests:
        return ""
    if is_documentation(change) and not _is_tested(ground, pair, change):
        return "the change touches documentation only"
    return "" if pair.checked_out else "this is not what is checked out; --tests runs it all the same"


def _is_tested(ground: ReviewEnvironment, pair: CommitRange, change: Change) -> bool:
    """True if tests read the changed documentation, e.g. as doctests. Looks at a limited number of files."""
    paths = [
        path for path in list_files(ground.project, pair.new.sha) if may_read_documents(path) or is_test_path(path)
    ]
    texts = read_files(ground.project, pair.new.sha, paths[:MAX_READ])
    return any(reads_documents(change, path, decode_text(data) or "") for path, data in texts.items())


def _took_too_long(report: CheckReport) -> bool:
    # its own clock starts later than the limit's
    return report.status is CheckStatus.ERROR and report.error.startswith(TIMED_OUT)


def _compared(ground: ReviewEnvironment, pair: CommitRange, change: Change, spec: CheckSpec) -> Comparison:
    """Failures that are new run again before the change is blamed for them."""
    trees = review_trees(ground, pair)
    try:
        # one tree at a time: without a sandbox they stand at the same path
        with tree_of(trees, ground, spec, pair.new.sha, pair.old.sha, "now") as place:
            report = run_in(ground, place, spec, "tests-now")
        if report.status is not CheckStatus.FAILED:
            return compare(report, _before_passing(ground, pair, change, spec, report))
        with tree_of(trees, ground, spec, pair.old.sha, pair.old.sha, "before") as place:
            before = run_in(ground, place, spec, "tests-before")
            if may_have_changing_names(report, before):
                before = confirm_failures(spec, before, partial(run_again, ground, place), root=place.files)
        suspects = [one for one in compare(report, before).new if not is_blamed(one, change)]
        if 0 < len(suspects) <= MAX_RERUN:
            with tree_of(trees, ground, spec, pair.new.sha, pair.old.sha, "again") as place:
                again = partial(run_again, ground, place)
                report = without_flaky(report, flaky_failures(spec, report, suspects, again, root=place.files))
    except PhaseFailed as failed:
        if failed.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
            raise
        return compare(error_report(spec, f"{failed.what} {failed.hint}"), None)
    return compare(report, before)


def _before_passing(
    ground: ReviewEnvironment, pair: CommitRange, change: Change, spec: CheckSpec, report: CheckReport
) -> CheckReport | None:
    """The same tests on the tree before, if some did not run now, or if the exit code may not show all failures.

    A skip that the change itself adds is in the diff, and the static reviewer reports it.
    """
    skips = report.status is CheckStatus.PASSED and report.counts and (report.counts.skipped or report.ran_no_tests)
    may_hide = report.counts is None or bool(report.failure_lines or report.retried)
    is_unsure = report.status is CheckStatus.PASSED and may_hide
    if not is_unsure and (not skips or _adds_skips(change)):
        return None
    try:
        with tree_of(review_trees(ground, pair), ground, spec, pair.old.sha, pair.old.sha, "before") as place:
            return run_in(ground, place, spec, "tests-before")
    except PhaseFailed as failed:
        if failed.code not in (ErrorCode.SETUP_FAILED, ErrorCode.CHECK_ERROR):
            raise
        return None


def _adds_skips(change: Change) -> bool:
    tests = (file for file in change.files if is_test_path(file.path))
    lines = (line for file in tests for hunk in file.hunks for line in hunk.text.split("\n")[1:])
    return any(line.startswith("+") and is_skip(line[1:]) for line in lines)


def review_trees(ground: ReviewEnvironment, pair: CommitRange) -> TreeChecks:
    """Environments are shared with the tasks of the same checkout; the trees are this review's own."""
    project = ground.project
    project_key = next((row.key for row in known_projects(ground.home) if row.common_dir == project.common_dir), None)
    key = project_key or f"review-{hashlib.sha256(os.fsencode(project.common_dir)).hexdigest()[:12]}"
    commands = cache(partial(found_commands, project))
    return TreeChecks(
        project=project,
        home=ground.home,
        key=key,
        sandbox=ground.confinement.require(),
        setup=ground.config.workspace.setup,
        build=ground.config.checks.build,
        found_setup=lambda commit: commands(commit).get(SETUP),
        # like the tests, as found in the reviewed tree
        found_build=lambda base: commands(pair.new.sha).get(BUILD),
        lock=lambda name: _locked(ground, name),
        automatic=tests_are_automatic(ground.config),
        place=ground.place / "tests",
        cap_bytes=int(ground.config.output_cap_mb * 1024 * 1024),
        note=ground.say,
        copies=tuple(ground.config.workspace.copies),
        isolation_env=ground.config.isolation.env,
        setup_credentials=ground.config.workspace.setup_credentials,
    )


@contextmanager
def _locked(ground: ReviewEnvironment, name: str) -> Iterator[None]:
    with slot(ground.home / "locks", name, 1, ground.stop):
        yield


def tree_of(
    trees: TreeChecks, ground: ReviewEnvironment, spec: CheckSpec, commit: str, base: str, label: str
) -> AbstractContextManager[CheckContext]:
    out_dir = ground.place / "out" / f"setup-{label}"
    tree = CheckedCommit(commit, base, label)
    return trees.on([spec], tree, out_dir=out_dir, env=_isolation_env(ground), stop=ground.stop)


def _isolation_env(ground: ReviewEnvironment) -> dict[str, str]:
    return fill_isolation_env(ground.config.isolation.env.items(), task="review", agent="review", cycle=0)


def _found_checks(ground: ReviewEnvironment, pair: CommitRange) -> FoundChecks:
    """What is found in the reviewed tree."""
    files = list_files(ground.project, pair.new.sha)
    around = detection_context(ground.project.root)
    return find_checks(
        files, lambda path: decode_text(read_files(ground.project, pair.new.sha, [path]).get(path)), around
    )


def _test_specs(ground: ReviewEnvironment, pair: CommitRange, found: FoundChecks) -> tuple[CheckSpec, ...]:
    """What is configured, or found in the reviewed tree."""
    if not ground.may_run(pair):
        return ()
    specs = tuple(spec for spec in checks_for(ground.config, found.specs, skip_tests=False) if is_test(spec.name))
    if ground.tests:
        return specs
    return tuple(replace(spec, timeout_seconds=min(spec.timeout_seconds, PATIENCE)) for spec in specs)


def run_in(ground: ReviewEnvironment, place: CheckContext, spec: CheckSpec, name: str) -> CheckReport:
    if place.failure:
        return error_report(spec, place.failure)
    env = place.variables(_isolation_env(ground))
    (report,) = run_checks(
        [spec],
        place=place.placement(env),
        out_dir=ground.place / "out" / name / spec.name,
        env=env,
        stop=ground.stop,
        cap_bytes=int(ground.config.output_cap_mb * 1024 * 1024),
        clean_output=partial(redact_folder, secrets=secrets_from_environment()),
    )
    if ground.stop.requested:
        raise PhaseFailed(ErrorCode.INTERRUPTED, "The tests were stopped.")
    return report


def run_again(ground: ReviewEnvironment, place: CheckContext, spec: CheckSpec, label: str) -> CheckReport:
    place.reset()
    return run_in(ground, place, spec, f"tests-{label}")


@dataclass(frozen=True, slots=True)
class ReviewedFiles:
    """Where the reviewed files lie, and whether all of them do."""

    path: Path
    whole_tree: bool


def wants_whole_tree(
    ground: ReviewEnvironment, pair: CommitRange, change: Change, comparisons: tuple[Comparison, ...]
) -> bool:
    """Only `static` can do with the changed files, and only if it starts nothing that looks beyond them."""
    if comparisons or not all(ground.is_static(one.agent) for one in ground.policy.reviewers):
        return True
    nowhere = ground.place / "files"
    tools = ScanContext(
        nowhere,
        nowhere,
        ground.project.root,
        _environment(ground, pair, nowhere),
        base_text=lambda path: None,
        is_test=lambda path: False,
    )
    return needs_whole_tree(tools, change.paths, executing=ground.may_run(pair), from_checkout=ground.may_run_checkout)


def by_program(
    ground: ReviewEnvironment, pair: CommitRange, subject: ReviewInput, files: ReviewedFiles, seat: PanelSlot
) -> Review | None:
    """The static reviewer answers without being asked over a pipe; others are left to be asked."""
    if not ground.is_static(seat.spec.agent):
        return None
    from burnish.adapters.static_reviewer import static_review

    change = subject.change
    before = Contents(ground.project, pair.old.sha, [file.old_path or file.path for file in change.files])
    return static_review(
        change,
        files=files.path,
        out_dir=ground.place / "out" / seat.name,
        checkout=ground.project.root,
        base_text=lambda path: decode_text(before.get(path)),
        new_text=Contents(ground.project, pair.new.sha, change.paths).get,
        env=_environment(ground, pair, files.path),
        comparisons=subject.comparisons,
        test=_measured_test(ground, pair) if files.whole_tree else None,
        stop=ground.stop,
        tests_as_remarks=True,
        executing=ground.may_run(pair),
        from_checkout=ground.may_run_checkout,
        own_settings=ground.trusted,
        whole_tree=files.whole_tree,
        lost_tests=True,
        confinement=ground.confinement,
    )


def _measured_test(ground: ReviewEnvironment, pair: CommitRange) -> CheckSpec | None:
    if not ground.may_run(pair):
        return None
    specs = _test_specs(ground, pair, _found_checks(ground, pair))
    return next((spec for spec in specs if spec.name == "test"), None)


def _environment(ground: ReviewEnvironment, pair: CommitRange, files: Path) -> dict[str, str]:
    """Programs of the checkout are found only where its code may be run."""
    if ground.may_run(pair):
        return check_environment(os.environ, roots=(files, ground.project.root), extra=_isolation_env(ground))
    env = check_environment(os.environ)
    return env | {"PATH": path_outside(env["PATH"], files, ground.project.root)}
