"""Private folders stay hidden where a bind mount gives them a second name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.proc.mounts import MountedFolder, other_names
from testing.bubblewrap import needs_bubblewrap

# In a mount namespace of its own, on a new file system outside of /tmp and /home: bind mounts, a sandbox, and what a
# program in it can read.
_PROGRAM = """
import json, subprocess, sys
from pathlib import Path
from burnish.proc.sandbox import Sandbox
place, binds, probes = Path("/mnt"), json.loads(sys.argv[1]), json.loads(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
for name in ("home/state", "repo", "alias", "wide", "hidden"):
    (place / name).mkdir(parents=True)
for name in ("home/secret", "home/state/burnish.db", "hidden/secret", "repo/README"):
    (place / name).write_text(f"<{name}>")
for source, target in binds:
    subprocess.run(["mount", "--bind", place / source, place / target], check=True)
box = Sandbox(place / "home", place / "repo", place / "home/state")
words = "; ".join(f"cat '{place / probe}'" for probe in probes)
argv = box.around(["/bin/sh", "-c", words], env={"PATH": "/usr/bin:/bin"}, writable=[])
subprocess.run(argv)
"""
_UNSHARE = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user", "--mount")


def seen(binds: list[tuple[str, str]], probes: list[str]) -> str:
    """What a program in the sandbox reads at `probes`, with each pair of `binds` mounted before."""
    needs_bubblewrap()
    if not Path("/mnt").is_dir() or subprocess.run([*_UNSHARE, "true"], check=False).returncode != 0:
        pytest.skip("no mount namespaces here")
    argv = [*_UNSHARE, sys.executable, "-c", _PROGRAM, json.dumps(binds), json.dumps(probes)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    return done.stdout


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("binds", "probes"),
    [
        ([("home", "alias")], ["alias/secret", "alias/state/burnish.db"]),
        ([("home/state", "alias")], ["alias/burnish.db"]),
        ([(".", "wide")], ["wide/home/secret", "wide/home/state/burnish.db"]),
        ([("home", "alias"), ("alias", "wide")], ["alias/secret", "wide/secret"]),
        ([("home", "alias"), ("alias", "home")], ["alias/secret", "home/secret"]),
        ([("hidden", "home"), ("home", "alias")], ["alias/secret"]),
    ],
    ids=["home", "burnish home", "a folder above", "twice", "in a circle", "covered"],
)
def test_a_second_name_of_the_home_directory_shows_nothing(binds: list[tuple[str, str]], probes: list[str]) -> None:
    assert seen(binds, probes) == ""


def test_other_bind_mounts_and_the_rest_of_a_wider_one_stay_readable() -> None:
    assert seen([("repo", "alias")], ["alias/README"]) == "<repo/README>"
    assert seen([(".", "wide")], ["wide/repo/README"]) == "<repo/README>"


def test_a_name_is_computed_from_the_root_of_each_mount(tmp_path: Path) -> None:
    """Of a file system that is mounted twice, e.g. `@home` of btrfs at /home and all of it at /mnt."""
    (tmp_path / "home/me").mkdir(parents=True)
    (tmp_path / "all").mkdir()
    (tmp_path / "all/@home").symlink_to(tmp_path / "home")
    table = [
        MountedFolder("0:1", Path("/"), Path("/")),
        MountedFolder("0:30", Path("/@home"), tmp_path / "home"),
        MountedFolder("0:30", Path("/"), tmp_path / "all"),
        MountedFolder("0:31", Path("/"), tmp_path / "elsewhere"),
    ]
    assert other_names(tmp_path / "home/me", table) == [tmp_path / "all/@home/me"]
    assert other_names(tmp_path, table) == []
