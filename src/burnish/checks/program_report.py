"""Detects tests that start a program of the user's checkout: a script in its place on PATH reports the start.

An installed program that no test starts does no harm, so it does not stop a run. A program that the test command
installs again (`go install ./... && go test ./...`) belongs to the tree and is started.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from burnish.checks.checkout_programs import CheckoutProgram, checkout_programs, go_project
from burnish.checks.import_origins import runs_tests
from burnish.checks.placement import Placement
from burnish.core.policy import CheckSpec

_FOLDER, _STARTED = "programs", "started"
_SCRIPT = """#!/bin/sh
# written by burnish for this check
if [ {place} -nt "$0" ] || [ "$(readlink -f -- {place})" != {real} ]; then exec {place} "$@"; fi
echo {name} >> {started}
echo {message} >&2
exit 127
"""


def with_program_report(
    spec: CheckSpec, place: Placement, report_dir: Path, env: Mapping[str, str]
) -> tuple[Mapping[str, str], dict[str, CheckoutProgram]]:
    """The environment in which this check reports such starts, and the programs."""
    if place.checkout is None or spec.name == "origins" or not runs_tests(spec):
        return env, {}
    root, home = place.checkout.resolve(), Path(os.path.realpath(env.get("HOME", "/")))
    if home.is_relative_to(root):
        return env, {}  # the home is inside the checkout, so all of the user's programs are
    programs = checkout_programs(env.get("PATH", os.defpath), root, go_project(place.files))
    # If the tree is mounted at the checkout's path, links to the checkout lead to the tree.
    is_mounted = place.path.resolve() == root
    foreign_programs = {
        name: program for name, program in programs.items() if _is_foreign(program, place, is_mounted=is_mounted)
    }
    if not foreign_programs:
        return env, {}
    folder = report_dir / _FOLDER
    folder.mkdir()
    for name, program in foreign_programs.items():
        script = folder / name
        script.write_text(_text(program, report_dir / _STARTED))
        script.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"}, foreign_programs


def _is_foreign(program: CheckoutProgram, place: Placement, *, is_mounted: bool) -> bool:
    if not program.copied:
        return not is_mounted
    if place.home and program.place.is_relative_to(place.home[0]):
        # Set-up may have installed it from this tree; then checks find that copy.
        home, home_layer = place.home
        if os.path.lexists(home_layer / program.place.relative_to(home)):
            return False
    try:
        # `checks.build` may have installed it from this tree
        return program.place.stat().st_mtime < place.made_at or place.made_at == 0
    except OSError:
        return False


def _text(program: CheckoutProgram, started_file: Path) -> str:
    words = {
        "name": program.name,
        "place": str(program.place),
        "real": os.path.realpath(program.place),
        "started": str(started_file),
        "message": f"{program.name}: {program.place} {program.reason}; it is not the program of the tree under test",
    }
    return _SCRIPT.format(**{key: shlex.quote(value) for key, value in words.items()})


def started_elsewhere(report_dir: Path, programs: Mapping[str, CheckoutProgram]) -> CheckoutProgram | None:
    """The first program of the checkout that was started."""
    if not programs:
        return None
    try:
        names = (report_dir / _STARTED).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((programs[name] for name in names if name in programs), None)


def program_problem(program: CheckoutProgram, *, is_confined: bool) -> tuple[str, str]:
    """The problem with tests that started it, and the hint."""
    problem = f"they start {program.name}, which is {program.place}: it {program.reason}"
    if program.copied:
        hint = (
            "Build or start the tree's program in the tests (`go run ./cmd/calc`, `cargo run`, `python -m "
            f"calc`), or install it in the test command or in {'workspace.setup' if is_confined else 'checks.build'}"
        )
    else:
        hint = (
            "Start the tree's program in the tests (`node cli.js`, `python -m calc`), or install bubblewrap: "
            "in a sandbox the name leads to the tree"
        )
    return problem, hint
