"""Expected values outside of the files of tests: examples of doctest, and data that only tests name. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from doctest import DocTestParser
from pathlib import PurePosixPath

from burnish.checks.guard.python_tests import parsed
from burnish.core.change import ChangedFile

# -- examples of doctest --------------------------------------------------------------------------

# Texts whose examples `--doctest-glob` and DocFileSuite run.
TEXTS_WITH_EXAMPLES = (".rst", ".md", ".txt")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# A place in bytes, and what is there.
_Span = tuple[int, int, str]


def with_old_examples(old: str, new: str) -> str | None:
    """The new Python source with those docstrings of the old one whose examples were edited; None if none was."""
    if ">>>" not in old or "\ufffd" in new:  # what is not UTF-8 could not be written again
        return None
    before, now = _docstrings(old), _docstrings(new)
    edits = [
        (before[name], now[name]) for name in now if name in before and edits_examples(before[name][2], now[name][2])
    ]
    if not edits:
        return None
    return with_spans(new, old, edits)


def edits_examples(old: str, new: str) -> bool:
    """True if an example of the old text is missing in the new one, or has another result."""
    remaining = iter(_examples(new))
    return not all(example in remaining for example in _examples(old))


def _examples(text: str) -> list[tuple[str, str]]:
    try:
        return [(example.source, example.want) for example in DocTestParser().get_examples(text)]
    except ValueError:
        return []


def _docstrings(source: str) -> dict[str, _Span]:
    """The docstrings by the name of what they describe."""
    tree = parsed(source)
    starts = _line_starts(source)
    found: dict[str, _Span] = {}
    pending: list[tuple[str, _Documented]] = [("", tree)]
    while pending:
        name, node = pending.pop()
        first = node.body[0] if node.body else None
        value = first.value if isinstance(first, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.end_lineno:
            start = starts[value.lineno - 1] + value.col_offset
            end = starts[value.end_lineno - 1] + (value.end_col_offset or 0)
            found[name] = (start, end, value.value)
        inner = [one for one in node.body if isinstance(one, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
        pending += [(f"{name}.{one.name}", one) for one in inner]
    return found


# -- constants ------------------------------------------------------------------------------------

_SCRIPT = re.compile(r"\.[cm]?[jt]s$")
_SCRIPT_CONSTANT = re.compile(
    r"^(?:(?:export\s+)?(?:const|let|var)\s+|(?:module\.)?exports\.)([\w$]+)\b[^=\n]*=(?![=>])\s*([^\n(=]+?);?[ \t]*$",
    re.M,
)
_LITERALS = (
    *(ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict),
)


def edited_constants(path: str, old: str, new: str) -> dict[str, tuple[_Span, _Span]]:
    """Constants with another value than before, by name, with their places before and now."""
    if path.endswith(".py"):
        before, now = _python_constants(old), _python_constants(new)
    elif _SCRIPT.search(path):
        before, now = _script_constants(old), _script_constants(new)
    else:
        return {}
    return {name: (before[name], now[name]) for name in now if name in before and before[name][2] != now[name][2]}


def with_spans(new: str, old: str, spans: Sequence[tuple[_Span, _Span]]) -> str:
    """The new text with these parts of the old one."""
    source, result = old.encode(), new.encode()
    for (old_start, old_end, _), (start, end, _) in sorted(spans, key=lambda pair: pair[1], reverse=True):
        result = result[:start] + source[old_start:old_end] + result[end:]
    return result.decode()


def _python_constants(source: str) -> dict[str, _Span]:
    starts = _line_starts(source)
    found: dict[str, _Span] = {}
    tree = parsed(source)
    bodies = [tree.body, *(one.body for one in tree.body if isinstance(one, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if value is None or len(targets) != 1 or not isinstance(targets[0], ast.Name) or not value.end_lineno:
            continue
        if all(isinstance(node, _LITERALS) for node in ast.walk(value)):
            start = starts[value.lineno - 1] + value.col_offset
            end = starts[value.end_lineno - 1] + (value.end_col_offset or 0)
            found[targets[0].id] = (start, end, ast.dump(value))
    return {name: span for name, span in found.items() if not name.startswith("__")}


def _script_constants(source: str) -> dict[str, _Span]:
    matches = [match for match in _SCRIPT_CONSTANT.finditer(source) if match[2].count("{") == match[2].count("}")]
    return {
        match[1]: (len(source[: match.start(2)].encode()), len(source[: match.end(2)].encode()), match[2])
        for match in matches
    }


def _line_starts(source: str) -> list[int]:
    """Where each line begins, in bytes."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


# -- data of tests --------------------------------------------------------------------------------

_DATA = re.compile(r"\.(?:jsonl?|ya?ml|csv|tsv|txt|xml|html?|svg|out|sql|dat|bin|png|npy|npz|parquet|pkl|gz)$")
CODE = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|java|kt|scala|rb|php|cs|c|h|cc|cpp|hpp|swift|ex|exs|pl|pm|t|sh|lua|toml|cfg)$"
    r"|(?:^|/)(?:Makefile|package\.json|Dockerfile)$"
)
_TEXT_OR_COMMENT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`|//.*|/\*[\s\S]*?\*/")


def may_be_data_of_tests(file: ChangedFile, old_text: str | None) -> bool:
    """True for data, and for modules that consist of constants, as they are at the base."""
    path = file.old_path or file.path
    if file.status == "A" or path.rpartition("/")[2].startswith("."):
        return False
    if _DATA.search(path) or is_helper_of_tests(path):
        return True
    if old_text is None:
        return False
    if path.endswith(".py"):
        return _has_only_constants(old_text)
    # a module of JavaScript that calls and defines nothing
    is_script = re.search(r"\.[cm]?[jt]s$", path) is not None and "export" in old_text
    return is_script and not re.search(r"[(]|=>|\bimport\b", _TEXT_OR_COMMENT.sub("", old_text))


# Modules of a program that help its tests: `shop/testing.py`, `shop/testing/asserts.py`, `src/test-utils.js`.
_HELPER = re.compile(
    r"(?:^|/)_?(?:testing|tests?[-_]?(?:utils?|helpers?|support|tools?|lib|base)|assertions?|asserts)(?:/[^/]+)?\.(?:py|[cm]?[jt]sx?)$",
    re.I,
)


def is_helper_of_tests(path: str) -> bool:
    return _HELPER.search(path) is not None


def only_tests_name(path: str, tests: Sequence[str], code: Sequence[str]) -> bool:
    """Whether a text of the tests names this file, and none of the other code names it or its folder."""
    pure = PurePosixPath(path)
    if _DATA.search(path):
        name = re.compile(rf"(?<![\w.-]){re.escape(pure.name)}(?![\w-])")
        parts = "|".join(map(re.escape, (pure.name, pure.stem, *filter(None, [pure.parent.name]))))
        other_name = re.compile(rf"""["'/`](?:{parts})["'/`]|(?<![\w.-]){re.escape(pure.name)}(?![\w-])""")
    else:
        name = other_name = re.compile(
            rf"""\b(?:import|from)\b[^\n]*\b{re.escape(pure.stem)}\b|["'/]{re.escape(pure.stem)}(?:\.\w+)?["']"""
        )
    return any(map(name.search, tests)) and not any(map(other_name.search, code))


def added_text(file: ChangedFile) -> str:
    lines = (line for hunk in file.hunks for line in hunk.text.split("\n")[1:])
    return "\n".join(line[1:] for line in lines if line.startswith("+"))


def _has_only_constants(source: str) -> bool:
    """Whether a Python module has nothing but assignments of literals."""
    body = parsed(source).body
    assignments = [one for one in body if isinstance(one, ast.Assign | ast.AnnAssign)]
    others = [one for one in body if one not in assignments and not _is_text(one)]
    return bool(assignments) and not others and all(_is_literal(one.value) for one in assignments)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_literal(value: ast.expr | None) -> bool:
    try:
        return value is None or ast.literal_eval(value) is not Ellipsis
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
