"""Finds syntax errors and duplicate keys in JSON, TOML and YAML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from burnish.core.finding import Remark, Severity
from burnish.regular_files import parse_toml
from burnish.review.static.files import FileScan

# the parsers are written in Python and take a second for this size
MAX_BYTES = 256 * 1024
_COMMENTED = re.compile(
    r"(^|/)(?:[tj]sconfig[^/]*|\.eslintrc|\.jshintrc|\.swcrc|\.hintrc|\.jscsrc|devcontainer|biome|turbo|nx|deno|api-extractor"
    r"|angular|renovate|language-configuration|settings|launch|tasks|extensions|keybindings|wrangler|rush|\.babelrc)\.json$"
    r"|(^|/)\.(?:vscode|devcontainer)/|\.code-workspace$"
)
_ODD_ON_PURPOSE = re.compile(r"bad|invalid|broken|malformed|corrupt|truncated|error|fail|wrong|syntax", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{\w+\}")
_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
# most nested sequences and mappings
_MAX_YAML_DEPTH = 1000
_MAX_SLOW_YAML_LENGTH = 200_000
_INDENT = re.compile(r"^[ \t?:-]+", re.MULTILINE)
_AT = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class SyntaxFlaw:
    line: int
    words: str
    # it can be parsed, but its meaning is ambiguous
    doubtful: bool = False


def syntax_remarks(file: FileScan) -> Iterator[Remark]:
    """At most one remark for a syntax error, and one for each duplicate key."""
    found = _reader(file.path)
    if not found or not file.lines or file.is_lock or len(file.data) > MAX_BYTES or not file.text.strip():
        return
    language, read = found
    if file.is_test and _ODD_ON_PURPOSE.search(file.path):
        return
    flaws = read(file.text)
    if not flaws:
        return
    before = file.before()
    old = read(before) if before is not None else ()
    for flaw in flaws:
        if flaw.doubtful:
            if flaw.line in file.changed:
                yield _duplicate_remark(file, flaw)
        elif not _is_excused(file, language, had=before is not None, old=old):
            yield _syntax_remark(file, language, flaw)


def _is_excused(file: FileScan, language: str, *, had: bool, old: tuple[SyntaxFlaw, ...]) -> bool:
    """Whether the file was invalid before, or is a template or another dialect."""
    if language == "JSON" and _COMMENTED.search(file.path) and _is_other_json(file):
        return True
    if had:
        return any(not flaw.doubtful for flaw in old)
    if _TEMPLATE.search(file.text):
        return True
    return language == "JSON" and _is_other_json(file)


def _is_other_json(file: FileScan) -> bool:
    """Whether it is JSON with comments, or has one JSON value per line."""
    lines = [line for line in file.lines if line.strip()]
    if len(lines) > 1 and all(not _json_flaws(line) for line in lines[:50]):
        return True
    plain = _COMMENTS.sub(lambda match: match[1] or "", file.text)
    if plain != file.text or _COMMENTED.search(file.path):
        return not _json_flaws(_TRAILING.sub(lambda match: match[1] or "", plain))
    return False


def _syntax_remark(file: FileScan, language: str, flaw: SyntaxFlaw) -> Remark:
    line = flaw.line if flaw.line in file.changed else file.nearest(flaw.line)
    where = "" if line == flaw.line else f" It was noticed at line {flaw.line}."
    return file.remark(
        "syntax-error",
        Severity.ERROR,
        f"This is not valid {language}: {flaw.words}",
        f"Programs that read {PurePosixPath(file.path).name} will fail.{where}",
        line=line,
    )


def _duplicate_remark(file: FileScan, flaw: SyntaxFlaw) -> Remark:
    return file.remark(
        "duplicate-key",
        Severity.WARNING,
        flaw.words,
        "Only one of the two counts, and which one depends on the program that reads it.",
        line=flaw.line,
    )


def _reader(path: str) -> tuple[str, Callable[[str], tuple[SyntaxFlaw, ...]]] | None:
    for suffixes, language, read in (
        ((".json",), "JSON", _json_flaws),
        ((".toml",), "TOML", _toml_flaws),
        ((".yaml", ".yml"), "YAML", _yaml_flaws),
    ):
        if path.endswith(suffixes):
            return language, read
    return None


def _json_flaws(text: str) -> tuple[SyntaxFlaw, ...]:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        return (SyntaxFlaw(error.lineno, error.msg),)
    except (ValueError, RecursionError):
        return ()  # a number with 5,000 digits, or deep nesting: unusual, but valid
    return ()


def _toml_flaws(text: str) -> tuple[SyntaxFlaw, ...]:
    try:
        parse_toml(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        match = _AT.search(str(error))
        line = int(match[1]) if match else text.count("\n") + 1
        return (SyntaxFlaw(line, _AT.sub("", str(error)).strip()),)
    except (ValueError, RecursionError):
        return ()
    return ()


def _yaml_flaws(text: str) -> tuple[SyntaxFlaw, ...]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if (quick_flaws := _quick_yaml_flaws(text)) is not None:
        return quick_flaws
    if len(text) > _MAX_SLOW_YAML_LENGTH:
        return ()  # ruamel takes 15 seconds for a megabyte
    yaml = YAML(typ="safe", pure=True)
    found: list[SyntaxFlaw] = []
    try:
        for node in yaml.compose_all(text):
            found += _duplicate_keys(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return (
            SyntaxFlaw(mark.line + 1 if mark else 1, str(error.problem or error.context or "it cannot be read")[:150]),
        )
    except YAMLError:
        return (SyntaxFlaw(1, "it contains a character that YAML does not allow"),)
    except (ValueError, RecursionError, AttributeError, TypeError, IndexError):
        return ()  # a bug of the parser
    return tuple(found)


def _quick_yaml_flaws(text: str) -> tuple[SyntaxFlaw, ...] | None:
    """Parse with libyaml, ten times faster. None where it is missing or fails: ruamel (YAML 1.2) decides then."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", None)
    if loader is None:
        return None
    try:
        # libyaml recurses in C: deep nesting would crash the process; ruamel cannot parse it either
        if _deepest_possible(text) > _MAX_YAML_DEPTH and _depth(yaml.parse(text, Loader=loader)) > _MAX_YAML_DEPTH:
            return ()
        return tuple(flaw for node in yaml.compose_all(text, Loader=loader) for flaw in _duplicate_keys(node))
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, TypeError, IndexError):
        return None


def _deepest_possible(text: str) -> int:
    """An upper limit of the depth: one level per bracket, and one per character of the longest indent."""
    return text.count("[") + text.count("{") + max(map(len, _INDENT.findall(text)), default=0)


def _depth(events: Iterable[object]) -> int:
    """Depth of nested sequences and mappings; counting stops at the limit."""
    depth = deepest = 0
    for event in events:
        name = type(event).__name__
        depth += (name in ("SequenceStartEvent", "MappingStartEvent")) - (
            name in ("SequenceEndEvent", "MappingEndEvent")
        )
        deepest = max(deepest, depth)
        if deepest > _MAX_YAML_DEPTH:
            break
    return deepest


def _duplicate_keys(root: object) -> Iterator[SyntaxFlaw]:
    """Duplicate keys in mappings. Each node is visited once: nodes may be shared and even contain themselves."""
    todo, visited_ids = [root], set()
    while todo:
        node = todo.pop()
        value = getattr(node, "value", None)
        if id(node) in visited_ids or not isinstance(value, list):
            continue
        visited_ids.add(id(node))
        keys: set[str] = set()
        for item in value:
            if not isinstance(item, tuple):
                todo.append(item)
                continue
            key = item[0].value
            if isinstance(key, str) and key in keys and key != "<<":
                yield SyntaxFlaw(item[0].start_mark.line + 1, f"Duplicate key: {key[:60]}", doubtful=True)
            if isinstance(key, str):
                keys.add(key)
            todo.append(item[1])
