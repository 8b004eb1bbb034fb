"""Programs of ours start alone with what is installed, also where `pip install --user` put it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import burnish
from burnish.agents.program import START, own_program

PACKAGE = Path(burnish.__file__).parent
SAY = "from burnish.agents.program import own_program; import json; print(json.dumps(own_program('scripted_main')))"


def base_python() -> str:
    """The Python that the virtual environment was made with: it knows a user's own packages."""
    named = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    if not named.exists():
        pytest.skip(f"{named} is not there")
    return str(named)


def output(argv: list[str], cwd: Path, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        argv, cwd=cwd, env={"PATH": os.environ["PATH"], **env}, input="", capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_where_everybody_sees_the_packages_nothing_is_named() -> None:
    assert own_program("scripted_main") == (sys.executable, "-I", START, "scripted_main")


def test_what_pip_put_into_the_users_own_folder_is_found(tmp_path: Path) -> None:
    python, base = base_python(), str(tmp_path / "base")
    _, said = output([python, "-m", "site", "--user-site"], tmp_path, PYTHONUSERBASE=base)
    packages = Path(said.strip())
    packages.mkdir(parents=True)
    (packages / "burnish").symlink_to(PACKAGE)
    (packages / "needed.py").write_text("word = 'found'\n")
    (tmp_path / "script.json").write_text(json.dumps([{"say": "hello"}]))

    _, said = output([python, "-c", SAY], tmp_path, PYTHONUSERBASE=base)
    program = json.loads(said)
    assert program[3:] == [str(packages), "scripted_main"]
    # no variable tells it of the place any more
    assert output([*program, "script.json", "implement"], tmp_path) == (0, "hello\n")
    code, _ = output([python, "-I", "-m", "burnish.agents.scripted_main", "script.json", "implement"], tmp_path)
    assert code == 1  # so it was without the place


LOOK = """
import runpy, sys
sys.argv = [START, *PLACES, "look"]
runpy.run_module = lambda *_, **__: None
import importlib.util as u
spec = u.spec_from_file_location("start", START); start = u.module_from_spec(spec); spec.loader.exec_module(start)
start.main()
import needed, json
print(needed.__file__, json.__file__)
"""


def test_neither_the_place_nor_the_workspace_hides_pythons_own_library(tmp_path: Path) -> None:
    places, here = tmp_path / "site-packages", tmp_path / "here"
    for folder in (places, here):
        folder.mkdir()
        (folder / "json.py").write_text("raise SystemExit('hidden')\n")
    (places / "needed.py").write_text("")
    (here / "needed.py").write_text("")
    text = LOOK.replace("START", repr(START)).replace("PLACES", repr([str(places)]))
    code, said = output([sys.executable, "-I", "-c", text], here)
    needed, library = said.split()
    assert (code, Path(needed)) == (0, places / "needed.py")
    assert "json/__init__" in library
