"""Bubblewrap around a program: what it sees, what it may write, and that nothing of it is left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from burnish.proc.mounts import Mount, covering, mount_options, without_lost_masks
from burnish.proc.run import Command, StopToken, run
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    needs_bubblewrap()
    home = tmp_path / "home"
    for name in ("burnish/work", "burnish/other", "project", ".login", ".ssh", "tools/bin"):
        (home / name).mkdir(parents=True)
    (home / ".ssh" / "key").write_text("secret")
    (home / ".login" / "settings.json").write_text("{}")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "settings.json").write_text("{}")
    (home / "project" / "app.py").write_text("x = 1\n")
    return Sandbox(home, home / "project", home / "burnish")


def inside(sandbox: Sandbox, script: str, **more: object) -> str:
    """What a shell in the sandbox says; it may write to `work`."""
    env = {"PATH": f"{sandbox.home}/tools/bin:{os.environ['PATH']}", "HOME": str(sandbox.home)}
    work = sandbox.burnish_home / "work"
    copy = Mount(sandbox.home.resolve() / ".login", "write", source=sandbox.home.resolve().parent / "copy")
    argv = sandbox.around(("sh", "-c", script), env=env, writable=(work,), mounts=(copy,))
    for _ in range(5):
        done = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, check=False, timeout=30)
        # as `run` does: a socket of another program was removed since the masks were made
        if not done.stderr.startswith("bwrap: Can't create file") or argv == (argv := without_lost_masks(argv)):
            break
    return done.stdout + done.stderr


def test_the_home_is_masked_but_for_what_is_mounted_there(sandbox: Sandbox, tmp_path: Path) -> None:
    assert inside(sandbox, "ls -A ~").split() == [".login", "burnish", "project", "tools"]
    inside(sandbox, "echo token > ~/.login/token; echo x > ~/.profile; mv ~/.login/token ~/.login/settings.json")
    assert (tmp_path / "copy" / "settings.json").read_text() == "token\n"
    assert [path.name for path in (sandbox.home / ".login").iterdir()] == ["settings.json"]
    assert (sandbox.home / ".login" / "settings.json").read_text() == "{}"
    assert not (sandbox.home / ".profile").exists()


def test_only_the_place_of_work_can_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    open_to_write = replace(sandbox, write=(tmp_path / "elsewhere",))
    places = "~/project/new ~/burnish/db ~/burnish/new /etc/new /usr/new /srv/new"
    printed = inside(open_to_write, f"touch {places}; touch here {tmp_path}/elsewhere/new")
    assert printed.count("Read-only file system") == 6
    assert (sandbox.burnish_home / "work" / "here").exists() and (tmp_path / "elsewhere" / "new").exists()
    assert inside(sandbox, "cat ~/project/app.py") == "x = 1\n"


def test_of_the_burnish_home_only_the_place_of_work_is_seen(sandbox: Sandbox) -> None:
    (sandbox.burnish_home / "burnish.db").write_text("decisions")
    assert inside(sandbox, "ls -A ~/burnish; cat ~/burnish/burnish.db").split()[0] == "work"
    assert "decisions" not in inside(sandbox, "cat ~/burnish/burnish.db ~/burnish/other/*")
    looked = sandbox.around(
        ("sh", "-c", "cat ~/burnish/other/file; touch ~/burnish/other/new"),
        env={"PATH": os.environ["PATH"]},
        writable=(),
        readable=(sandbox.burnish_home / "other",),
    )
    (sandbox.burnish_home / "other" / "file").write_text("to be read\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(sandbox.home)}
    done = subprocess.run(looked, env=env, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == "to be read\n" and "Read-only file system" in done.stderr


def test_a_burnish_home_outside_of_the_home_is_masked_but_for_programs_in_it(sandbox: Sandbox, tmp_path: Path) -> None:
    tool = tmp_path / "apart" / "venv" / "bin" / "tool"
    for folder in (tool.parent, tmp_path / "apart" / "work"):
        folder.mkdir(parents=True)
    (tmp_path / "apart" / "burnish.db").write_text("decisions")
    tool.write_text(f"#!/bin/sh\nls -A {tmp_path}/apart\n")
    tool.chmod(0o755)
    apart = Sandbox(sandbox.home, sandbox.checkout, tmp_path / "apart")
    argv = apart.around((str(tool),), env={"PATH": os.environ["PATH"]}, writable=(tmp_path / "apart" / "work",))
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout.split() == ["venv", "work"]


@pytest.mark.parametrize("checkout", [".", ".."])
def test_a_checkout_that_contains_the_home_does_not_show_it_under_its_second_name(
    sandbox: Sandbox, checkout: str
) -> None:
    root = (sandbox.home / checkout).resolve()
    (root / "app.py").write_text("x = 1\n")
    link = sandbox.burnish_home / "checkout"
    link.symlink_to(root)
    box = replace(sandbox, checkout=root, mounts=(Mount(link, "read", source=root),))
    names = inside(box, f"cd {link}; find . -not -path './home/burnish*' -name key; ls -A").split()
    assert "./.ssh/key" not in names and "./home/.ssh/key" not in names
    assert ("app.py" in names) == (root != sandbox.home.resolve())


def test_other_projects_stay_read_only_below_a_folder_that_may_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    apart, private = tmp_path / "apart", sandbox.home / "private"
    inner = tmp_path / "inner"
    for place in (apart, private, inner):
        place.mkdir()
        (place / "burnish.yaml").write_text("mine\n")
    others = (apart, private, inner, tmp_path / "gone", Path("/"), sandbox.home)
    box = replace(sandbox, untouched=others, write=(tmp_path,))
    printed = inside(
        box, f"for p in {apart} {inner}; do echo x > $p/burnish.yaml; done; ls -A ~; touch {tmp_path}/elsewhere"
    )
    assert printed.count("Read-only file system") == 2 and "private" not in printed
    assert (tmp_path / "elsewhere").exists() and (apart / "burnish.yaml").read_text() == "mine\n"


def test_mounts_cannot_be_undone_nor_seen_past(sandbox: Sandbox) -> None:
    inside(sandbox, "umount ~; mount -o remount,rw,bind ~/project; touch ~/project/new")
    assert not (sandbox.checkout / "new").exists()
    assert "secret" not in inside(sandbox, f"umount ~; cat /proc/{os.getpid()}/root{sandbox.home}/.ssh/key")


def test_programs_that_live_in_the_home_still_run(sandbox: Sandbox) -> None:
    tool = sandbox.home / "opt" / "tool-1" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../data"\n')
    tool.chmod(0o755)
    (sandbox.home / "opt" / "tool-1" / "data").write_text("found\n")
    (sandbox.home / "tools" / "bin" / "tool").symlink_to(tool)
    assert inside(sandbox, "tool") == "found\n"


def test_a_home_that_is_a_link_is_masked_all_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(sandbox.home)
    linked = Sandbox(tmp_path / "link", tmp_path / "link" / "project", tmp_path / "link" / "burnish")
    assert inside(linked, "ls -A ~").split() == [".login", "burnish", "project", "tools"]
    assert "No such file" in inside(linked, f"cat {sandbox.home}/.ssh/key")


def test_without_network_there_is_only_loopback(sandbox: Sandbox) -> None:
    alone = Sandbox(sandbox.home, sandbox.checkout, sandbox.burnish_home, network=False)
    assert inside(alone, "tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]


def test_a_program_that_is_not_there_is_named_itself(sandbox: Sandbox) -> None:
    assert sandbox.around(("not-there",), env={"PATH": "/bin"}, writable=()) == ("not-there",)


def test_a_program_by_a_relative_path_is_confined_though_it_is_not_here(sandbox: Sandbox) -> None:
    argv = sandbox.around(("./run_tests.sh",), env={"PATH": "/bin"}, writable=())
    assert argv[0].endswith("bwrap") and argv[-1] == "./run_tests.sh"


def test_a_stop_gives_the_program_time_and_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    work = sandbox.burnish_home / "work"
    code = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), open("saved", "w").close(), sys.exit(0)))
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
open("ready", "w").close()
time.sleep(60)
"""
    env = {"PATH": os.environ["PATH"]}
    argv = sandbox.around((sys.executable, "-I", "-S", "-c", code), env=env, writable=(work,))
    (tmp_path / "call").mkdir()
    stop = StopToken()

    def stop_when_ready() -> None:
        while not (work / "ready").exists():
            time.sleep(0.02)
        stop.request()

    threading.Thread(target=stop_when_ready, daemon=True).start()
    command = Command(argv, work, env, tmp_path / "call", timeout_seconds=30, lock_file=tmp_path / "lock", wrapped=True)
    done = run(command, stop=stop)
    assert done.ended == "stopped" and done.seconds < 10
    assert (work / "saved").exists()
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if str(work) in " ".join(p.info["cmdline"] or ())] == []


def test_a_program_that_prints_the_error_of_a_failed_sandbox_is_not_started_again(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """A mask can be moved away by a program that may write its folder."""
    work = sandbox.burnish_home / "work"
    (work / "sockets").mkdir()
    (work / "sockets" / "s").touch()
    mask = Mount((work / "sockets" / "s").resolve(), "read", source=Path(os.devnull))
    env = {"PATH": os.environ["PATH"]}
    script = """echo x >> count; mv sockets gone; echo "bwrap: Can't create file at /s" >&2; exit 1"""
    argv = sandbox.around(("sh", "-c", script), env=env, writable=(work,), mounts=(mask,))
    (tmp_path / "call").mkdir()
    done = run(Command(argv, work, env, tmp_path / "call", timeout_seconds=30, wrapped=True))
    assert (work / "gone").is_dir(), "the mask was not moved away"
    assert (done.exit_code, done.was_started, (work / "count").read_text()) == (1, True, "x\n")


def test_a_sandbox_that_could_not_mask_a_removed_file_is_started_without_that_mask(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    work = sandbox.burnish_home / "work"
    mask = Mount(Path("/usr/burnish-removed/s"), "read", source=Path(os.devnull))
    env = {"PATH": os.environ["PATH"]}
    argv = sandbox.around(("sh", "-c", "echo x >> count"), env=env, writable=(work,), mounts=(mask,))
    (tmp_path / "call").mkdir()
    done = run(Command(argv, work, env, tmp_path / "call", timeout_seconds=30, wrapped=True))
    assert (done.exit_code, done.was_started, (work / "count").read_text()) == (0, True, "x\n")


def test_a_folder_is_mounted_before_what_is_in_it_and_the_later_of_two_counts() -> None:
    home = Path("/h")
    mounts = [
        Mount(home / "b" / "w", "write"),
        Mount(home / "b", "empty", sealed=True),
        Mount(home, "read"),
        Mount(home / "c", "read", source=Path("/elsewhere")),
        Mount(home, "empty", permissions="0700"),
    ]
    options = " ".join(mount_options(mounts))
    assert options == (
        "--perms 0700 --tmpfs /h --perms 0755 --tmpfs /h/b --ro-bind-try /elsewhere /h/c --bind /h/b/w /h/b/w"
        " --remount-ro /h/b"
    )
    assert [covering(mounts, home / name) for name in ("b/w/x", "b/x", "x")] == [mounts[0], mounts[1], mounts[4]]
    assert covering(mounts, Path("/etc")) is None


def test_listed_places_are_shown_and_nothing_beside_them(sandbox: Sandbox) -> None:
    for name in ("cache", "data"):
        (sandbox.home / name).mkdir()
        (sandbox.home / name / "file").write_text(name)
    box = replace(sandbox, read=(sandbox.home / "data", sandbox.home / "gone"), write=(sandbox.home / "cache",))
    printed = inside(box, "ls -A ~; cat ~/data/file; touch ~/data/new ~/cache/new")
    assert "data" in printed and "cache" in printed and ".ssh" not in printed
    assert printed.count("Read-only file system") == 1 and (sandbox.home / "cache" / "new").exists()


def test_a_file_that_the_command_line_names_is_not_shown_for_that(sandbox: Sandbox) -> None:
    key, script = sandbox.home / ".ssh" / "key", sandbox.home / "tool.sh"
    script.write_text("echo the script runs\n")
    env = {"PATH": os.environ["PATH"]}
    for argv in (("cat", str(key)), ("sh", "-c", f"cat {key}")):
        words = sandbox.around(argv, env=env, writable=())
        assert "secret" not in subprocess.run(words, capture_output=True, text=True, timeout=30, check=False).stdout
    for argv in (("sh", str(script)), ("sh", "-c", f"sh {script}")):
        words = sandbox.around(argv, env=env, writable=())
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        assert done.stdout == "the script runs\n", done.stderr


def test_a_script_finds_its_interpreter_in_a_masked_place(sandbox: Sandbox, tmp_path: Path) -> None:
    interpreter = sandbox.home / "opt" / "shell" / "bin" / "mysh"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to("/bin/sh")
    script = tmp_path / "agents" / "robot"
    script.parent.mkdir()
    script.write_text(f"#!{interpreter}\necho started\n")
    script.chmod(0o755)
    argv = sandbox.around((str(script),), env={"PATH": os.environ["PATH"]}, writable=())
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "started\n", done.stderr


def test_temporary_files_are_private_and_the_folder_of_tmpdir_exists(sandbox: Sandbox, tmp_path: Path) -> None:
    own = tmp_path / "own-tmp"
    own.mkdir()
    (own / "secret").write_text("secret")
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(own)}
    argv = sandbox.around(("sh", "-c", "ls -A $TMPDIR /var/tmp; mktemp"), env=env, writable=())
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert str(own) in done.stdout and "secret" not in done.stdout, done.stderr
    assert [path.name for path in own.iterdir()] == ["secret"]


def test_codex_can_nest_a_sandbox_of_its_own(sandbox: Sandbox) -> None:
    """It tries with a new /proc, which root may not mount inside, and then without."""
    nested = "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev --die-with-parent"
    assert "nested" in inside(sandbox, f"{nested} --proc /proc echo nested || {nested} echo nested")
    if os.geteuid() != 0:
        assert inside(sandbox, f"{nested} --proc /proc echo nested") == "nested\n"
