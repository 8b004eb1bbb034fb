"""`burnish hook install` and `uninstall`: burnish behind an agent's stop, or behind a commit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.agents.base import StopHook
from burnish.agents.registry import STOP_HOOKS
from burnish.errors import BadInput, Refused
from burnish.features.hooks.programs import GIT, NAMES, PATIENCE, command_for, program
from burnish.features.hooks.user_files import (
    Backups,
    Edit,
    mode_of,
    put_block,
    put_entry,
    read,
    take_block,
    take_entry,
    write,
)
from burnish.git.discovery import FoundRepository, discover
from burnish.git.run import bare_env, git
from burnish.runtime.project_identity import locate
from burnish.runtime.reader import home_of, open_home_to_write, refuse_inside_phase
from burnish.runtime.trust import examine

__all__ = ["NAMES", "HookChange", "install", "uninstall"]


@dataclass(frozen=True, slots=True)
class HookChange:
    """The files that were changed, or would be; and what a person should know."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...]

    @property
    def changes(self) -> bool:
        return any(edit.changes for edit in self.edits)


@dataclass(frozen=True, slots=True)
class _Target:
    """One file, how our entry goes in and how it comes out."""

    path: Path
    put: Callable[[bytes | None], Edit]
    without: Callable[[bytes], bytes]
    # several hooks have lines in one file: each takes out its own, and there is no one state to go back to
    shared: bool = False


def install(start: Path, name: str, *, everywhere: bool, dry_run: bool) -> HookChange:
    if not dry_run:
        refuse_inside_phase()
    backups = Backups(home_of() / "hooks" / "backups")
    found, targets = _targets(start, name, everywhere)
    if name == GIT:
        _refuse_link(targets[0].path)
    edits = [target.put(read(target.path)) for target in targets]
    for target, edit in zip(targets, edits, strict=True):
        if edit.changes and not dry_run:
            write(edit) if target.shared else backups.install(edit, target.without)
    if found is not None and not dry_run:
        # A hook reviews only where it was asked to: somebody else's repository may name programs to run.
        with open_home_to_write(home_of()) as store:
            locate(store, found, home_of(), create=True, is_trusted=examine(found).is_trusted)
    return HookChange(tuple(edits), tuple(note for edit in edits for note in edit.notes) + _scope(name, found))


def uninstall(start: Path, name: str, *, everywhere: bool, dry_run: bool) -> HookChange:
    if not dry_run:
        refuse_inside_phase()
    backups = Backups(home_of() / "hooks" / "backups")
    _, targets = _targets(start, name, everywhere)
    edits = [_removal(backups, target) for target in targets]
    for target, edit in zip(targets, edits, strict=True):
        if not dry_run:
            write(edit) if target.shared else backups.uninstall(edit)
    return HookChange(tuple(edits), tuple(note for edit in edits for note in edit.notes))


def _removal(backups: Backups, target: _Target) -> Edit:
    if not target.shared:
        return backups.removal(target.path, target.without)
    data = read(target.path)
    remainder = None if data is None else target.without(data)
    return Edit(target.path, data, remainder or (None if data else data), mode_of(target.path, 0o644))


def _scope(name: str, found: FoundRepository | None) -> tuple[str, ...]:
    hook = STOP_HOOKS.get(name)
    notes = [hook.note] if hook and hook.note else []
    if found is None:
        notes.append("It is there for all projects, and reviews in those that are trusted (`burnish trust`).")
    elif not (trust := examine(found)).is_trusted:
        notes.append(f"This checkout is not trusted, so nothing is reviewed yet: {trust.command('--show')}")
    return tuple(notes)


def _targets(start: Path, name: str, everywhere: bool) -> tuple[FoundRepository | None, list[_Target]]:
    """None: the hook is the person's own, for every project."""
    if name == GIT:
        if everywhere:
            raise BadInput("git's hooks belong to one repository.", hint="Leave --global out.")
        found = discover(start)
        path = hook_file(found)
        return found, [_Target(path, lambda data: with_hook(found), without_hook)]
    hook = STOP_HOOKS[name]
    if everywhere or not hook.local_file:
        return None, [_settings(hook, hook.file(None).resolve())]
    found = discover(start)
    path = hook.file(found.root).resolve()
    if not path.is_relative_to(found.root):
        raise BadInput(
            f"{hook.file(found.root)} leads out of the checkout, to {path}.",
            hint=f"Change that file with `burnish hook install {name} --global`, if it is your own.",
        )
    return found, [_settings(hook, path), _unseen(found, hook)]


def _settings(hook: StopHook, path: Path) -> _Target:
    if hook.script:
        return _script(hook, path)

    def put(data: bytes | None) -> Edit:
        return Edit(path, data, put_entry(data, hook, command_for(hook.name), path), mode_of(path, 0o600))

    return _Target(path, put, lambda data: take_entry(data, hook, path))


def _script(hook: StopHook, path: Path) -> _Target:
    """A file that is the hook alone: another one in its place is left as it is."""

    def refuse_foreign(data: bytes | None) -> None:
        if data is not None and not hook.is_our_script(data.decode(errors="replace")):
            raise Refused(f"{path} is not burnish's, so burnish does not change it.", hint="Rename it, then try again.")

    def put(data: bytes | None) -> Edit:
        refuse_foreign(data)
        return Edit(path, data, hook.script_with(command_for(hook.name), PATIENCE).encode(), mode_of(path, 0o600))

    def without(data: bytes) -> bytes:
        return b"" if hook.is_our_script(data.decode(errors="replace")) else data

    return _Target(path, put, without)


def _unseen(found: FoundRepository, hook: StopHook) -> _Target:
    """Exclude a file that only burnish wrote from git, in this clone only, so that it is not committed."""
    exclude = found.common_dir / "info" / "exclude"
    # with a copy that a program may keep beside it when it migrates its settings
    line = f"/{hook.local_file}*"

    def put(data: bytes | None) -> Edit:
        edit = Edit(exclude, data, data, mode_of(exclude, 0o644))
        if _tracked(found, hook.local_file):
            return replace(edit, notes=(f"{hook.local_file} is tracked: do not commit the hook by mistake.",))
        if line.encode() in (data or b"").splitlines():
            return edit
        return replace(edit, new=put_block(data, hook.name, [line]))

    return _Target(exclude, put, lambda data: take_block(data, hook.name), shared=True)


def _tracked(found: FoundRepository, file: str) -> bool:
    env = bare_env(found.git_dir) | {"GIT_DIR": str(found.git_dir)}
    return bool(git("ls-files", "-z", "--", file, cwd=found.root, env=env, ok=(0, 128)).stdout)


# -- git hook -------------------------------------------------------------------------------------
# The post-commit hook: its path and content.

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


def hook_lines() -> list[str]:
    """In the background, and with nothing that git or a terminal would wait for."""
    return [
        "# Reviews each commit in the background; `burnish hook last` shows what came of it.",
        "# `burnish hook uninstall git` takes these lines out again.",
        'if [ -z "${BURNISH_TASK:-}${BURNISH_HOOK:-}" ]; then',
        f'    {program()} hook run git --commit "$(git rev-parse HEAD)" </dev/null >/dev/null 2>&1 &',
        "fi",
    ]


def with_hook(found: FoundRepository) -> Edit:
    path = hook_file(found)
    data = read(path)
    if data is not None:
        _refuse_foreign(path, data)
    mode = mode_of(path, 0o755)
    return Edit(path, data, put_block(data, GIT, hook_lines(), first="#!/bin/sh\n"), mode, _notes(found, path, data))


def _refuse_link(path: Path) -> None:
    """What it leads to may be no file of this repository, so it is not read either."""
    if path.is_symlink():
        raise Refused(f"{path} is a link to {path.readlink()}, which may serve others too.", hint=_by_hand())


def _by_hand() -> str:
    return f"Add it by hand: {hook_lines()[3].strip()}"


def without_hook(data: bytes) -> bytes:
    return take_block(data, GIT)


def _refuse_foreign(path: Path, data: bytes) -> None:
    """What we cannot add to without breaking it, or without waking it up."""
    by_hand = _by_hand()
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
    # the folder may also be a link
    real = path.resolve()
    text = (data or b"") + os.fsencode(path)
    owner = next((name for name, word in _MANAGERS.items() if word in text), "")
    if owner:
        notes.append(f"{owner} manages the hooks here. When it rewrites them, install burnish's again.")
    elif real.is_relative_to(found.root) and not real.is_relative_to(found.common_dir):
        notes.append(f"{real} lies in the checkout (core.hooksPath or a link): do not commit it by mistake.")
    elif not real.is_relative_to(found.common_dir):
        notes.append(f"{real} (core.hooksPath or a link) serves every repository that names it, not only this one.")
    return tuple(notes)
