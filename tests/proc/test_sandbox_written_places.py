"""What programs of a sandbox, or a repository, write does not change what the next sandbox shows."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from burnish.adapters.sandbox import missing_paths
from burnish.config.settings import Config
from burnish.proc.mounts import Mount
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap

SECRETS = {
    ".git-credentials": "SECRET",
    "Documents/diary.txt": "SECRET",
    "Documents/run.sh": "#!/bin/sh\n# SECRET\n",
    "private/bin/tool": "#!/bin/sh\n# SECRET\n",
    "private/lib/data": "SECRET",
    "burnish/burnish.db": "SECRET",
}
OWNERS = ("checkout", "workspace", "tree", "stored environment")


def make_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name, text in {**SECRETS, "project/x": "", "burnish/work/x": "", "burnish/stored/x": "", "cache/x": ""}.items():
        write(home / name, text)
    return home


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755 if text.startswith("#!") else 0o644)


def folder_of(owner: str, home: Path) -> Path:
    parts = {"checkout": "project", "workspace": "burnish/work", "tree": "burnish/work"}
    return home / parts.get(owner, "burnish/stored")


def seen(box: Sandbox, home: Path, path: Path, owner: str, *argv: str) -> list[str]:
    """The secrets that a program reads, with the folder `path` of the owner first on PATH."""
    env = {"PATH": f"{path}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(home)}
    # relative names: a script that the command names is shown
    script = f"cd '{home}'; for file in {' '.join(SECRETS)}; do grep -l SECRET $file; done; true"
    words = ("sh", "-c", f"{script} # {' '.join(argv)}")
    work = home / "burnish" / "work"
    trees = [Mount(home / "project", "write", work)] if owner == "tree" else []
    writable = (work,) if owner == "workspace" else ()
    argv = box.around(words, env=env, writable=writable, trees=trees)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.attacks("read the home directory by links of a tree", 6)
@pytest.mark.parametrize("owner", OWNERS)
def test_links_in_an_environment_of_a_tree_show_nothing_of_the_home(tmp_path: Path, owner: str) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    environment = folder_of(owner, home) / ".venv"
    (environment / "bin").mkdir(parents=True)
    for number, name in enumerate(SECRETS):
        (environment / "bin" / f"tool-{number}").symlink_to(home / name)
    write(environment / "pyvenv.cfg", f"home = {home}/private/bin\n")
    box = Sandbox(home, home / "project", home / "burnish")
    assert seen(box, home, environment / "bin", owner) == []


@pytest.mark.attacks("read the home directory by links of a tree", 3)
@pytest.mark.parametrize("owner", OWNERS)
def test_an_environment_that_is_a_link_shows_nothing_of_the_home(tmp_path: Path, owner: str) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    tree = folder_of(owner, home)
    (tree / ".venv").symlink_to(home / "private")
    (tree / "env").mkdir()
    (tree / "env" / "bin").symlink_to(home / "Documents")
    (tree / "env" / "pyvenv.cfg").symlink_to(home / ".git-credentials")
    box = Sandbox(home, home / "project", home / "burnish")
    assert seen(box, home, tree / ".venv" / "bin", owner) == []
    assert seen(box, home, tree / "env" / "bin", owner) == []


def test_scripts_of_the_checkout_choose_no_folder_of_the_home(tmp_path: Path) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    write(home / "project/run.sh", f"#!{home}/private/bin/tool\n")
    (home / "project/linked.sh").symlink_to(home / "Documents/run.sh")
    box = Sandbox(home, home / "project", home / "burnish")
    scripts = (str(home / "project/run.sh"), str(home / "project/linked.sh"))
    assert seen(box, home, home / "project", "checkout", *scripts) == []


@pytest.mark.parametrize("layout", ["link to the interpreter", "pyvenv.cfg", "environment elsewhere"])
def test_the_python_of_an_environment_in_the_checkout_still_runs(tmp_path: Path, layout: str) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    python = home / "opt/python-3.12/bin/python3"
    write(python, f"#!/bin/sh\ncat {home}/opt/python-3.12/lib/python3.12/os.py\n")
    write(home / "opt/python-3.12/lib/python3.12/os.py", "runs")
    environment = home / "project" / ".venv"
    if layout == "environment elsewhere":
        environment.symlink_to(home / "envs" / "app")
        (home / "envs/app/lib/python3.12/site-packages").mkdir(parents=True)
    (environment / "bin").mkdir(parents=True)
    write(environment / "pyvenv.cfg", f"home = {python.parent}\n")
    if layout == "pyvenv.cfg":
        write(environment / "bin/python", f"#!/bin/sh\nexec {python}\n")
    else:
        (environment / "bin/python").symlink_to(python)
    env = {"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(home)}
    argv = Sandbox(home, home / "project", home / "burnish").around(("python",), env=env, writable=())
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "runs", done.stderr


def run_in(box: Sandbox, home: Path, script: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    argv = box.around(("sh", "-c", script), env=env, writable=())
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False).stdout


@pytest.mark.attacks("redirect a listed path", 2)
@pytest.mark.parametrize("key", ["read", "write"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_that_a_program_makes_below_a_writable_folder_opens_nothing(
    tmp_path: Path, key: str, exists: bool
) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    inner = home / "cache" / "deep" / "browsers"
    if exists:
        inner.mkdir(parents=True)
    lists = {"read": (inner,), "write": (home / "cache",)} if key == "read" else {"write": (home / "cache", inner)}
    box = Sandbox(home, home / "project", home / "burnish", **lists)
    swap = f"cd {home}/cache; mv deep old; mkdir -p deep; rmdir deep/browsers; ln -s {home}/TARGET deep/browsers"
    for target in ("Documents", "burnish"):
        run_in(box, home, swap.replace("TARGET", target))
        found = run_in(box, home, f"cat {home}/Documents/diary.txt {home}/burnish/burnish.db {inner}/*")
        assert "SECRET" not in found


@pytest.mark.attacks("redirect a listed path", 1)
@pytest.mark.parametrize("key", ["read", "write"])
@pytest.mark.parametrize(
    ("replaced", "target"), [("deep/browsers", "../.."), ("deep/browsers", "../../.config"), ("deep", "..")]
)
def test_a_listed_path_that_becomes_a_link_while_a_sandbox_starts_opens_nothing(
    tmp_path: Path, key: str, replaced: str, target: str
) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    write(home / ".config/token", "SECRET")
    inner, shown = home / "cache/deep/browsers", home / ".config/a tool"
    for folder in (inner, shown, tmp_path / "state"):
        folder.mkdir(parents=True)
    lists = {"read": (inner, shown), "write": (home / "cache",)}
    if key == "write":
        lists = {"read": (shown,), "write": (home / "cache", inner)}
    box = Sandbox(home, home / "project", tmp_path / "state", **lists)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    script = f"cat {home}/Documents/diary.txt {home}/.config/token {inner}/*; touch {inner}/planted"
    argv = box.around(("sh", "-c", script), env=env, writable=())

    def outcome() -> tuple[str, bool]:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout, any((folder / "planted").exists() for folder in (home, home / ".config", home / "cache"))

    # what the path itself holds is shown
    write(inner / "own", "own")
    assert outcome() == ("own", False)
    # another sandbox, which started before the path existed, replaces it
    (home / "cache" / replaced).rename(home / "old")
    (home / "cache" / replaced).symlink_to(target)
    if replaced == "deep":
        (home / "cache/browsers").mkdir()

    assert outcome() == ("", False)


@pytest.mark.attacks("redirect a listed path", 2)
def test_the_burnish_home_below_a_writable_folder_cannot_be_moved(tmp_path: Path) -> None:
    needs_bubblewrap()
    home = make_home(tmp_path)
    ours = home / "cache" / "share" / "burnish"
    write(ours / "burnish.db", "SECRET")
    box = Sandbox(home, home / "project", ours, write=(home / "cache",))
    run_in(box, home, f"cd {home}/cache; mv share moved; mkdir -p share/burnish; mv share/burnish other")
    assert (ours / "burnish.db").read_text() == "SECRET"
    assert run_in(box, home, f"ls -A {ours}") == ""
    assert "SECRET" not in run_in(box, home, f"cat {home}/cache/*/burnish/burnish.db {home}/cache/other/burnish.db")


def test_a_redirected_path_is_named(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    (home / "cache" / "browsers").symlink_to(home / "Documents")
    listed = {"read": [str(home / "cache/browsers"), str(home / "gone")], "write": [str(home / "cache")]}
    line = missing_paths(Config.model_validate({"sandbox": listed}))
    assert "does not exist" in line and f"{home}/gone (sandbox.read)" in line
    assert f"list the target of the link: {home}/cache/browsers (sandbox.read)" in line


def test_a_tree_at_the_place_of_a_listed_checkout_is_not_taken_for_a_replacement(tmp_path: Path) -> None:
    needs_bubblewrap()
    home = tmp_path / "home"
    checkout, work = home / "dev" / "project", home / "burnish" / "work"
    write(checkout / "x", "of the checkout")
    write(work / "x", "of the task")
    box = Sandbox(home, checkout, home / "burnish", read=(checkout,), write=(home / "dev",))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    argv = box.around(("cat", str(checkout / "x")), env=env, writable=(), trees=[Mount(checkout, "write", work)])
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("of the task", 0), done.stderr
