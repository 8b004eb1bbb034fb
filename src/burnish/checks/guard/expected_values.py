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
        (now[name], before[name]) for name in now if name in before and edits_examples(before[name][2], now[name][2])
    ]
    if not edits:
        return None
    source, result = old.encode(), new.encode()
    for (start, end, _), (old_start, old_end, _) in sorted(edits, reverse=True):
        result = result[:start] + source[old_start:old_end] + result[end:]
    return result.decode()


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
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
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
    if _DATA.search(path):
        return True
    if old_text is None:
        return False
    if path.endswith(".py"):
        return _has_only_constants(old_text)
    # a module of JavaScript that calls and defines nothing
    is_script = re.search(r"\.[cm]?[jt]s$", path) is not None and "export" in old_text
    return is_script and not re.search(r"[(]|=>|\bimport\b", _TEXT_OR_COMMENT.sub("", old_text))


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
