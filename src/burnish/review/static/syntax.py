"""JSON, TOML and YAML that no program will read."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from burnish.core.finding import Remark, Severity
from burnish.review.static.files import FileScan

# Both parsers are written in Python: a second for so much.
LARGEST = 256 * 1024
_COMMENTED = re.compile(
    r"(^|/)(?:[tj]sconfig[^/]*|\.eslintrc|\.jshintrc|\.swcrc|\.hintrc|\.jscsrc|devcontainer|biome|turbo|nx|deno|api-extractor"
    r"|angular|renovate|language-configuration|settings|launch|tasks|extensions|keybindings|wrangler|rush|\.babelrc)\.json$"
    r"|(^|/)\.(?:vscode|devcontainer)/|\.code-workspace$"
)
_ODD_ON_PURPOSE = re.compile(r"bad|invalid|broken|malformed|corrupt|truncated|error|fail|wrong|syntax", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{\w+\}")
_COMMENTS = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
# of sequences and mappings in each other
_DEEPEST_YAML = 1000
_INDENT = re.compile(r"^[ \t?:-]+", re.MULTILINE)
_AT = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class SyntaxFlaw:
    line: int
    words: str
    # the program will read it, but not as it looks
    doubtful: bool = False


def syntax_remarks(file: FileScan) -> Iterator[Remark]:
    """One remark at most for what cannot be read, and one for each key that stands twice."""
    found = _reader(file.path)
    if not found or not file.lines or file.is_lock or len(file.data) > LARGEST or not file.text.strip():
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
                yield _doubt(file, flaw)
        elif not _excused(file, language, had=before is not None, old=old):
            yield _broken(file, language, flaw)


def _excused(file: FileScan, language: str, *, had: bool, old: tuple[SyntaxFlaw, ...]) -> bool:
    """Broken before, or not meant to be read as it stands."""
    if language == "JSON" and _COMMENTED.search(file.path) and _is_other_json(file):
        return True
    if had:
        return any(not flaw.doubtful for flaw in old)
    if _TEMPLATE.search(file.text):
        return True
    return language == "JSON" and _is_other_json(file)


def _is_other_json(file: FileScan) -> bool:
    """JSON with comments, or one value a line."""
    lines = [line for line in file.lines if line.strip()]
    if len(lines) > 1 and all(not _json_flaws(line) for line in lines[:50]):
        return True
    plain = _COMMENTS.sub(lambda match: match[1] or "", file.text)
    if plain != file.text or _COMMENTED.search(file.path):
        return not _json_flaws(_TRAILING.sub(lambda match: match[1] or "", plain))
    return False


def _broken(file: FileScan, language: str, flaw: SyntaxFlaw) -> Remark:
    line = flaw.line if flaw.line in file.changed else file.nearest(flaw.line)
    where = "" if line == flaw.line else f" It was noticed at line {flaw.line}."
    return file.remark(
        "syntax-error",
        Severity.ERROR,
        f"This is not valid {language}: {flaw.words}",
        f"Whatever reads {PurePosixPath(file.path).name} will refuse it.{where}",
        line=line,
    )


def _doubt(file: FileScan, flaw: SyntaxFlaw) -> Remark:
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
        return ()  # a number with 5,000 digits, or nested without end: odd, but JSON
    return ()


def _toml_flaws(text: str) -> tuple[SyntaxFlaw, ...]:
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
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

    if (known := _quick_yaml_flaws(text)) is not None:
        return known
    yaml = YAML(typ="safe", pure=True)
    found: list[SyntaxFlaw] = []
    try:
        for node in yaml.compose_all(text):
            found += _twice(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return (
            SyntaxFlaw(mark.line + 1 if mark else 1, str(error.problem or error.context or "it cannot be read")[:150]),
        )
    except YAMLError:
        return (SyntaxFlaw(1, "it holds a character that YAML does not allow"),)
    except (ValueError, RecursionError, AttributeError, TypeError, IndexError):
        return ()  # the parser's own trouble with something odd
    return tuple(found)


def _quick_yaml_flaws(text: str) -> tuple[SyntaxFlaw, ...] | None:
    """By libyaml, in a tenth of the time. None where it is missing or refuses: ruamel knows YAML 1.2 and decides."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", None)
    if loader is None:
        return None
    try:
        # It composes by recursion in C: a text that is nested too deep would end the process. ruamel refuses it, too.
        if _deepest_possible(text) > _DEEPEST_YAML and _depth(yaml.parse(text, Loader=loader)) > _DEEPEST_YAML:
            return ()
        return tuple(flaw for node in yaml.compose_all(text, Loader=loader) for flaw in _twice(node))
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, TypeError, IndexError):
        return None


def _deepest_possible(text: str) -> int:
    """At most so many levels: one for each bracket, and one for each sign at the beginning of a line."""
    return text.count("[") + text.count("{") + max(map(len, _INDENT.findall(text)), default=0)


def _depth(events: Iterable[object]) -> int:
    """How many sequences and mappings lie in each other; counted no further than the limit."""
    depth = deepest = 0
    for event in events:
        name = type(event).__name__
        depth += (name in ("SequenceStartEvent", "MappingStartEvent")) - (
            name in ("SequenceEndEvent", "MappingEndEvent")
        )
        deepest = max(deepest, depth)
        if deepest > _DEEPEST_YAML:
            break
    return deepest


def _twice(root: object) -> Iterator[SyntaxFlaw]:
    """Keys that stand twice in one mapping; each node once, for they may be shared and even hold themselves."""
    todo, known = [root], set()
    while todo:
        node = todo.pop()
        value = getattr(node, "value", None)
        if id(node) in known or not isinstance(value, list):
            continue
        known.add(id(node))
        keys: set[str] = set()
        for item in value:
            if not isinstance(item, tuple):
                todo.append(item)
                continue
            key = item[0].value
            if isinstance(key, str) and key in keys and key != "<<":
                yield SyntaxFlaw(item[0].start_mark.line + 1, f"The key {key[:60]} stands twice", doubtful=True)
            if isinstance(key, str):
                keys.add(key)
            todo.append(item[1])
