"""The door to git: what it lets in, and how it fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.status import ErrorCode
from burnish.errors import BurnishError, PhaseFailed
from burnish.git.files import disk_errors, remove_tree, write_whole
from burnish.git.objects import trailers_of, with_trailers, write_object
from burnish.git.run import bare_env, failure, git
from burnish.proc.capture import Captured, capture
from testing.gitworld import GitWorld
from testing.long_forms import examples


def test_nothing_of_the_callers_git_variables_gets_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "evil")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("PATH", f".:relative/bin::{os.environ['PATH']}")
    env = bare_env(tmp_path)
    assert "GIT_EXTERNAL_DIFF" not in env and "GIT_CONFIG_COUNT" not in env
    assert all(part.startswith("/") for part in env["PATH"].split(":"))


def test_git_says_why_it_failed(world: GitWorld) -> None:
    with pytest.raises(PhaseFailed, match="git cat-file failed: fatal") as caught:
        world.project.git("cat-file", "-p", "nothing")
    assert caught.value.code == ErrorCode.GIT_ERROR
    assert caught.value.hint


def test_a_full_disk_is_called_by_its_name(tmp_path: Path) -> None:
    said = b"error: file write error: No space left on device\nfatal: unable to write new index file\n"
    assert failure("write-tree", Captured(128, b"", said)).code == ErrorCode.DISK_FULL
    with pytest.raises(PhaseFailed) as caught, disk_errors("writing"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.code == ErrorCode.DISK_FULL
    with pytest.raises(PhaseFailed) as caught, disk_errors("writing"):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))
    assert caught.value.code == ErrorCode.GIT_ERROR
    assert str(tmp_path) in caught.value.hint


def test_half_an_object_is_never_left_behind(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("burnish.git.objects.zlib.compress", full)
    with pytest.raises(PhaseFailed) as caught:
        write_object(world.project, "blob", b"new content")
    assert caught.value.code == ErrorCode.DISK_FULL
    assert not list(world.project.objects.glob("*/tmp_obj_*"))


def test_a_missing_program_and_a_slow_one_are_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(BurnishError, match="not installed"):
        capture([str(tmp_path / "nope")], cwd=tmp_path, env={})
    with pytest.raises(BurnishError, match="does not exist"):
        capture(["/bin/sh"], cwd=tmp_path / "gone", env={})
    with pytest.raises(BurnishError, match="did not finish"):
        capture(["/bin/sh", "-c", "sleep 5"], cwd=tmp_path, env={"PATH": os.defpath}, timeout=0.1)
    done = capture(["/bin/sh", "-c", "cat; echo no >&2; exit 3"], cwd=tmp_path, env={"PATH": os.defpath}, stdin=b"x")
    assert done == Captured(3, b"x", b"no\n")


def test_without_git_the_hint_says_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BurnishError, match="git is not installed"):
        git("version", cwd=tmp_path, env={"PATH": str(tmp_path)})


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "f", b"one")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "f", "two")  # type: ignore[arg-type]
    assert (tmp_path / "f").read_bytes() == b"one"
    assert [p.name for p in tmp_path.glob("*f*")] == ["f"]
    remove_tree(tmp_path / "f")
    remove_tree(tmp_path / "f")
    assert not (tmp_path / "f").exists()


WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1, max_size=20)


KEYS = st.from_regex(r"[A-Z][A-Za-z-]{0,10}", fullmatch=True)


@settings(max_examples=examples(50), deadline=None)
@given(message=st.text(max_size=200), trailers=st.dictionaries(KEYS, WORDS, min_size=1))
def test_trailers_come_back_whatever_the_message_says(message: str, trailers: dict[str, str]) -> None:
    assert trailers_of(with_trailers("feat: " + message, trailers)) == trailers
