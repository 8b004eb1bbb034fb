"""Programs that burnish starts for itself are never taken from a checkout, however that got on PATH."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from burnish.agents.program import located
from burnish.git.discovery import discover
from burnish.proc.own_programs import (
    find_agent_program,
    find_own_program,
    own_path,
    record_checkout,
    untrusted_argument,
)
from burnish.proc.run import ProgramMissing
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.userrepo import UserRepo


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a folder of its own first on PATH."""
    repo = UserRepo.make(tmp_path / "repo")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    root = repo.path
    UserRepo.make(root / "vendor" / "library")
    for name in ("git", "bwrap", "tool-of-a-test"):
        program(root / "bin" / name)
    monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return root


def test_a_program_in_a_checkout_is_not_found_once_the_checkout_was_looked_at(checkout: Path) -> None:
    assert find_own_program("tool-of-a-test") == str(checkout / "bin" / "tool-of-a-test")

    discover(checkout / "bin")

    assert find_own_program("tool-of-a-test") is None
    assert str(checkout) not in own_path()
    assert not str(find_own_program("git")).startswith(str(checkout))


@pytest.mark.parametrize("name", [".asdf/shims", ".volta/bin", ".local/share/aquaproj-aqua/bin", "own-volta/bin"])
def test_the_shim_of_a_version_manager_is_the_last_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In a checkout a shim may start a program of the checkout."""
    shims, other = tmp_path / name, tmp_path / "bin"
    monkeypatch.setenv("VOLTA_HOME", str(tmp_path / "own-volta"))
    for folder in (shims, other):
        program(folder / "tool-of-a-test")
    program(shims / "another-tool-of-a-test")
    monkeypatch.setenv("PATH", f"{shims}/{os.pathsep}{other}")

    assert find_own_program("tool-of-a-test") == str(other / "tool-of-a-test")
    assert find_own_program("another-tool-of-a-test") == str(shims / "another-tool-of-a-test")
    # agents are chosen by the order of PATH
    assert find_agent_program("tool-of-a-test") == str(shims / "tool-of-a-test")


@pytest.mark.parametrize("kind", ["linked folder", "linked program", "link that leads out"])
def test_a_link_does_not_hide_that_a_program_lies_in_the_checkout(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    discover(checkout)
    entry = tmp_path / "outside"
    if kind == "linked folder":
        entry.symlink_to(checkout / "bin")
    elif kind == "linked program":
        entry.mkdir()
        (entry / "tool-of-a-test").symlink_to(checkout / "bin" / "tool-of-a-test")
    else:
        program(entry / "tool-of-a-test")
        (checkout / "link").symlink_to(entry)
        entry = checkout / "link"
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{os.environ['PATH']}")

    assert find_own_program("tool-of-a-test") is None


def test_the_main_checkout_of_a_linked_one_is_left_out_too(checkout: Path, tmp_path: Path) -> None:
    discover(tmp_path / "linked")

    assert find_own_program("tool-of-a-test") is None


@pytest.mark.parametrize("how", ["looked at", "working directory"])
def test_a_checkout_around_a_submodule_is_left_out_too(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    inner = checkout / "vendor" / "library"
    if how == "looked at":
        discover(inner)
    else:
        monkeypatch.chdir(inner)

    assert find_own_program("tool-of-a-test") is None
    assert find_agent_program("tool-of-a-test") is None
    assert str(checkout) not in own_path()


def test_a_repository_of_dotfiles_around_the_home_hides_no_program(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(checkout))
    discover(checkout / "vendor" / "library")

    assert find_own_program("tool-of-a-test") == str(checkout / "bin" / "tool-of-a-test")


def test_an_agent_is_found_in_a_trusted_checkout_alone(checkout: Path) -> None:
    discover(checkout)
    assert find_agent_program("tool-of-a-test") is None

    record_checkout(checkout, trusted=True)
    discover(checkout)

    assert find_agent_program("tool-of-a-test") == str(checkout / "bin" / "tool-of-a-test")
    assert find_own_program("tool-of-a-test") is None


def test_the_sandbox_is_never_a_program_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    needs_bubblewrap()
    discover(checkout)
    box = Sandbox(tmp_path / "home", checkout, tmp_path / "home" / "burnish")

    argv = box.around(("true",), env={"PATH": os.environ["PATH"]}, writable=())

    assert not argv[0].startswith(str(checkout))


@pytest.mark.parametrize("form", ["absolute", "relative", "linked program", "link that leads out"])
def test_a_path_into_an_untrusted_checkout_is_not_found(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    path = checkout / "bin" / "tool-of-a-test"
    if form == "linked program":
        (tmp_path / "outside").symlink_to(path)
        path = tmp_path / "outside"
    elif form == "link that leads out":
        (checkout / "link").symlink_to(program(tmp_path / "elsewhere" / "tool"))
        path = checkout / "link"
    monkeypatch.chdir(checkout / "bin")
    name = "./tool-of-a-test" if form == "relative" else str(path)
    discover(checkout)

    assert find_own_program(name) is None
    assert find_agent_program(name) is None
    with pytest.raises(ProgramMissing, match="not trusted"):
        located((name,))

    record_checkout(checkout, trusted=True)

    assert find_own_program(name) == name
    assert located((name,)) == str(Path(name).absolute())


def test_the_checkout_around_the_working_directory_counts_before_any_command_looked_at_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout / "bin")

    assert find_own_program("tool-of-a-test") is None
    assert find_own_program(str(checkout / "bin" / "tool-of-a-test")) is None


def test_the_interpreter_of_burnish_may_lie_in_a_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discover(checkout)
    monkeypatch.setattr("sys.executable", str(checkout / "bin" / "tool-of-a-test"))

    assert located((sys.executable, "-m", "burnish")) == sys.executable


def test_the_cost_of_the_path_does_not_grow_with_the_checkouts_that_were_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server has many projects, and every call of git asks for the path."""
    entries = [tmp_path / "bin", tmp_path / "checkout-7" / "bin", Path("/usr/bin")]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, entries)))
    for number in range(200):
        record_checkout(tmp_path / f"checkout-{number}")
    looked_at: list[object] = []
    real = os.path.realpath
    monkeypatch.setattr(os.path, "realpath", lambda path, **options: looked_at.append(path) or real(path, **options))
    assert own_path() == os.pathsep.join([str(tmp_path / "bin"), "/usr/bin"])
    assert len(looked_at) <= len(entries)


@pytest.mark.parametrize(
    "words",
    [
        *(["vim", "-u", "./vimrc"], ["vim", "-u./vimrc"], ["vim", "-u", "vimrc"], ["less", "--lesskey-src=vimrc"]),
        *(["sh", "-c", 'exec ./vimrc "$@"'], ["sh", "-c", "cat|vimrc"], ["env", "A=./vimrc", "less"]),
    ],
)
def test_an_argument_that_names_a_file_of_an_untrusted_checkout_is_found(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (checkout / "vimrc").write_text("")
    monkeypatch.chdir(checkout)
    discover(checkout)
    assert untrusted_argument(words) == next(word for word in words if "vimrc" in word)
    assert untrusted_argument(["less", str(checkout / "vimrc")])
    (checkout / "R").write_text("")
    assert (
        untrusted_argument(["less", "-R", "--quit-if-one-screen"]) == untrusted_argument(["code", "--wait", "."]) == ""
    )
    record_checkout(checkout, trusted=True)
    assert untrusted_argument(words) == ""
