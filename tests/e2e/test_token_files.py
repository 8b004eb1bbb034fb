"""Promise 19: a file that contains the token of `burnish serve` can be read in no sandbox, wherever it lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from burnish.proc.mounts import Mount
from burnish.proc.private_places import masked_token_files, record_token_files
from burnish.proc.run import Command, run
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

TOKEN = "a-token-of-the-user-0123456789"
SEARCH = """
import os, sys
for root in sys.argv[2:]:
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                text = open(os.path.join(folder, name), errors="replace").read()
            except PermissionError:
                print("hidden", os.path.join(folder, name))
                continue
            print("TOKEN" if sys.argv[1] in text else "text", os.path.join(folder, name))
"""


@contextmanager
def serving_from(lab: Lab, folder: Path, *, by_stdin: bool) -> Iterator[None]:
    """`burnish serve` with its token in a file of this folder, as is what it prints (`nohup burnish serve &`)."""
    token, printed = folder / "token", folder / "nohup.out"
    token.write_text(TOKEN)
    token.chmod(0o600)
    words = ["serve", "--port", "0", "--token-file", "-" if by_stdin else str(token)]
    argv = [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), *words]
    with token.open() as stdin, printed.open("w") as stdout:
        process = subprocess.Popen(argv, env={**os.environ, **lab.env}, stdin=stdin, stdout=stdout)
    try:
        lab.until(lambda: TOKEN in printed.read_text())
        yield
    finally:
        process.terminate()
        process.wait(30)


def found_inside(lab: Lab, box: Sandbox, *roots: Path) -> list[str]:
    work, call = lab.root / "work", lab.root / "call"
    work.mkdir(exist_ok=True)
    call.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], **lab.env}
    argv = (sys.executable, "-I", "-S", "-c", SEARCH, TOKEN, *map(str, roots))
    wrapped = box.around(argv, env=env, writable=(work,))
    result = run(Command(wrapped, work, env, call, timeout_seconds=60, wrapped=True))
    assert not result.stderr.read_text()
    return sorted(result.stdout.read_text().splitlines())


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("where", ["checkout", "read", "write"])
def test_an_agent_cannot_read_the_token_from_a_file_that_it_sees(tmp_path: Path, where: str) -> None:
    needs_bubblewrap()
    lab = Lab.make(tmp_path / "lab")
    second_name = Path(lab.env["BURNISH_HOME"]) / "second"
    listed = {name: tmp_path / name for name in ("read", "write")}
    folder = {**listed, "checkout": lab.repo.path / "logs"}[where]
    for place in (*listed.values(), lab.repo.path / "logs"):
        place.mkdir()
    (folder / "other").write_text("readable")
    box = Sandbox(
        Path(lab.env["HOME"]),
        lab.repo.path,
        Path(lab.env["BURNISH_HOME"]),
        read=(listed["read"],),
        write=(listed["write"],),
        mounts=(Mount(second_name, "read", folder),),
    )
    roots = (folder, second_name)
    expected = sorted(
        f"{content} {root / name}"
        for root in roots
        for name, content in {"token": "hidden", "nohup.out": "hidden", "other": "text"}.items()
    )

    with serving_from(lab, folder, by_stdin=where == "read"):
        assert found_inside(lab, box, *roots) == expected
    # the next start may use the same token
    assert found_inside(lab, box, *roots) == expected
    assert (folder / "token").read_text() == TOKEN


def test_a_file_that_no_mount_covers_is_masked_and_one_in_an_empty_folder_is_not(tmp_path: Path) -> None:
    file, home = tmp_path / "etc" / "token", tmp_path / "home"
    file.parent.mkdir()
    file.write_text(TOKEN)
    (tmp_path / "link").symlink_to(file)
    record_token_files(home, [tmp_path / "link", tmp_path / "missing", Path("/dev/null")])

    assert masked_token_files(home, []) == [Mount(file, "read", source=Path(os.devnull))]
    assert masked_token_files(home, [Mount(tmp_path, "empty")]) == []
    assert masked_token_files(home, [Mount(file.parent, "read", source=home)]) == []


def test_files_of_earlier_starts_stay_in_the_list_as_long_as_they_exist(tmp_path: Path) -> None:
    files = [tmp_path / f"token-{number}" for number in range(3)]
    for file in files:
        file.write_text(TOKEN)
        record_token_files(tmp_path / "home", [file])
    files[0].unlink()
    record_token_files(tmp_path / "home", [files[1]])

    listed = tmp_path / "home" / "serve" / "token-files.json"
    assert json.loads(listed.read_text()) == [str(files[2]), str(files[1])]
    listed.write_text("not a list")
    assert masked_token_files(tmp_path / "home", []) == []
