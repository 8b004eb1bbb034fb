"""What a sandbox must not show: sockets of the user's by any name, and secrets beside programs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.proc.mounts import Mount
from burnish.proc.run import Command, run
from burnish.proc.sandbox import Sandbox
from burnish.proc.socket_paths import bound_names
from burnish.proc.toolchains import programs_below
from testing.bubblewrap import needs_bubblewrap

CONNECT = """
import os, socket, stat, sys
for root in sys.argv[1:]:
    for folder, _, names in os.walk(os.fsencode(root)):
        os.chdir(folder)
        for name in names:
            mode = os.lstat(name).st_mode
            if stat.S_ISFIFO(mode):
                print("named pipe", name)
            if stat.S_ISSOCK(mode):
                try:
                    socket.socket(socket.AF_UNIX).connect(name)
                    print("connected", name)
                except OSError:
                    pass
print("done")
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    needs_bubblewrap()
    home = tmp_path / "home"
    for name in ("burnish/work", "burnish/git", "project/sub", "project/.git"):
        (home / name).mkdir(parents=True)
    return Sandbox(home, home / "project", home / "burnish")


@pytest.fixture
def sockets(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Listening sockets in the checkout whose names /proc/net/unix does not have, and a named pipe."""
    names = [b"relative", b"renamed", b"linked", b"sub/new\nline", b"sub/not-utf8-\xff"]
    servers = []
    with monkeypatch.context() as context:
        context.chdir(sandbox.checkout)
        for name in (b"./relative", b"first", b"second", *names[3:]):
            server = socket.socket(socket.AF_UNIX)
            server.bind(name)
            server.listen(64)
            servers.append(server)
        Path("first").rename("renamed")
        Path("linked").hardlink_to("second")
        os.mkfifo("pipe")
    yield [*names, b"second"]
    for server in servers:
        server.close()


def connect(box: Sandbox, *roots: Path, trees: tuple[Mount, ...] = ()) -> str:
    env, work = {"PATH": os.environ["PATH"]}, box.burnish_home / "work"
    program = (sys.executable, "-I", "-S", "-c", CONNECT, *map(str, roots))
    argv = box.around(program, env=env, writable=(work,), trees=trees)
    call = box.home.parent / f"call-{len(list(box.home.parent.iterdir()))}"
    call.mkdir()
    result = run(Command(argv, work, env, call, timeout_seconds=30, wrapped=True))
    return result.stdout.read_text() + result.stderr.read_text()


@pytest.mark.attacks("connect to a socket of the user", 12)
def test_sockets_of_the_checkout_cannot_be_connected_to_by_any_name(sandbox: Sandbox, sockets: list[bytes]) -> None:
    argv = [sys.executable, "-I", "-S", "-c", CONNECT, str(sandbox.checkout)]
    control = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout
    assert control.count("connected") == len(sockets) and "named pipe" in control
    second = sandbox.burnish_home / "git" / "checkout"
    box = replace(sandbox, mounts=(Mount(second, "read", sandbox.checkout),))
    assert connect(box, box.checkout, second) == "done\n"


def test_a_tree_over_the_checkout_gets_no_masks_for_sockets_that_it_hides(
    sandbox: Sandbox, sockets: list[bytes], tmp_path: Path
) -> None:
    second, tree = sandbox.burnish_home / "git" / "checkout", tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    box = replace(sandbox, mounts=(Mount(second, "read", sandbox.checkout),))
    trees = (Mount(box.checkout, "write", tree), Mount(box.checkout / ".git", "write", tree / ".git"))
    assert connect(box, box.checkout, second, trees=trees) == "done\n"
    assert [path.name for path in tree.iterdir()] == [".git"]


def test_a_socket_that_vanishes_before_the_program_starts_does_not_stop_it(sandbox: Sandbox, tmp_path: Path) -> None:
    place = sandbox.checkout / "sub" / "dev.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        argv = sandbox.around(["/bin/echo", "started"], env={"PATH": "/usr/bin:/bin"}, writable=[])
    assert str(place) in argv
    place.unlink()
    call = tmp_path / "call"
    call.mkdir()
    done = run(Command(argv, sandbox.checkout, {"PATH": "/usr/bin:/bin"}, call, wrapped=True))
    assert (done.exit_code, done.stdout.read_text()) == (0, "started\n"), done.stderr.read_text()


def test_sockets_below_a_listed_folder_can_be_connected_to(sandbox: Sandbox, tmp_path: Path) -> None:
    listed = tmp_path / "listed"
    listed.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listed / "db"))
        server.listen(8)
        assert "connected" in connect(replace(sandbox, read=(listed,)), listed)


def test_a_relative_name_is_found_by_the_working_directory_of_its_process(tmp_path: Path) -> None:
    code = "import socket, sys; s = socket.socket(1); s.bind('./dev.sock'); print(flush=True); sys.stdin.read()"
    argv = [sys.executable, "-I", "-S", "-c", code]
    with subprocess.Popen(argv, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"\n"
        deadline = time.monotonic() + 10  # names are cached for a moment
        while tmp_path.resolve() / "dev.sock" not in bound_names() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert tmp_path.resolve() / "dev.sock" in bound_names()
        process.communicate()


@pytest.mark.slow
@pytest.mark.attacks("connect to a socket of the user", 4)
def test_sockets_in_the_folder_of_a_bound_one_and_open_pipes_cannot_be_connected_to(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """Outside of the home and of the temporary folders: renamed there, a second hard link, a named pipe in use."""
    # not in the temporary folder, which a sandbox has for itself
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix="sockets-") as name:
        folder = Path(name)
        with socket.socket(socket.AF_UNIX) as renamed, socket.socket(socket.AF_UNIX) as linked:
            for server, file in ((renamed, "first"), (linked, "second")):
                server.bind(str(folder / file))
                server.listen(8)
            (folder / "first").rename(folder / "other")
            (folder / "hard").hardlink_to(folder / "second")
            (folder / "apart").mkdir()
            os.mkfifo(folder / "apart" / "pipe")
            reader = os.open(folder / "apart" / "pipe", os.O_RDWR)
            time.sleep(2)  # names are cached for a moment
            printed = connect(sandbox, folder)
            os.close(reader)
    assert printed == "done\n"


@pytest.mark.attacks("connect to a socket of the user", 1)
def test_a_socket_beside_a_program_in_another_home_cannot_be_connected_to(sandbox: Sandbox, tmp_path: Path) -> None:
    """The program lies in a masked folder that is not the home directory."""
    folder = tmp_path / "other" / "bin"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "first"))
        server.listen(8)
        (folder / "first").rename(folder / "daemon")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
            assert connect(sandbox, folder) == "done\n"


SECRETS = (
    ".docker/config.json",
    ".fly/config.yml",
    ".pulumi/credentials.json",
    "tools/passwords.txt",
    "work/tools/passwords.txt",
    ".linked/token",
    ".local/share/uv/credentials/token",
    ".nvm/.npmrc",
    ".npm-global/etc/npmrc",
    "web/.env",
    ".cargo/credentials.toml",
    "private/key",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with programs of every kind, each of which prints its name."""
    home = tmp_path / "home"
    programs = [
        f"{name}/bin/{name.strip('.').replace('/', '-')}"
        for name in (".docker", ".fly", ".pulumi", "tools", "work/tools", ".npm-global", ".cargo")
    ]
    for name in (
        *programs,
        ".linked/bin/linked",
        "work/tools/script.sh",
        ".local/share/uv/tools/t/bin/uv-tool",
        ".nvm/versions/node/v20/bin/node",
        ".pyenv/shims/py",
        ".pyenv/libexec/pyenv",
        "web/node_modules/.bin/web",
    ):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho {file.name}\n")
        file.chmod(0o755)
    for name in (*SECRETS, ".npm-global/lib/node_modules/x/cli.js", "project/x", "burnish/work/x"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret")
    (home / ".local/bin").mkdir()
    (home / ".local/bin/linked").symlink_to(home / ".linked/bin/linked")
    (home / ".local/bin/uv-tool").symlink_to(home / ".local/share/uv/tools/t/bin/uv-tool")
    (home / "work/tools/bin/script").symlink_to("../script.sh")
    (home / "work/tools/bin/same").symlink_to("work-tools")
    (home / ".npm-global/share").symlink_to(home / "private")
    return home


FOLDERS = (
    ".docker/bin",
    ".fly/bin",
    ".pulumi/bin",
    "tools/bin",
    "work/tools/bin",
    ".npm-global/bin",
    ".cargo/bin",
    ".local/bin",
    ".nvm/versions/node/v20/bin",
    ".pyenv/shims",
    "web/node_modules/.bin",
)
NAMES = (
    "docker",
    "fly",
    "pulumi",
    "tools",
    "work-tools",
    "npm-global",
    "cargo",
    "linked",
    "uv-tool",
    "script",
    "same",
    "node",
    "py",
    "web",
)


@pytest.mark.attacks("read secrets beside programs", 2 * len(SECRETS))
def test_secrets_beside_a_folder_on_path_stay_hidden_and_its_programs_run(home: Path) -> None:
    needs_bubblewrap()
    box = Sandbox(home, home / "project", home / "burnish")
    env = {"PATH": os.pathsep.join([*(f"{home}/{name}" for name in FOLDERS), "/usr/bin", "/bin"])}
    secrets = " ".join(str(home / name) for name in SECRETS)
    script = f"cat {secrets} 2>/dev/null; cat ~/.npm-global/lib/node_modules/x/cli.js | wc -c; {'; '.join(NAMES)}"
    for first in ("sh", "/bin/sh"):
        argv = box.around((first, "-c", script), env=env, writable=())
        done = subprocess.run(
            argv, env={**env, "HOME": str(home)}, capture_output=True, text=True, timeout=30, check=False
        )
        names = [{"script": "script.sh", "same": "work-tools"}.get(name, name) for name in NAMES]
        assert done.stdout.split() == ["6", *names], done.stderr
    assert done.stderr == ""


def test_a_python_that_is_installed_in_a_shared_prefix_does_not_show_all_of_it(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    for name in ("bin", "lib", "share/keyrings"):
        (home / ".local" / name).mkdir(parents=True)
    places = programs_below(home, {home}, argv=(f"{home}/.local",), path="").places
    assert {place for place in places if place.is_relative_to(home)} == {home / ".local/bin", home / ".local/lib"}
