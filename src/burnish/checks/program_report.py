"""Which programs of the user's checkout tests started by name: each such name leads to a script that reports it.

A program that is only installed harms nothing, so its presence stops no run. One that the test command installs again
(`go install ./... && go test ./...`) is the tree's, and is started.
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
    """The variables with which this check reports them, and the programs."""
    if place.checkout is None or spec.name == "origins" or not runs_tests(spec):
        return env, {}
    root, home = place.checkout.resolve(), Path(os.path.realpath(env.get("HOME", "/")))
    if home.is_relative_to(root):
        return env, {}  # every program of the user lies in such a checkout
    found = checkout_programs(env.get("PATH", os.defpath), root, go_project(place.files))
    # what leads to the path of the checkout leads to a tree that is mounted there
    mounted = place.path.resolve() == root
    chosen = {name: one for name, one in found.items() if _is_foreign(one, place, mounted=mounted)}
    if not chosen:
        return env, {}
    folder = report_dir / _FOLDER
    folder.mkdir()
    for name, one in chosen.items():
        script = folder / name
        script.write_text(_text(one, report_dir / _STARTED))
        script.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"}, chosen


def _is_foreign(one: CheckoutProgram, place: Placement, *, mounted: bool) -> bool:
    if not one.copied:
        return not mounted
    if place.home and one.place.is_relative_to(place.home[0]):
        # set-up may have installed it from this tree: then checks find that one
        own, left = place.home
        if os.path.lexists(left / one.place.relative_to(own)):
            return False
    try:
        # `checks.build` may have installed it from this tree
        return one.place.stat().st_mtime < place.made_at or place.made_at == 0
    except OSError:
        return False


def _text(one: CheckoutProgram, started: Path) -> str:
    words = {
        "name": one.name,
        "place": str(one.place),
        "real": os.path.realpath(one.place),
        "started": str(started),
        "message": f"{one.name}: {one.place} {one.reason}; it is not the program of the tree under test",
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


def program_problem(one: CheckoutProgram, *, confined: bool) -> tuple[str, str]:
    """What is wrong with a test that started it, and what to do."""
    what = f"they start {one.name} by name, which is {one.place}: it {one.reason}"
    if one.copied:
        hint = (
            "Have the tests build or start the program of the tree (`go run ./cmd/calc`, `cargo run`, `python -m "
            f"calc`), or have the test command or {'workspace.setup' if confined else 'checks.build'} install it"
        )
    else:
        hint = (
            "Have the tests start the program of the tree (`node cli.js`, `python -m calc`), or install bubblewrap: "
            "in a sandbox it leads to the tree"
        )
    return what, hint
