"""Promise 21: looking at a repository starts nothing of it and reads nothing outside. Clones × commands, counted."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from burnish.cli.main import main
from testing.attack_counts import CountAttacks
from testing.clones import CANARY, CLONES, Trap, linked_prompts, make_clone, make_trap
from testing.userrepo import UserRepo

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
# The user's own reviewer, outside of the clone: keeps what it is given and what it sees.
READER = """
import json, os, pathlib, re, sys
prompt = sys.stdin.read()
seen = [prompt]
for here, _, names in os.walk("."):
    for name in names:
        path = os.path.join(here, name)
        if not path.startswith("./.git/"):
            seen.append(path + "\\n" + pathlib.Path(path).read_text("utf-8", "replace"))
pathlib.Path(sys.argv[1]).write_text("\\n".join(seen))
number = re.search(r"burnish-verdict[ \\t]+([0-9a-zA-Z_-]{6,})", prompt)[1]
reply = {"verdict": "approved", "summary": "s", "inspected": ["app.py"], "findings": [], "prior": [], "compliance": []}
print("```burnish-verdict " + number + "\\n" + json.dumps(reply) + "\\n```")
"""
LOOKS = (
    ["status"], ["list"], ["show", "1"], ["log", "1"], ["events"], ["inbox"], ["findings", "1"], ["stats"], ["cost"],
    ["projects"], ["add", "Another"], ["edit", "1", "--title", "Other"], ["run", "--dry-run"], ["clean", "--dry-run"],
    ["config", "show"], ["config", "path"], ["trust", "--show"], ["trust", "--show", "--json"],
    ["prompts", "list"], ["prompts", "show", "review.system"], ["prompts", "show", "fix.template"],
    ["doctor"], ["doctor", "--json"], ["doctor", "--probe"], ["init", "--dry-run"], ["init", "--dry-run", "--slash"],
    ["review", "--no-tests", "--agent", "static"], ["review", "--no-tests", "--agent", "static", "HEAD"],
    ["review", "--no-tests", "--agent", "reader"],
)  # fmt: skip
REFUSED = (
    ["run"], ["run", "1"], ["run", "--all"], ["retry", "1"], ["improve", "1"], ["review"], ["review", "HEAD"],
    ["review", "--tests"], ["review", "--agent", "static"], ["review", "1"], ["prompts", "render", "1"],
    ["handoff", "1"], ["merge", "1"],
)  # fmt: skip
LAST = (["init"], ["init", "--slash", "--force"])
SHORT = (
    ["config", "show"], ["trust", "--show"], ["prompts", "show", "review.system"], ["doctor"], ["doctor", "--probe"],
    ["review", "--no-tests", "--agent", "static"], ["review", "--no-tests", "--agent", "reader"], ["review"], ["run"],
    ["init", "--dry-run"], ["init"],
)  # fmt: skip


class Watch:
    """Files that this process opens in a forbidden folder. An audit hook cannot be removed, only be quiet."""

    def __init__(self) -> None:
        self.forbidden: Path | None = None
        self.opened: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self.forbidden is None or event != "open" or not isinstance(args[0], str | bytes):
            return
        # not `Path`: this runs inside of every open
        name = os.path.realpath(os.fsdecode(args[0]))
        if name.startswith(f"{self.forbidden}{os.sep}"):
            self.opened.append(name)

    @contextlib.contextmanager
    def over(self, forbidden: Path) -> Iterator[None]:
        self.forbidden, self.opened = forbidden.resolve(), []
        try:
            yield
        finally:
            self.forbidden = None


WATCH = Watch()


def types(repo: UserRepo, *argv: str) -> tuple[int, str]:
    """As a person who stands in the clone, without a terminal, and with a careless PATH."""
    # direnv and `activate` write absolute entries
    inside = (".", ".venv/bin", str(repo.path / ".venv" / "bin"), str(repo.path))
    careless = {"PATH": os.pathsep.join((*inside, os.environ["PATH"]))}
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace")
    before = Path.cwd()
    os.chdir(repo.path)
    try:
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(out)
        with mock.patch.dict(os.environ, careless), streams[0], streams[1]:
            code = main(list(argv))
    finally:
        os.chdir(before)
    out.flush()
    return code, out.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]


@pytest.fixture
def environment(tmp_path: Path, hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings, with a reviewer of their own."""
    script, seen = tmp_path / "reader.py", tmp_path / "seen"
    script.write_text(READER)
    own = hermetic / ".config" / "burnish" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(f"agents: {{reader: {{kind: command, argv: ['{sys.executable}', '{script}', '{seen}']}}}}\n")
    monkeypatch.setenv("BURNISH__SANDBOX__MODE", "off")  # what is promised must hold without one
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    return seen


def leaked(text: str, home: Path, seen: Path) -> bool:
    """Is the canary in what was printed, in what burnish keeps, or in what the reviewer saw?"""
    if CANARY in text or (seen.exists() and CANARY in seen.read_text()):
        return True
    files = (path for path in home.rglob("*") if path.is_file())
    return any(CANARY.encode() in path.read_bytes() for path in files)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("build", CLONES, ids=lambda build: build.__name__)
def test_nothing_of_a_hostile_clone_is_started_and_nothing_outside_is_read(
    tmp_path: Path,
    hermetic: Path,
    environment: Path,
    build: Callable[[UserRepo, Trap], None],
    count_attacks: CountAttacks,
) -> None:
    trap = make_trap(tmp_path / "trap")
    repo = make_clone(tmp_path / "clone", trap, build)
    types(repo, "add", "A task")
    tried, bad = 0, []
    for argv in (*LOOKS, *REFUSED, *LAST) if TORTURE else SHORT:
        environment.unlink(missing_ok=True)
        with WATCH.over(trap.outside):
            code, text = types(repo, *argv)
        tried += 1
        if trap.started() or WATCH.opened or leaked(text, hermetic / "burnish", environment):
            bad.append((argv, trap.started(), WATCH.opened, text[-300:]))
            for mark in trap.marks.iterdir():
                mark.unlink()
        if argv in REFUSED:
            # settings that cannot be read are said first, and some tasks are refused for what they are
            assert code in (2, 4), (argv, code, text)
        assert "bug in burnish" not in text, (argv, text)
    count_attacks("have a look start or read something", tried, len(bad))
    assert bad == []


@pytest.mark.parametrize("build", [settings for settings in CLONES if settings.__name__ == "settings_in_yaml"])
def test_the_control_a_trusted_repository_does_start(
    tmp_path: Path, environment: Path, build: Callable[[UserRepo, Trap], None]
) -> None:
    trap = make_trap(tmp_path / "trap")
    repo = make_clone(tmp_path / "clone", trap, build)
    assert types(repo, "trust")[0] == 0
    types(repo, "review")
    assert "tools_evil.sh" in trap.started()


def test_the_control_a_link_of_a_trusted_repository_is_followed(tmp_path: Path, environment: Path) -> None:
    trap = make_trap(tmp_path / "trap")
    repo = make_clone(tmp_path / "clone", trap, linked_prompts)
    assert types(repo, "trust")[0] == 0
    with WATCH.over(trap.outside):
        _, text = types(repo, "prompts", "show", "review.system")
    assert CANARY in text and WATCH.opened == [str(trap.secret)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["python_hooks", "committed_environment"])
def test_the_control_tests_of_a_trusted_repository_run(tmp_path: Path, environment: Path, name: str) -> None:
    trap = make_trap(tmp_path / "trap")
    repo = make_clone(tmp_path / "clone", trap, next(build for build in CLONES if build.__name__ == name))
    types(repo, "trust")
    with mock.patch.dict(os.environ, {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}):
        types(repo, "review", "--agent", "static")
    assert trap.started()


@pytest.mark.long
def test_a_trusted_repository_is_not_started_by_a_look_either(tmp_path: Path, environment: Path) -> None:
    """`doctor`, `init` and `review --no-tests` start nothing of the checkout, trusted or not."""
    trap = make_trap(tmp_path / "trap")
    repo = make_clone(tmp_path / "clone", trap, CLONES[0])
    assert types(repo, "trust")[0] == 0
    for argv in (
        ["doctor"],
        ["init", "--dry-run"],
        ["init"],
        ["status"],
        ["review", "--no-tests", "--agent", "static"],
    ):
        types(repo, *argv)
        assert trap.started() == [], argv
