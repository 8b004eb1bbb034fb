"""Parses files with tree-sitter. Runs in its own process: grammars are C code, and the files are untrusted.

Reads JSON from stdin, `{"folder", "paths"}`, and writes `{path: [line, words]}` for each file with a syntax error, and
`[0, reason]` for a file that was given up: hostile code can take a grammar minutes and gigabytes.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 1024 * 1024
# processor time of one file, and of all
SECONDS_PER_FILE, SECONDS = 2, 8
MEMORY = 2 * 1024**3
# in place of a line, for a file that was given up
GIVEN_UP = 0
Rewrite = Callable[[bytes], bytes]


def _unchanged(code: bytes) -> bytes:
    return code


_EXPORT_TYPE = re.compile(rb"(\bexport\s+)type(?=\s+\*)")
_IMPORT_CALL = re.compile(rb"\bimport(\s*\(\s*)(['\"])([^'\"\n]*)\2(?:\s*,\s*\{[^{}]*\{[^{}]*\}[^{}]*\})?\s*\)")
_VARIANCE = re.compile(rb"([<,]\s*)((?:in\s+out|in|out)(?=\s+[\w$]+\s*(?:[,>=]|extends\b)))")
_KEYWORD_KEY = re.compile(rb"^([ \t]*(?:readonly[ \t]+)?)(?:in|of|is|as)(?=\??:)", re.MULTILINE)
_BETWEEN = rb"(?:[\w\])}'\"?]|(?<!=)>)(?=[ \t]*(?://[^\n]*)?\n(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
_BEFORE_GENERIC = re.compile(_BETWEEN + rb"<\s*[\w$])")
_BEFORE_SIGNATURE = re.compile(_BETWEEN + rb"(?:<\s*[\w$]|\())")


def _typescript(code: bytes) -> bytes:
    """Replaces valid TypeScript that grammar 0.23 cannot parse (found in 6,800 public files) by equivalent syntax.

    Keeps line numbers.
    """
    code = _EXPORT_TYPE.sub(rb"\1    ", code)
    code = _IMPORT_CALL.sub(lambda found: b"imported" + b"\n" * found[0].count(b"\n"), code)
    code = _KEYWORD_KEY.sub(rb"\1key", code)
    return _VARIANCE.sub(lambda found: found[1] + b" " * len(found[2]), code)


def _separate_generic(code: bytes) -> bytes:
    """Adds semicolons between overloads in an interface."""
    return _BEFORE_GENERIC.sub(rb"\g<0>;", _typescript(code))


def _separate_signatures(code: bytes) -> bytes:
    return _BEFORE_SIGNATURE.sub(rb"\g<0>;", _typescript(code))


# extension → (language, rewrite) pairs to try; one that succeeds is enough
_JAVASCRIPT: tuple[tuple[str, Rewrite], ...] = (("javascript", _unchanged), ("tsx", _typescript))
_TYPESCRIPT: tuple[tuple[str, Rewrite], ...] = (
    ("typescript", _unchanged),
    ("typescript", _typescript),
    ("typescript", _separate_generic),
    ("typescript", _separate_signatures),
)
_TSX = tuple(("tsx", rewrite) for _, rewrite in _TYPESCRIPT)
GRAMMARS: dict[str, tuple[tuple[str, Rewrite], ...]] = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": _TSX,
    ".go": (("go", _unchanged),),
    ".rs": (("rust", _unchanged),),
    ".java": (("java", _unchanged),),
}


@cache
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    if language in ("typescript", "tsx"):
        import tree_sitter_typescript

        pointer = getattr(tree_sitter_typescript, f"language_{language}")()
    else:
        import importlib

        pointer = importlib.import_module(f"tree_sitter_{language}").language()
    return Parser(Language(pointer))


def find_error(ending: str, code: bytes) -> tuple[int, str] | None:
    """Line and message of the first syntax error; None if one pair of `GRAMMARS` finds none."""
    first: tuple[int, str] | None = None
    for language, rewrite in GRAMMARS[ending]:
        root = _parser(language).parse(rewrite(code)).root_node
        if not root.has_error:
            return None
        first = first or _describe(root)
    return first


def _describe(root: Node) -> tuple[int, str]:
    node = next(_problems(root), root)
    line = node.start_point[0] + 1
    if node.is_missing:
        return line, f"`{node.type}` is missing"
    text = (node.text or b"").strip().split(b"\n")[0][:60].decode("utf-8", "replace")
    return line, f"this cannot be parsed: `{text}`" if text else "this cannot be parsed"


def _problems(root: Node) -> Iterator[Node]:
    """ERROR and MISSING nodes in the order of the text."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            pending += reversed(node.children)


def find_errors(folder: Path, paths: list[str]) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    start = _used_seconds()
    for path in paths:
        code = (folder / path).read_bytes()
        if len(code) > MAX_BYTES:
            continue
        if _used_seconds() - start > SECONDS:
            found[path] = GIVEN_UP, "the time for parsing is used up"
        elif error := _find_limited(Path(path).suffix, code):
            found[path] = error
    return found


def _used_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _find_limited(ending: str, code: bytes) -> tuple[int, str] | None:
    """The error, found in a process with limits of its own: the parser itself cannot be stopped."""
    for language, _ in GRAMMARS[ending]:
        _parser(language)  # loaded once, before the process is copied
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_PER_FILE, SECONDS_PER_FILE))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(writer, json.dumps(find_error(ending, code)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    try:
        error = json.loads(text)
    except ValueError:
        return GIVEN_UP, "the parser needs too much time or memory"
    return (int(error[0]), str(error[1])) if error else None


if __name__ == "__main__":
    request = json.load(sys.stdin)
    json.dump(find_errors(Path(request["folder"]), request["paths"]), sys.stdout)
