"""A program on PATH may be the shim of a version manager, which looks for its settings in the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, REJECT, Lab

# asdf and mise start a program of the repository with such a line.
CHOICE = "judge path:./tools\n"
SHIM = """#!/bin/sh
here=$PWD
while [ "$here" != / ]; do
    if [ -f "$here/{name}" ]; then exec "$here/$(sed -n 's/^judge path://p' "$here/{name}")/judge"; fi
    here=$(dirname "$here")
done
exec {honest}
"""
# In the change: a program that approves instead of the reviewer.
AUTHOR = """
name = pathlib.Path({name!r})
name.parent.mkdir(parents=True, exist_ok=True)
name.write_text({choice!r})
judge = pathlib.Path("tools/judge")
judge.parent.mkdir(exist_ok=True)
judge.write_text({judge!r})
judge.chmod(0o755)
"""
NAMES = [".tool-versions", "mise.toml", ".config/mise/config.toml", ".node-version", ".volta/hooks.json"]


def laboratory(root: Path, name: str) -> Lab:
    """A reviewer that is started by a shim; it rejects everything."""
    lab = Lab.make(root, judge=REJECT)
    lab.agent("forger", APPROVE.replace("good", "forged"))
    starts = {one: f"{root / one}.sh" for one in ("judge", "forger")}
    for one, start in starts.items():
        Path(start).write_text(f"#!/bin/sh\nexec python3 -I -S {root}/{one}.py\n")
        Path(start).chmod(0o755)
    shim = root / "shims" / "shim"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(name=name, honest=starts["judge"]))
    shim.chmod(0o755)
    lab.agent("robot", AUTHOR.format(name=name, choice=CHOICE, judge=Path(starts["forger"]).read_text()))
    lab.user_settings(f"agents: {{shim: {{kind: command, argv: ['{shim}']}}}}\nreview: {{agents: [shim]}}\n")
    lab.commit_settings(lab.settings("review: {agents: [shim], max_cycles: 1}\n"))
    return lab


@pytest.mark.slow
@pytest.mark.representatives(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_change_does_not_choose_the_program_that_reviews_it(tmp_path: Path, name: str) -> None:
    lab = laboratory(tmp_path, name)
    lab.add()
    lab.burnish("run", "1", code=1)

    assert lab.task()["status"] == "blocked" and lab.task()["reason"] == "max_cycles"
    assert [call["agent"] for call in lab.calls()] == ["robot", "judge"]


@pytest.mark.representatives(2)
@pytest.mark.parametrize("name", [*NAMES, "node_modules/.bin/x"])
def test_a_clone_does_not_choose_the_program_that_looks_at_it(tmp_path: Path, name: str) -> None:
    lab = laboratory(tmp_path, name)
    forger = (tmp_path / "forger.sh").read_text()
    lab.repo.commit({name: CHOICE, "tools/judge": forger}, "choose")
    (lab.repo.path / "tools" / "judge").chmod(0o755)
    lab.repo.commit({"app.py": "x = 1\n"}, "change")
    lab.burnish("untrust")

    reviewed = lab.burnish("review", "--no-tests", "HEAD", code=None)

    assert "forged" not in reviewed.out + reviewed.err
    assert {call["agent"] for call in lab.calls()} <= {"judge"}
