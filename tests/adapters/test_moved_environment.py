"""An environment that is copied to another path works there, or is not copied."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from burnish.adapters.checks.moved_environment import MadeEnvironment
from burnish.checks.installed import EnvironmentFolder

PYTHON = (EnvironmentFolder(".venv", "python"),)


@pytest.fixture
def made(tmp_path: Path) -> MadeEnvironment:
    """A virtual environment with a program and an editable install, moved to where environments are stored."""
    tree, layer = tmp_path / "trees" / "tree", tmp_path / "layer"
    tree.mkdir(parents=True)
    venv.create(tree / ".venv", with_pip=False, symlinks=True)
    (packages,) = tree.glob(".venv/lib/python*/site-packages")
    (packages / "calc.pth").write_text(f"{tree}/src\n")
    program = tree / ".venv" / "bin" / "calc"
    program.write_text(f"#!{tree}/.venv/bin/python\nimport calc\nprint(calc.__file__)\n")
    program.chmod(0o755)
    (tree / ".venv" / "here").symlink_to(tree / ".venv" / "bin")
    tree.rename(layer)
    return MadeEnvironment(layer, tree, PYTHON)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspaces" / "1-task"
    (place / "src").mkdir(parents=True)
    (place / "src" / "calc.py").write_text("")
    return place


def test_a_copy_imports_and_starts_what_is_beside_it(made: MadeEnvironment, workspace: Path) -> None:
    before = {path: path.read_bytes() for path in made.layer.rglob("*") if path.is_file() and not path.is_symlink()}
    assert made.copy_to(workspace)
    printed = subprocess.run([workspace / ".venv/bin/calc"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(workspace / "src" / "calc.py")
    assert (workspace / ".venv" / "here").readlink() == workspace / ".venv" / "bin"
    texts = [path.read_bytes() for path in (workspace / ".venv").rglob("*") if path.is_file()]
    assert not any(os.fsencode(made.made_at) in text for text in texts)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_compiled_file_with_the_path_is_not_copied(made: MadeEnvironment, workspace: Path) -> None:
    (made.layer / ".venv" / "fast.so").write_bytes(b"\x7fELF\0" + os.fsencode(made.made_at) + b"\0")
    assert not made.copy_to(workspace)
    assert not (workspace / ".venv").exists()


def test_a_script_whose_first_line_would_be_cut_still_starts(made: MadeEnvironment, tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 50)
    (deep / "src").mkdir(parents=True)
    (deep / "src" / "calc.py").write_text("")
    assert made.copy_to(deep)
    assert len((deep / ".venv/bin/calc").read_bytes().partition(b"\n")[0]) < 128
    printed = subprocess.run([deep / ".venv/bin/calc"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(deep / "src" / "calc.py")


def test_an_environment_that_is_there_is_left_to_set_up(made: MadeEnvironment, workspace: Path) -> None:
    (workspace / ".venv").mkdir()
    assert not made.copy_to(workspace)
    assert not MadeEnvironment(made.layer, made.made_at, ()).copy_to(workspace)
