"""On a terminal: the pager, plain words, and what Tab offers."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.cli import complete
from burnish.cli.inspect import toned
from burnish.cli.main import build, main
from burnish.cli.output import is_plain, mark, spoken
from burnish.cli.pager import program
from testing.userrepo import UserRepo

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def on_terminal(*argv: str, env: dict[str, str], cwd: Path | None = None) -> tuple[str, int]:
    """What a terminal shows of a command line, and its exit code."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "burnish.cli", *argv],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", **env},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # Linux says so when the last writer is gone
            break
        if not data:
            break
        shown += data
    os.close(master)
    return shown.decode().replace("\r\n", "\n"), process.wait()


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that says who it is, then shows what it got."""
    script = tmp_path / "pager"
    script.write_text('#!/bin/sh\necho "paged, LESS=$LESS"\nexec cat\n')
    script.chmod(0o755)
    return str(script)


def test_long_texts_go_through_the_pager_on_a_terminal_only(pager: str) -> None:
    shown, code = on_terminal("config", "reference", env={"PAGER": pager})
    assert code == 0 and shown.startswith("paged, LESS=FRX\n# Every setting")
    done = subprocess.run(
        [sys.executable, "-m", "burnish.cli", "config", "reference"],
        env={**os.environ, "PAGER": pager},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("# Every setting")


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "env", [{"BURNISH_PAGER": "cat"}, {"BURNISH_PAGER": ""}, {"BURNISH_PLAIN": "1"}, {"TERM": "dumb"}]
)
def test_the_pager_can_be_switched_off(env: dict[str, str], pager: str) -> None:
    shown, _ = on_terminal("config", "reference", env={"PAGER": pager, **env})
    assert shown.startswith("# Every setting")


@pytest.mark.long
def test_a_reader_who_leaves_the_pager_early_is_not_complained_about(tmp_path: Path) -> None:
    script = tmp_path / "pager"
    script.write_text("#!/bin/sh\nhead -n 1\n")
    script.chmod(0o755)
    shown, code = on_terminal("config", "show", env={"PAGER": str(script)})
    assert code == 0 and len(shown.splitlines()) == 1


def test_a_pager_that_is_not_there_is_done_without(monkeypatch: Patch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("no-such-pager", "'open quote", "  "):
        monkeypatch.setenv("PAGER", name)
        assert program() is None
    monkeypatch.setenv("PAGER", "sh -c 'cat'")
    assert program() == [shutil.which("sh"), "-c", "cat"]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("form", ["by path", "relative", "by name"])
@pytest.mark.parametrize("argv", [["config", "reference"], ["config", "show"]], ids=" ".join)
def test_a_pager_in_an_untrusted_checkout_is_not_started(tmp_path: Path, form: str, argv: list[str]) -> None:
    repo = UserRepo.make(tmp_path / "clone")
    script = repo.path / "bin" / "pager-of-a-test"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho paged by the clone\nexec cat\n")
    script.chmod(0o755)
    names = {"by path": str(script), "relative": "./bin/pager-of-a-test", "by name": "pager-of-a-test"}
    path = os.pathsep.join((str(script.parent), os.environ["PATH"]))

    shown, code = on_terminal(*argv, env={"PAGER": names[form], "PATH": path}, cwd=repo.path)

    assert code == 0 and "paged by the clone" not in shown
    assert ("not trusted" in shown) == (form != "by name")

    subprocess.run([sys.executable, "-m", "burnish.cli", "trust"], cwd=repo.path, capture_output=True, check=True)
    shown, _ = on_terminal(*argv, env={"PAGER": names[form], "PATH": path}, cwd=repo.path)
    assert shown.startswith("paged by the clone") == (form != "by name")


def test_a_patch_is_coloured_by_what_its_lines_are() -> None:
    lines = [
        "diff --git a/x b/x",
        "--- a/x",
        "+++ b/x",
        "@@ -1,2 +1,2 @@",
        " same",
        "--- lost",
        "+++ won",
        "diff --git a/y b/y",
    ]
    tones = [tone for _, tone in toned(lines)]
    assert tones == ["bold", "bold", "bold", "cyan", "", "red", "green", "bold"]


def test_plain_output_is_words(user_repo: UserRepo, capsys: Capture, monkeypatch: Patch) -> None:
    at = ["-C", str(user_repo.path)]
    assert main([*at, "add", "Say → and …"]) == 0
    capsys.readouterr()
    for argv in ([*at, "status", "--plain"], [*at, "--plain", "status"]):
        assert main(argv) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first.split()[:2] == ["waiting", "1"] and first.isascii()
    assert main([*at, "status"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split()[:2] == ["·", "1"]
    monkeypatch.setenv("BURNISH_PLAIN", "1")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main([*at, "status"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_plain_is_off_unless_it_is_asked_for(monkeypatch: Patch) -> None:
    assert (is_plain(), mark("✓"), spoken("a → b…")) == (False, "✓", "a → b…")
    monkeypatch.setenv("BURNISH_PLAIN", "0")
    assert not is_plain()
    monkeypatch.setenv("BURNISH_PLAIN", "1")
    assert (mark("✓"), mark("!"), spoken("a → b…")) == ("ok", "attention", "a to b...")


def test_nothing_redraws_itself_when_plain() -> None:
    from burnish.cli.progress import PlainProgress, watcher

    assert type(watcher(several=False, quiet=False, verbose=False)) is PlainProgress


def offered(words: str, *, cwd: Path) -> list[str]:
    asked = {"_BURNISH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "burnish.cli"],
        cwd=cwd,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_the_shell_is_offered_the_tasks_of_the_place_that_is_meant(user_repo: UserRepo, tmp_path: Path) -> None:
    for title in ("One", "Two"):
        assert main(["-C", str(user_repo.path), "add", title]) == 0
    assert main(["-C", str(user_repo.path), "cancel", "1"]) == 0
    assert offered("burnish show ", cwd=user_repo.path) == ["2", "1"]
    assert offered(f"burnish -C {user_repo.path} diff T2", cwd=tmp_path) == ["T2"]
    assert offered("burnish show ", cwd=tmp_path) == []


@pytest.mark.representatives(3)
@pytest.mark.parametrize("verb", ["show", "diff", "run", "open", "log", "edit", "events", "path", "cancel", "done"])
def test_every_verb_that_takes_a_task_offers_them(verb: str, user_repo: UserRepo, monkeypatch: Patch) -> None:
    monkeypatch.chdir(user_repo.path)
    assert main(["add", "One"]) == 0
    command = build(verb).commands[verb]
    (argument,) = (param for param in command.params if param.metavar == "TASK")
    context = command.make_context(verb, [], resilient_parsing=True)
    assert [item.value for item in argument.shell_complete(context, "")] == ["1"]


def test_tab_knows_the_projects_and_makes_no_home(user_repo: UserRepo, hermetic: Path, capsys: Capture) -> None:
    assert complete.projects("") == complete.tasks("") == []
    assert not (hermetic / "burnish").exists()
    assert main(["-C", str(user_repo.path), "init"]) == 0
    ((key, root),) = complete.projects("re")
    assert key.startswith("repo-") and root == str(user_repo.path)
    assert complete.projects("x") == []
