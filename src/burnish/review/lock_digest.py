"""Digests of changed lock files (uv, poetry, cargo, npm, pnpm), short enough for a reviewer.

A digest is complete, or the file is shown as text. Both files are parsed into packages with fields; every field that
differs is printed, except values without information for a reader: hashes, sizes and upload times of a new version,
and addresses that follow from the package's name, version and registry. A hash is printed if the same version has
another one elsewhere in the old or the new file. A file with content that a parser hides (a repeated key, a key that
could be mistaken for another entry, floats, anchors) gets no digest.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from burnish.core.change import Change, ChangedFile
from burnish.core.text_encoding import escape_invisible
from burnish.review.lock_parsing import (
    ROOT_LABEL,
    LockFile,
    NotExplained,
    read_cargo,
    read_npm,
    read_pnpm,
    read_poetry,
    read_uv,
)

# by file name; other lock files are shown as text
READERS: Mapping[str, Callable[[str], LockFile]] = {
    "uv.lock": read_uv,
    "poetry.lock": read_poetry,
    "Cargo.lock": read_cargo,
    "package-lock.json": read_npm,
    "npm-shrinkwrap.json": read_npm,
    "pnpm-lock.yaml": read_pnpm,
}
# each algorithm with its own length: anything else is printed
_HASH = re.compile(
    r"(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}|[0-9a-f]{64}"
    r"|sha1-[A-Za-z0-9+/]{27}=|sha256-[A-Za-z0-9+/]{43}=|sha384-[A-Za-z0-9+/]{64}|sha512-[A-Za-z0-9+/]{86}==)"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)")
# Python package indexes store files in folders named after their hash
_HASH_FOLDER = re.compile(r"(https://[\w.:-]+/packages/)[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\"']*", re.IGNORECASE)
# Build number, Python, ABI and platform of a wheel. One with other tags is printed.
_PYTHON_TAG = r"(?:py|cp|pp|ip|jy)\d{1,4}"
_ABI_TAG = r"(?:none|abi3|cp\d{2,4}[dmut]{0,3}|pypy\d{2,4}_pp\d{2,4})"
_PROCESSOR = r"(?:x86_64|amd64|i[36]86|aarch64|arm64|armv[67]l|ppc64(?:le)?|s390x|riscv64|universal2?|intel)"
_PLATFORM_TAG = (
    rf"(?:any|win32|win_(?:amd64|arm64)|(?:manylinux|musllinux|macosx)(?:1|2010|2014|_\d{{1,3}}_\d{{1,3}})_{_PROCESSOR}"
    rf"|linux_{_PROCESSOR})"
)
_WHEEL_TAGS = r"(?:-\d{1,6})?" + "".join(rf"-{tag}(?:\.{tag}){{0,9}}" for tag in (_PYTHON_TAG, _ABI_TAG, _PLATFORM_TAG))
_ABSENT = object()
_FILE_LABEL = "(lock file)"
# other field names are quoted, so that lines of the digest are unambiguous
_PLAIN_FIELD = re.compile(r"[A-Za-z0-9_.@/$+~-]+")
# larger lock files are shown as text, because parsing them takes seconds
MAX_BYTES = 8 * 1024 * 1024

ReadBlobs = Callable[[Sequence[str]], Mapping[str, bytes | None]]


def with_lock_digests(change: Change, read: ReadBlobs) -> Change:
    """The change with a digest for each lock file that a digest describes completely."""
    locks = [file for file in change.files if _is_lock(file)]
    if not locks:
        return change
    blobs = read([blob for file in locks for blob in (file.old_blob, file.new_blob) if blob.strip("0")])
    digests = {file.path: _digest_of(file, blobs) for file in locks}
    return replace(change, files=tuple(replace(file, digest=digests.get(file.path, ())) for file in change.files))


def _is_lock(file: ChangedFile) -> bool:
    plain = file.status in ("A", "M", "R") and not file.binary and not file.is_symlink and not file.hidden
    # an executable file is not a lock file, whatever its name
    return plain and not file.is_executable and bool(file.all_hunks) and PurePosixPath(file.path).name in READERS


def _digest_of(file: ChangedFile, blobs: Mapping[str, bytes | None]) -> tuple[str, ...]:
    # what did not change may take effect at another place only
    is_new = file.status == "A" or file.gets_other_place
    new, old = blobs.get(file.new_blob), b"" if is_new else blobs.get(file.old_blob)
    if new is None or old is None:
        return ()
    return digest(PurePosixPath(file.path).name, old, new) or ()


def digest(name: str, old: bytes, new: bytes) -> tuple[str, ...] | None:
    """All differences between two versions of a lock file, as lines; None if it must be shown as text."""
    reader = READERS.get(name)
    if reader is None or max(len(old), len(new)) > MAX_BYTES:
        return None
    try:
        before = reader(_text(old)) if old.strip() else LockFile({}, {}, ())
        after = reader(_text(new))
    except (NotExplained, UnicodeError, ValueError, RecursionError):
        return None
    lines = list(_lines(before, after))
    return tuple(escape_invisible(line).replace("\n", "\\n").replace("\r", "\\r") for line in lines) or None


def _text(data: bytes) -> str:
    text = data.decode("utf-8")
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)", text) or text.startswith("\ufeff"):
        raise NotExplained("control characters")
    return text


def _lines(before: LockFile, after: LockFile) -> Iterator[str]:
    yield from _sources(before, after)
    yield from _fields(_FILE_LABEL, before.rest, after.rest)
    if before.comments != after.comments:
        yield from _difference("comments", list(before.comments), list(after.comments))
    added_keys = sorted(after.packages.keys() - before.packages.keys())
    removed_keys = sorted(before.packages.keys() - after.packages.keys())
    names = {_name(before, key) for key in removed_keys}
    for key in removed_keys:
        yield f"- removed {key}"
    for key in added_keys:
        word = "version" if _name(after, key) in names else "package"
        yield f"+ new {word} {key}: {_describe_package(key, after.packages[key])}"
    yield from _other_hashes(before, after)
    for key in sorted(before.packages.keys() & after.packages.keys()):
        yield from _package_changes(key, before.packages[key], after.packages[key])


def _name(lock: LockFile, key: str) -> str:
    return _name_of(key, lock.packages[key])


def _name_of(key: str, package: Mapping[str, Any]) -> str:
    """The name of a package; npm derives it from the path."""
    return str(package.get("name", key.rpartition("node_modules/")[2].rpartition(" > ")[2]))


def _other_hashes(before: LockFile, after: LockFile) -> Iterator[str]:
    """Hashes of a version that differ from those in the old file or elsewhere in the new one."""
    old_hashes, new_hashes = _hashes_by_identity(before), _hashes_by_identity(after)
    for key in sorted(after.packages):
        old = before.packages.get(key)
        if old is not None and _canonical(old.get("version")) == _canonical(after.packages[key].get("version")):
            continue  # all its changed fields are printed
        identity, own_hashes = after.identities[key], _hashes(after.packages[key])
        known_hashes = old_hashes.get(identity) or new_hashes.get(identity, set())
        # a bundled package has no hash of its own, and is printed as bundled
        is_bundled = True in (after.packages[key].get("inBundle"), after.packages[key].get("bundled"))
        if own_hashes - known_hashes or (known_hashes and not own_hashes and not is_bundled):
            word = "other hash" if own_hashes else "hash missing"
            new_text, old_text = _join_hashes(own_hashes - known_hashes), _join_hashes(known_hashes - own_hashes)
            yield f"! same version, {word}: {key}: {new_text}, known: {old_text}"
        elif own_hashes and known_hashes - own_hashes and identity not in old_hashes:
            others = _join_hashes(known_hashes - own_hashes)
            yield f"! same version, other hash: {key}: {_join_hashes(own_hashes)}, elsewhere in this file: {others}"


def _hashes_by_identity(lock: LockFile) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for key, package in lock.packages.items():
        found.setdefault(lock.identities[key], set()).update(_hashes(package))
    return {identity: hashes for identity, hashes in found.items() if hashes}


def _hashes(package: Mapping[str, Any]) -> set[str]:
    return {match[0] for match in _HASH.finditer(_canonical(package))}


def _join_hashes(hashes: set[str]) -> str:
    return ", ".join(sorted(hashes)) or "none"


def _package_changes(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if _canonical(old) == _canonical(new):
        return
    versions = [_short(side.get("version", _ABSENT)) for side in (old, new)]
    if versions[0] != versions[1]:
        # npm: the key is the path of the package, without its version
        yield f"~ {key}: version {' -> '.join(versions)}; now {_describe_package(key, new)}"
        removed_fields = sorted(old.keys() - new.keys())
        if removed_fields:
            yield f"~ {key}: no longer has {', '.join(map(_field_name, removed_fields))}"
        return
    hashes = [sorted(match[0] for match in _HASH.finditer(_canonical(side))) for side in (old, new)]
    for line in _fields(key, old, new):
        other = hashes[0] != hashes[1] and _HASH.search(line) is not None
        yield f"{'! same version, other hash: ' if other else ''}{line}"


def _fields(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """All fields that differ, with both values in full."""
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if _canonical(one) != _canonical(other):
            yield from _difference(f"{key} {_field_name(name)}", one, other)


def _field_name(name: str) -> str:
    return name if _PLAIN_FIELD.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _difference(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _fields(place, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        before, after = [_canonical(one) for one in old], [_canonical(one) for one in new]
        removed_counts, added_counts = Counter(before) - Counter(after), Counter(after) - Counter(before)
        for text in removed_counts.elements():
            yield f"~ {place}: - {text}"
        for text in added_counts.elements():
            yield f"~ {place}: + {text}"
        if _leaving_out(before, removed_counts) != _leaving_out(after, added_counts):
            yield f"~ {place}: other order, {json.dumps(after, ensure_ascii=False)}"
    else:
        yield f"~ {place}: {_short(old)} -> {_short(new)}"


def _leaving_out(elements: list[str], left_out: Counter[str]) -> list[str]:
    remaining, rest = Counter(left_out), []
    for element in elements:
        if remaining[element]:
            remaining[element] -= 1
        else:
            rest.append(element)
    return rest


def _describe_package(key: str, package: Mapping[str, Any]) -> str:
    """Describe a new package or version, without values that carry no information."""
    name, version = _name_of(key, package), str(package.get("version", ""))
    parts = []
    if package.get("hasInstallScript") is True or package.get("requiresBuild") is True:
        parts.append("RUNS A SCRIPT WHEN INSTALLED")
    if str(package.get("resolved", "")).startswith("http") and not _hashes(package):
        # npm installs whatever the address gives then
        parts.append("HAS NO HASH")
    in_key = _fields_in_key(key, package)
    if in_key and "source" in package and key.endswith((f" {_canonical(package['source'])}", f" {package['source']}")):
        in_key.add("source")
    for field in sorted(package.keys() - in_key):
        value = package[field]
        files = _files(value, name, version) if field in ("wheels", "files", "sdist") else None
        if files is not None:
            parts.append(f"{field}: {files}")
        elif field in ("integrity", "checksum") and isinstance(value, str) and _HASH.fullmatch(value):
            parts.append(f"{field}: {value.partition('-')[0] if '-' in value else 'sha256'}")
        elif field == "resolved" and (registry := _registry(value, name, version)):
            parts.append(f"resolved: {registry}")
        else:
            parts.append(f"{_field_name(field)}: {_short(value)}")
    return "; ".join(parts)


def _fields_in_key(key: str, package: Mapping[str, Any]) -> set[str]:
    """Fields that the key contains: name and version. npm: an alias has another name, which is printed."""
    if f"{key} ".startswith(f"{package.get('name')} {package.get('version')} "):
        return {"name", "version"}
    return {"name"} if key != ROOT_LABEL and package.get("name") == _name_of(key, {}) else set()


def _registry(address: Any, name: str, version: str) -> str:
    """The registry, if npm derives the address from name and version; else ""."""
    end = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    registry = address.removesuffix(end) if isinstance(address, str) and address.endswith(end) else ""
    return registry if re.fullmatch(r"https://[\w.:-]+", registry, re.ASCII) else ""


def _files(value: Any, name: str, version: str) -> str | None:
    """`12 files from https://…`, if each is named after the package and has a hash; else None."""
    entries = value if isinstance(value, list) else [value]
    if not entries:
        return None
    places: dict[str, int] = {}
    for entry in entries:
        place = _place(entry, name, version)
        if place is None:
            return None
        places[place] = places.get(place, 0) + 1
    counts = [f"{number} from {place}" if place else f"{number}" for place, number in sorted(places.items())]
    return f"{', '.join(counts)}, each with its hash"


def _place(entry: Any, name: str, version: str) -> str | None:
    """The folder of a distribution file, "" if it has none; None if something about it is unusual."""
    if not isinstance(entry, dict) or not entry.keys() <= {"url", "file", "hash", "size", "upload-time"}:
        return None
    digest, size, time = entry.get("hash"), entry.get("size", 0), entry.get("upload-time", "")
    if not isinstance(digest, str) or not _HASH.fullmatch(digest) or type(size) is not int:
        return None
    if not isinstance(time, str) or (time and not _TIME.fullmatch(time)):
        return None
    address = entry.get("url", entry.get("file"))
    if not isinstance(address, str) or ("url" in entry and "file" in entry) or set(address) & set("?#@%\\ "):
        return None
    folder, slash, file = address.rpartition("/")
    if not _is_named_after(file, name, version):
        return None
    return _HASH_FOLDER.sub(r"\1", folder + slash)


def _is_named_after(file: str, name: str, version: str) -> bool:
    """Whether the file is `some_name-1.0-py3-none-any.whl` or `some.name-1.0.tar.gz` of this package and version."""
    stem = re.escape(re.sub(r"[-_.]+", "-", name)).replace(r"\-", "[-_.]+")
    pattern = rf"{stem}-{re.escape(version)}({_WHEEL_TAGS}\.whl|\.tar\.gz|\.zip|\.tar\.bz2|\.tgz|\.egg)"
    return bool(version) and re.fullmatch(pattern, file, re.IGNORECASE | re.ASCII) is not None


def _sources(before: LockFile, after: LockFile) -> Iterator[str]:
    """Registries, repositories and hosts that are new or no longer used."""
    old, new = _origins(before), _origins(after)
    for origin in sorted(new - old):
        yield f"! new source: {origin}"
    for origin in sorted(old - new):
        yield f"source no longer used: {origin}"


def _origins(lock: LockFile) -> set[str]:
    return {_origin(text) for text in _strings([lock.packages, lock.rest]) if _ADDRESS.match(text) and ":/" in text}


def _origin(address: str) -> str:
    """Scheme and host of an address; for git and other sources the whole address, which names the repository."""
    match = re.match(r"(?:registry\+|sparse\+)?https?://[^/]*", address)
    return match[0] if match and not address.startswith("git") else address.partition("#")[0]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _strings(key)
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _short(value: Any) -> str:
    return "nothing" if value is _ABSENT else _canonical(value)


def _canonical(value: Any) -> str:
    """The value as JSON text, which distinguishes 1, 1.0 and true, unlike `==`."""
    return "absent" if value is _ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
