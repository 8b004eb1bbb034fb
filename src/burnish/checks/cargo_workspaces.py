"""Which crates need their own `cargo test`, and which ones another crate's command tests. Pure.

Folder names do not decide this: cargo's own rules do (members, exclude and path dependencies of a workspace), and the
marks that `cargo vendor` leaves.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from burnish.checks.tools import MOST_OPENED, Read
from burnish.regular_files import parse_toml

_TEST = re.compile(r"#\[\s*(?:\w+::)*\w*test\w*\b|#!?\[\s*cfg\s*\(.*\btest\b")
_DOC_FENCE = re.compile(r"^\s*//[/!]\s*```(.*)$", re.M)
_RUN_AS_TEST = re.compile(r"\s*(?:rust|should_panic|no_run|compile_fail|edition\d+|[\s,{}])*")


def is_tested_elsewhere(folder: str, paths: Sequence[str], read: Read) -> bool:
    """True if the crate needs no command of its own: another crate's command tests it, or it has no tests."""
    if _is_vendored(folder, paths, read):
        return True
    above = [parent for parent in _parents(folder) if _join(parent, "Cargo.toml") in set(paths)]
    if not above:
        return False
    if _table(_read_manifest(folder, read), "workspace") is None:
        workspaces = {root: _table(_read_manifest(root, read), "workspace") for root in above}
        # a crate below a workspace is a member that the root's command tests, or cargo refuses to run in it
        if any(table is not None and not _is_excluded(folder, root, table) for root, table in workspaces.items()):
            return True
    return not _has_tests(folder, paths, read)


def _is_vendored(folder: str, paths: Sequence[str], read: Read) -> bool:
    """True for output of `cargo vendor` and for folders that replace a registry in .cargo/config.toml."""
    if _join(folder, ".cargo-checksum.json") in set(paths):
        return True
    configs = (path for path in paths if re.search(r"(?:^|/)\.cargo/config(?:\.toml)?$", path))
    for config in configs:
        base = posixpath.dirname(posixpath.dirname(config))
        for source in _tables(_table(_parse(read(config)), "source")):
            directory = source.get("directory")
            if isinstance(directory, str) and _is_below(folder, _resolve(base, directory)):
                return True
    return False


def _is_excluded(folder: str, root: str, workspace: dict[str, Any]) -> bool:
    """An explicit entry in `members` overrides `exclude`."""
    is_excluded, is_member = (
        any(folder == path or _is_below(folder, path) for path in _resolved(workspace.get(key), root))
        for key in ("exclude", "members")
    )
    return is_excluded and not is_member


def _resolved(names: object, root: str) -> list[str]:
    return [_resolve(root, name) for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _has_tests(folder: str, paths: Iterable[str], read: Read) -> bool:
    """True if the crate has tests in `tests/`, in its code or in its docs. Large crates are assumed to have some."""
    start = f"{folder}/"
    sources = [path for path in paths if path.startswith(start) and path.endswith(".rs")]
    if any(path.startswith(f"{start}tests/") for path in sources) or len(sources) > MOST_OPENED:
        return True
    return any(_text_has_tests(read(path) or "") for path in sources)


def _text_has_tests(text: str) -> bool:
    # every second fence ends an example
    examples = _DOC_FENCE.findall(text)[::2]
    return bool(_TEST.search(text)) or any(_RUN_AS_TEST.fullmatch(language) for language in examples)


def _read_manifest(folder: str, read: Read) -> dict[str, Any]:
    return _parse(read(_join(folder, "Cargo.toml")))


def _parse(text: str | None) -> dict[str, Any]:
    try:
        return parse_toml(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(table: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = table.get(name)
    return found if isinstance(found, dict) else None


def _tables(table: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [value for value in (table or {}).values() if isinstance(value, dict)]


def _parents(folder: str) -> Iterator[str]:
    """The folders above this one, the nearest first; the root is ""."""
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _is_below(folder: str, other: str) -> bool:
    return other == "" or folder.startswith(f"{other}/")


def _resolve(base: str, name: str) -> str:
    path = posixpath.normpath(_join(base, name))
    return "" if path == "." else path


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
