"""The parts of a review without a task that run programs: the tests, and the static reviewer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.checks.compare import compare
from burnish.checks.detect import detect
from burnish.checks.environment import check_environment
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.config.policy import checks_for
from burnish.config.settings import Config
from burnish.core.check import CheckReport, CheckStatus, Comparison
from burnish.core.policy import CheckSpec, Policy
from burnish.core.review import Review
from burnish.core.status import ErrorCode
from burnish.engine.hearing import Seat
from burnish.engine.subject import Subject
from burnish.errors import PhaseFailed
from burnish.git.adhoc import Pair
from burnish.git.checkout import throwaway
from burnish.git.project import Project
from burnish.git.reading import Contents, list_files, read_files
from burnish.proc.environment import path_outside
from burnish.proc.run import Stop
from burnish.wiring.confining import OPEN, Confinement
from burnish.wiring.helpers import wrapping
from burnish.wiring.roster import agent_settings
from burnish.wiring.surroundings import surroundings_of

# Unasked, tests may take this long: somebody waits for the review.
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Ground:
    """One review's place, and what it is done with."""

    project: Project
    place: Path
    home: Path
    config: Config
    policy: Policy
    stop: Stop
    # run code of the change? None: if it is what the user has checked out
    tests: bool | None
    say: Callable[[str], None]
    hear: Callable[[str], None] | None = None
    confinement: Confinement = OPEN
    # has a person accepted what the repository brings?
    trusted: bool = True

    def is_static(self, agent: str) -> bool:
        known = agent_settings(self.config).get(agent)
        return (known.kind if known else agent) == "static"

    def may_run(self, pair: Pair) -> bool:
        """Code that is not in the user's own checkout is run only if they say so."""
        return self.trusted and (self.tests if self.tests is not None else pair.checked_out)


@dataclass(frozen=True, slots=True)
class Tested:
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()


def run_tests(ground: Ground, pair: Pair) -> Tested:
    """The tests on the reviewed tree and, if some fail, on the one before. An AI reviewer gets them if asked for."""
    if not ground.tests and not any(ground.is_static(spec.agent) for spec in ground.policy.reviewers):
        return Tested()
    spec = test_spec(ground, pair)
    if spec is None:
        return Tested()
    ground.say(f"Running the tests ({spec.words}); --no-tests leaves them out")
    report = _run(ground, pair.new.sha, spec, "tests-now")
    if report.status is CheckStatus.ERROR:
        return Tested(notes=(f"The tests could not be run ({spec.words}): {report.error or report.tail[-200:]}",))
    before = _run(ground, pair.old.sha, spec, "tests-before") if report.status is CheckStatus.FAILED else None
    return Tested((compare(report, before),))


def test_spec(ground: Ground, pair: Pair) -> CheckSpec | None:
    if not ground.may_run(pair):
        return None
    files = list_files(ground.project, pair.new.sha)
    around = surroundings_of(ground.project.root)
    found = detect(files, lambda path: _decoded(read_files(ground.project, pair.new.sha, [path]).get(path)), around)
    specs = checks_for(ground.config, found, skip_tests=False)
    spec = next((spec for spec in specs if spec.name == "test"), None)
    if spec is None or ground.tests:
        return spec
    return replace(spec, timeout_seconds=min(spec.timeout_seconds, PATIENCE))


def _run(ground: Ground, commit: str, spec: CheckSpec, name: str) -> CheckReport:
    with throwaway(ground.project, commit, ground.place / "tests" / name) as files:
        env = check_environment(os.environ, places=(files, ground.project.root))
        (report,) = run_checks(
            [spec],
            place=Placement.plain(files, wrapping(ground.confinement, files, env)),
            out_dir=ground.place / "out" / name,
            env=env,
            stop=ground.stop,
            cap_bytes=int(ground.config.output_cap_mb * 1024 * 1024),
        )
    if ground.stop.requested:
        raise PhaseFailed(ErrorCode.INTERRUPTED, "The tests were stopped.")
    return report


def by_program(ground: Ground, pair: Pair, subject: Subject, files: Path, seat: Seat) -> Review | None:
    """The static reviewer answers without being asked over a pipe; others are left to be asked."""
    if not ground.is_static(seat.spec.agent):
        return None
    from burnish.wiring.static import static_review

    change = subject.change
    before = Contents(ground.project, pair.old.sha, [file.old_path or file.path for file in change.files])
    return static_review(
        change,
        files=files,
        out_dir=ground.place / "out" / seat.name,
        checkout=ground.project.root,
        base_text=lambda path: _decoded(before.get(path)),
        new_text=Contents(ground.project, pair.new.sha, change.paths).get,
        env=_environment(ground, pair, files),
        comparisons=subject.comparisons,
        test=test_spec(ground, pair),
        stop=ground.stop,
        tests_as_remarks=True,
        executing=ground.may_run(pair),
        own_settings=ground.trusted,
        confinement=ground.confinement,
    )


def _environment(ground: Ground, pair: Pair, files: Path) -> dict[str, str]:
    """Programs of the checkout are found only where its code may be run."""
    if ground.may_run(pair):
        return check_environment(os.environ, places=(files, ground.project.root))
    env = check_environment(os.environ)
    return env | {"PATH": path_outside(env["PATH"], files, ground.project.root)}


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
