"""Ways in which files that an agent writes make a plain git run a program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Plant = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Vector:
    """`plant(workspace, program)` lays the trap; `control` is the plain git command that falls into it."""

    name: str
    plant: Plant
    control: tuple[tuple[str, ...], ...]


def trap(folder: Path, marker: Path) -> Path:
    """A program that leaves a mark and otherwise behaves like `cat`."""
    program = folder / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\n[ \"$1\" = end ] && exit 1\nexec cat\n")
    program.chmod(0o755)
    return program


def run_plain(folder: Path, *args: str) -> None:
    """git as a careless tool would call it."""
    env = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    identity = ("-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *args],
        env=env, capture_output=True, timeout=20, check=False,
        input=b"protocol=https\nhost=localhost\n\n",
    )  # fmt: skip


def _append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def _config(text: str, *, attributes: str = "") -> Plant:
    def plant(folder: Path, program: Path) -> None:
        _append(folder / ".git" / "config", text.replace("TRAP", str(program)))
        if attributes:
            (folder / ".gitattributes").write_text(attributes)
            (folder / "app.py").write_text("trapped = 1\n")

    return plant


def _hook(name: str, folder_name: str = ".git/hooks") -> Plant:
    def plant(folder: Path, program: Path) -> None:
        hook = folder / folder_name / name
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text(program.read_text().replace("exec cat", "exit 0"))
        hook.chmod(0o755)
        if folder_name != ".git/hooks":
            _append(folder / ".git" / "config", f"[core]\n\thooksPath = {folder / folder_name}\n")

    return plant


def _included(header: str) -> Plant:
    def plant(folder: Path, program: Path) -> None:
        (folder / ".git" / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
        _append(folder / ".git" / "config", header.replace("HERE", str(folder)) + f"\tpath = {folder}/.git/more\n")

    return plant


def _worktree_config(folder: Path, program: Path) -> None:
    config = folder / ".git" / "config"
    text = config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    config.write_text(text + "[extensions]\n\tworktreeConfig = true\n")
    (folder / ".git" / "config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")


def _elsewhere(link: bool) -> Plant:
    def plant(folder: Path, program: Path) -> None:
        other = folder.parent / f".elsewhere-{folder.name}"
        if not other.exists():
            run_plain(folder.parent, "init", "-q", str(other))
            _append(other / ".git" / "config", f"[core]\n\tfsmonitor = {program}\n\tworktree = {folder}\n")
        if (folder / ".git").is_dir() and not (folder / ".git").is_symlink():
            (folder / ".git").rename(folder.parent / f".old-{os.urandom(4).hex()}")
        else:
            (folder / ".git").unlink(missing_ok=True)
        if link:
            (folder / ".git").symlink_to(other / ".git")
        else:
            (folder / ".git").write_text(f"gitdir: {other / '.git'}\n")

    return plant


def _nested(settings: str, *, with_commit: bool = True) -> Plant:
    def plant(folder: Path, program: Path) -> None:
        inner = folder / "fixture"
        inner.mkdir(exist_ok=True)
        (inner / "data.txt").write_text("data\n")
        (inner / ".gitattributes").write_text("* filter=x diff=x\n")
        if not (inner / ".git").exists():
            run_plain(inner, "init", "-q")
            if with_commit:
                run_plain(inner, "add", "-A")
                run_plain(inner, "commit", "-q", "-m", "inner")
            _append(inner / ".git" / "config", settings.replace("TRAP", str(program)))
        # Of the same length: git reads a file of another size, and calls its filter, only if the index is as young.
        (inner / "data.txt").write_text("atad\n")

    return plant


def _home_config(folder: Path, program: Path) -> None:
    settings = f'[core]\n\tfsmonitor = {program}\n[filter "x"]\n\tclean = {program}\n'
    (Path(os.environ["HOME"]) / ".gitconfig").write_text(settings)
    (folder / ".gitattributes").write_text("* filter=x\n")


def _git_in_path(folder: Path, program: Path) -> None:
    (folder / "git").write_text(program.read_text())
    (folder / "git").chmod(0o755)


def _gitmodules(folder: Path, program: Path) -> None:
    run_plain(folder, "init", "-q", "m")
    (folder / ".gitmodules").write_text(
        f'[submodule "m"]\n\tpath = m\n\turl = {folder.parent}/none\n\tupdate = !{program}\n'
    )
    _append(folder / ".git" / "config", f'[submodule "m"]\n\tactive = true\n\turl = x\n\tupdate = !{program}\n')


CLEAN = '[filter "x"]\n\tclean = TRAP\n\trequired = true\n'
STATUS, ADD, DIFF = ("status",), ("add", "-A"), ("diff",)
COMMIT = ("commit", "-q", "--allow-empty", "-m", "x")

VECTORS = (
    Vector("pre-commit hook", _hook("pre-commit"), (COMMIT,)),
    Vector("reference-transaction hook", _hook("reference-transaction"), (COMMIT,)),
    Vector("post-index-change hook", _hook("post-index-change"), (ADD, STATUS)),
    Vector("hooksPath", _hook("pre-commit", "tools"), (COMMIT,)),
    Vector("fsmonitor", _config("[core]\n\tfsmonitor = TRAP\n"), (STATUS,)),
    Vector("clean filter", _config(CLEAN, attributes="* filter=x\n"), (ADD,)),
    Vector("process filter", _config('[filter "x"]\n\tprocess = TRAP\n', attributes="* filter=x\n"), (ADD,)),
    Vector(
        "smudge filter",
        _config('[filter "x"]\n\tsmudge = TRAP\n', attributes="* filter=x\n"),
        (("checkout", "-f", "HEAD", "--", "app.py"),),
    ),
    Vector("external diff", _config("[diff]\n\texternal = TRAP\n", attributes="* text\n"), (DIFF,)),
    Vector("diff driver", _config('[diff "x"]\n\tcommand = TRAP\n', attributes="* diff=x\n"), (DIFF,)),
    Vector("textconv", _config('[diff "x"]\n\ttextconv = TRAP\n', attributes="* diff=x\n"), (DIFF,)),
    Vector("editor", _config("[core]\n\teditor = TRAP\n"), (("commit", "--allow-empty"),)),
    Vector("ssh command", _config("[core]\n\tsshCommand = TRAP end\n"), (("ls-remote", "ssh://localhost/x"),)),
    Vector(
        "ext remote",
        _config('[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = ext::TRAP end\n'),
        (("fetch", "origin"),),
    ),
    Vector("upload-pack", _config('[remote "origin"]\n\turl = .\n\tuploadpack = TRAP end\n'), (("fetch", "origin"),)),
    Vector(
        "credential helper",
        _config("[credential]\n\thelper = TRAP\n"),
        (("credential", "fill"),),
    ),
    Vector("alias", _config("[alias]\n\tst = !TRAP\n"), (("st",),)),
    Vector("signing program", _config("[gpg]\n\tprogram = TRAP\n[commit]\n\tgpgSign = true\n"), (COMMIT,)),
    Vector(
        "trailer command",
        _config('[trailer "x"]\n\tkey = X\n\tcommand = TRAP\n'),
        (("commit", "--allow-empty", "-m", "x", "--trailer", "X: 1"),),
    ),
    Vector("include", _included("[include]\n"), (STATUS,)),
    Vector("includeIf", _included('[includeIf "gitdir:HERE/"]\n'), (STATUS,)),
    Vector("worktree config", _worktree_config, (STATUS,)),
    Vector("gitfile elsewhere", _elsewhere(link=False), (STATUS,)),
    Vector("linked git dir", _elsewhere(link=True), (STATUS,)),
    Vector("nested fsmonitor", _nested("[core]\n\tfsmonitor = TRAP\n"), (ADD, STATUS)),
    Vector("nested clean filter", _nested(CLEAN), (ADD, STATUS)),
    Vector("submodule update", _gitmodules, ()),
    Vector("home config", _home_config, (STATUS, ADD)),
    Vector("git in the path", _git_in_path, ()),
    Vector("nested without commit", _nested(CLEAN, with_commit=False), ()),
    Vector("pager", _config("[core]\n\tpager = TRAP\n[pager]\n\tstatus = TRAP\n"), ()),
    Vector("merge driver", _config('[merge "x"]\n\tdriver = TRAP\n', attributes="* merge=x\n"), ()),
)
