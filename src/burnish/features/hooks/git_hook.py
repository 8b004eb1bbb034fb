"""The post-commit hook: its path and content."""

from __future__ import annotations

import os
import re
from pathlib import Path

from burnish.errors import Refused
from burnish.features.hooks.backups import Edit, mode_of, read
from burnish.features.hooks.programs import GIT, program
from burnish.features.hooks.settings_text import put_block, take_block
from burnish.git.discovery import FoundRepository
from burnish.git.run import bare_env, git

_SHELL = re.compile(rb"#!\s*(\S*/)?(env\s+(-\S+\s+)*)?(ba|da|k|z|a)?sh\b[^\n]*(\n|$)")
# Programs that write their own hooks, and a word that these hooks contain.
_MANAGERS = {
    "husky": b"husky",
    "lefthook": b"lefthook",
    "pre-commit": b"pre-commit.com",
    "overcommit": b"overcommit",
    "simple-git-hooks": b"simple-git-hooks",
}


def hook_file(found: FoundRepository) -> Path:
    """Where git looks for it: `core.hooksPath`, else the repository's own folder."""
    env = bare_env(found.git_dir) | {"GIT_DIR": str(found.git_dir), "HOME": str(Path.home())}
    for name in ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        env.pop(name, None)
        if name in os.environ:
            env[name] = os.environ[name]
    # With the scope: burnish's own git calls say `core.hooksPath` themselves, on the command line.
    args = ("config", "-z", "--show-scope", "--type=path", "--get-all", "core.hooksPath")
    words = os.fsdecode(git(*args, cwd=found.git_dir, env=env, ok=(0, 1)).stdout).split("\0")
    folders = [path for scope, path in zip(words[::2], words[1::2], strict=False) if scope != "command"]
    folder = found.root / folders[-1] if folders and folders[-1] else found.common_dir / "hooks"
    return folder / "post-commit"


def lines() -> list[str]:
    """In the background, and with nothing that git or a terminal would wait for."""
    return [
        "# Reviews each commit in the background; `burnish hook last` shows what came of it.",
        "# `burnish hook uninstall git` takes these lines out again.",
        'if [ -z "${BURNISH_TASK:-}${BURNISH_HOOK:-}" ]; then',
        f'    {program()} hook run git --commit "$(git rev-parse HEAD)" </dev/null >/dev/null 2>&1 &',
        "fi",
    ]


def installed(found: FoundRepository) -> Edit:
    path = hook_file(found)
    data = read(path)
    if data is not None:
        _refuse_foreign(path, data)
    mode = mode_of(path, 0o755)
    return Edit(path, data, put_block(data, GIT, lines(), first="#!/bin/sh\n"), mode, _notes(found, path, data))


def without(data: bytes) -> bytes:
    return take_block(data, GIT)


def _refuse_foreign(path: Path, data: bytes) -> None:
    """What we cannot add to without breaking it, or without waking it up."""
    by_hand = f"Add it by hand: {lines()[3].strip()}"
    if path.is_symlink():
        raise Refused(f"{path} is a link to {path.readlink()}, which may serve others too.", hint=by_hand)
    if data.startswith(b"#!") and not _SHELL.match(data):
        first = data.partition(b"\n")[0].decode(errors="replace")[:80]
        raise Refused(f"{path} is not a shell script ({first}), so burnish adds nothing to it.", hint=by_hand)
    if b"\0" in data:
        raise Refused(f"{path} is a program, so burnish adds nothing to it.", hint=by_hand)
    if not os.access(path, os.X_OK):
        raise Refused(
            f"{path} is not executable: git passes it over, and burnish would switch it on.",
            hint=f"Remove it, or switch it on yourself (chmod +x), then `burnish hook install {GIT}`.",
        )


def _notes(found: FoundRepository, path: Path, data: bytes | None) -> tuple[str, ...]:
    notes = []
    text = (data or b"") + os.fsencode(path)
    owner = next((name for name, word in _MANAGERS.items() if word in text), "")
    if owner:
        notes.append(f"{owner} manages the hooks here. When it rewrites them, install burnish's again.")
    elif path.is_relative_to(found.root) and not path.is_relative_to(found.common_dir):
        notes.append(f"{path} lies in the checkout (core.hooksPath): see that you do not commit it by mistake.")
    elif not path.is_relative_to(found.common_dir):
        notes.append(f"{path} (core.hooksPath) serves every repository that names it, not only this one.")
    return tuple(notes)
