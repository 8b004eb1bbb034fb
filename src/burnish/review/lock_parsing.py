"""Parses lock files into packages. Content that a parser would hide is refused, so that the text is shown instead."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from burnish.regular_files import parse_toml


class NotExplained(Exception):
    """The file has content that packages and fields do not show."""


@dataclass(frozen=True, slots=True)
class LockFile:
    """Packages by a unique key, and all other content."""

    packages: Mapping[str, Mapping[str, Any]]
    rest: Mapping[str, Any]
    # in the order of the file; programs ignore comments, but reviewers must see changes in them
    comments: tuple[str, ...] = ()
    # name and version by key: one version has the same hashes everywhere
    identities: Mapping[str, str] = field(default_factory=dict)


# labels with parentheses and spaces, which names and paths cannot contain
ROOT_LABEL = "(this project)"
_NO_VERSION = "(no version)"
_NESTED = " > "
# TOML allows hexadecimal numbers of any length, which Python refuses to print
_MAX_NUMBER = 2**64
# other names could be mistaken for a part of the digest
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+!-]+")
_NPM_NAME = re.compile(r"(?:@[A-Za-z0-9_.~-]+/)?[A-Za-z0-9_.~-]+")
_NPM_PATH_PART = re.compile(r"(?!\.\.?$)[A-Za-z0-9_.~@+-]+")
_PNPM_KEY = re.compile(r"[A-Za-z0-9_@./~+:()=^-]+")


def read_uv(text: str) -> LockFile:
    return _toml(text, dict)


def read_poetry(text: str) -> LockFile:
    return _toml(text, dict)


def read_cargo(text: str) -> LockFile:
    return _toml(text, str)


def _toml(text: str, source_type: type) -> LockFile:
    document = _json_value(parse_toml(text, parse_float=_refuse_number))
    packages: dict[str, Mapping[str, Any]] = {}
    identities: dict[str, str] = {}
    entries = document.pop("package", None)
    if entries is not None and (not isinstance(entries, list) or not entries):
        raise NotExplained("packages are not a list")
    for package in entries or ():
        key = _toml_key(package, source_type)
        _add(packages, key, package)
        # package indexes treat these spellings of a name as equal
        name = re.sub(r"[-_.]+", "-", package["name"]).lower()
        identities[key] = f"{name} {package.get('version', _NO_VERSION)}"
    return LockFile(packages, document, tuple(_toml_comments(text)), identities)


def _toml_key(package: Any, source_type: type) -> str:
    """Unique key of a package: name, version and source."""
    if not isinstance(package, dict) or not _is_plain(package.get("name")):
        raise NotExplained("a package without a name, or with an odd one")
    if not _is_plain(package.get("version", "0")):
        raise NotExplained("an odd version")
    source = package.get("source", source_type())
    if not isinstance(source, source_type):
        raise NotExplained("an odd source")
    place = source if isinstance(source, str) else json.dumps(source, sort_keys=True, ensure_ascii=False)
    parts = [package["name"], package.get("version", _NO_VERSION), *([place] if "source" in package else [])]
    return " ".join(parts)


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None


def _add(packages: dict[str, Mapping[str, Any]], key: str, package: Mapping[str, Any]) -> None:
    """Add a package; raises NotExplained if another one has the same key."""
    if key in packages:
        raise NotExplained(f"two packages with one key: {key[:80]}")
    packages[key] = package


def _refuse_number(number: str) -> Any:
    raise NotExplained(f"a number with a fraction: {number}")


def _json_value(value: Any) -> Any:
    """The value with JSON types only; raises NotExplained for others, e.g. dates."""
    if isinstance(value, dict):
        return {key: _json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json_value(one) for one in value]
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise NotExplained("a huge number")
    if value is None or isinstance(value, str | int | bool):
        return value
    raise NotExplained(f"a value of type {type(value).__name__}")


_TOML_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|(#[^\n]*)", re.DOTALL
)


def _toml_comments(text: str) -> Iterator[str]:
    for match in _TOML_STRING.finditer(text):
        if match[1]:
            yield match[1]


def read_npm(text: str) -> LockFile:
    """Read `packages` (lock file versions 2 and 3) by path, and `dependencies` (1 and 2) by the path of names."""
    document = json.loads(
        text, object_pairs_hook=_unique_keys, parse_float=_refuse_number, parse_constant=_refuse_number
    )
    if not isinstance(document, dict):
        raise NotExplained("not an object")
    packages: dict[str, Mapping[str, Any]] = {}
    identities: dict[str, str] = {}
    for path, package in _objects(_pop_section(document, "packages"), _is_npm_path):
        _add(packages, path or ROOT_LABEL, package)
        identities[path or ROOT_LABEL] = _npm_identity(path.rpartition("node_modules/")[2], package)
    for key, package in _nested(_pop_section(document, "dependencies"), "dependencies"):
        _add(packages, key, package)
        identities[key] = _npm_identity(key.rpartition(_NESTED)[2], package)
    return LockFile(packages, document, identities=identities)


def _is_npm_path(path: str) -> bool:
    """Whether it is "" (the project itself) or a normalised path, so that no two spellings mean one place."""
    return not path or all(_NPM_PATH_PART.fullmatch(part) for part in path.split("/"))


def _npm_identity(name: str, package: Mapping[str, Any]) -> str:
    return json.dumps([package.get("name", name), package.get("version")])


def _pop_section(document: dict[str, Any], key: str) -> Any:
    """Remove and return the section; an empty one stays in the document, so that it is not lost."""
    return document.pop(key) if document.get(key) else {}


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise NotExplained("a repeated key")
    return result


def _objects(value: Any, is_key: Callable[[str], object]) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(value, dict):
        raise NotExplained("not an object")
    for key, one in value.items():
        if not isinstance(one, dict) or not is_key(key):
            raise NotExplained("a package is not an object, or its name is odd")
        yield key, one


def _nested(value: Any, above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, package in _objects(value, _NPM_NAME.fullmatch):
        key = f"{above}{_NESTED}{name}"
        inside = _pop_section(package, "dependencies")
        yield key, package
        yield from _nested(inside, key)


def read_pnpm(text: str) -> LockFile:
    document = _yaml(text)
    packages: dict[str, Mapping[str, Any]] = {}
    identities: dict[str, str] = {}
    for section in ("packages", "snapshots"):
        for name, package in _objects(_pop_section(document, section), _PNPM_KEY.fullmatch):
            key = f"{section} {name}"
            _add(packages, key, package)
            # without the peers, which do not change what is installed
            identities[key] = f"{section} {name.removeprefix('/').partition('(')[0]}"
    return LockFile(packages, document, identities=identities)


_BARE = r"[A-Za-z0-9_./@^~<>=(+][^#\[\]{},&*!%`\"'\n]*?"
_KEY = re.compile(rf"^( *)('[^'\n]*'|{_BARE}):(?: (.*))?$")
_ITEM = re.compile(r"^( *)- (.*)$")
_SCALAR = re.compile(rf"'((?:[^'\n]|'')*)'|({_BARE})")
# bare words that YAML readers do not treat as text; a version with two dots is text
_ODD_WORD = re.compile(
    r"~|(?i:null|y|n|yes|no|on|off|true|false|\.inf|\.nan)|<<|="
    r"|[-+.]?[0-9][0-9a-fA-FxXoO_:+-]*\.?[0-9eE_+-]*"
)


def _yaml(text: str) -> dict[str, Any]:
    """Parse the part of YAML that pnpm writes: nested mappings, lists of scalars, flow mappings on one line."""
    if re.search(r"[^\S \r\n]", text):
        raise NotExplained("white space that YAML readers disagree about")
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    if lines and lines[0] == "---":
        raise NotExplained("a document mark")
    value, end = _block(lines, 0, 0)
    if end != len(lines) or not isinstance(value, dict):
        raise NotExplained("lines that do not belong to a mapping")
    return value


def _block(lines: list[str], at: int, indent: int) -> tuple[Any, int]:
    """The mapping or list that begins at this line, and the number of the line after it."""
    if at < len(lines) and _ITEM.match(lines[at]):
        return _items(lines, at, indent)
    mapping: dict[str, Any] = {}
    while at < len(lines) and _depth(lines[at]) == indent:
        match = _KEY.match(lines[at])
        if match is None:
            raise NotExplained(f"not a line that pnpm writes: {lines[at][:40]}")
        key = _new_key(match[2], mapping)
        at += 1
        if match[3]:
            mapping[key] = _value(match[3])
        elif at < len(lines) and _depth(lines[at]) > indent:
            mapping[key], at = _block(lines, at, _depth(lines[at]))
        else:
            mapping[key] = None
    if at < len(lines) and _depth(lines[at]) > indent:
        raise NotExplained("a line is indented further than its place allows")
    return mapping, at


def _items(lines: list[str], at: int, indent: int) -> tuple[list[Any], int]:
    items = []
    while at < len(lines) and _depth(lines[at]) == indent and (match := _ITEM.match(lines[at])):
        items.append(_scalar(match[2]))
        at += 1
    return items, at


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _value(text: str) -> Any:
    if text == "{}":
        return {}
    if text.startswith("{") and text.endswith("}"):
        mapping: dict[str, Any] = {}
        for part in text[1:-1].split(", "):
            key, colon, value = part.partition(": ")
            if not colon:
                raise NotExplained("an odd flow mapping")
            mapping[_new_key(key, mapping)] = _scalar(value)
        return mapping
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(part) for part in text[1:-1].split(", ")] if text != "[]" else []
    return _scalar(text)


def _new_key(text: str, mapping: Mapping[str, Any]) -> str:
    """The key without its quotes; raises NotExplained if it is repeated."""
    key = _scalar(text)
    if not isinstance(key, str) or key in mapping:
        raise NotExplained("a repeated key, or one that is not text")
    return key


def _scalar(text: str) -> Any:
    match = _SCALAR.fullmatch(text)
    if match is None:
        raise NotExplained(f"not a value that pnpm writes: {text[:40]}")
    if match[1] is not None:
        return match[1].replace("''", "'")
    word = match[2]
    if word in ("true", "false"):
        return word == "true"
    if word != word.strip() or ": " in word or word.endswith(":"):
        raise NotExplained(f"a word with several meanings: {word[:40]}")
    # programs distinguish a number from the same digits in quotes
    return {"bare": word} if _ODD_WORD.fullmatch(word) else word
