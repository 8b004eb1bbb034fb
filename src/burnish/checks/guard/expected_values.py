"""Tests and expected values outside of the files of tests: beside the code, in examples and in data. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from burnish.checks.guard.python_tests import parsed
from burnish.checks.guard.rust_tests import RUST_MODULE
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
    from doctest import DocTestParser  # it loads unittest and pdb

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


# -- tests beside the code ------------------------------------------------------------------------

_TESTS_OF_SCRIPT = re.compile(r"^if \(import\.meta\.vitest\) \{\n(?:(?!\}).*\n)*\}", re.M)
_TESTS_OF_C = re.compile(r"^#[ \t]*if(?:def\b|[ \t]).*TEST.*\n(?:(?!#[ \t]*(?:if|endif)).*\n)*#[ \t]*endif\b", re.M)


def with_old_tests(path: str, old: str, new: str) -> str | None:
    """The new source with those tests of the old one, beside its code, that were edited; None if none was."""
    if "assert" not in old or "\ufffd" in new:
        return None
    before, now = _tests_beside_code(path, old), _tests_beside_code(path, new)
    if not any(name not in now or now[name][2] != before[name][2] for name in before):
        return None
    text = with_spans(new, old, [(before[name], now[name]) for name in before if name in now])
    source = old.encode()
    missing = [source[start:end].decode() for name, (start, end, _) in before.items() if name not in now]
    return "\n\n\n".join((text.rstrip("\n"), *missing)) + "\n" if missing else text


def _tests_beside_code(path: str, source: str) -> dict[str, _Span]:
    if path.endswith(".py"):
        return _python_tests(source)
    pattern = _TESTS_OF_SCRIPT if re.search(r"\.[cm]?[jt]sx?$", path) else _TESTS_OF_C
    found: dict[str, _Span] = {}
    for number, match in enumerate(pattern.finditer(source)):
        if "assert" in match[0] or "expect(" in match[0]:
            start = len(source[: match.start()].encode())
            found[str(number)] = (start, start + len(match[0].encode()), match[0])
    return found


def _python_tests(source: str) -> dict[str, _Span]:
    """Functions and classes of tests, and what a module asserts when it is started. What other code uses is none."""
    starts = _line_starts(source)
    tree = parsed(source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found: dict[str, _Span] = {}
    for statement in tree.body:
        name = _name_of_test(statement)
        if name and name not in names and statement.end_lineno and _asserts(statement):
            decorators = getattr(statement, "decorator_list", [])
            first = min(one.lineno for one in (*decorators, statement))
            end = starts[statement.end_lineno - 1] + (statement.end_col_offset or 0)
            found[name] = (starts[first - 1], end, ast.dump(statement))
    return found


def _name_of_test(statement: ast.stmt) -> str:
    if isinstance(statement, ast.If):
        return "__main__" if "'__main__'" in ast.dump(statement.test) else ""
    if isinstance(statement, ast.ClassDef):
        is_class = statement.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in statement.bases)
        return statement.name if is_class else ""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test"):
        return statement.name
    return ""


def _asserts(statement: ast.stmt) -> bool:
    nodes = list(ast.walk(statement))
    is_method = any(isinstance(node, ast.Attribute) and node.attr.startswith("assert") for node in nodes)
    return is_method or any(isinstance(node, ast.Assert) for node in nodes)


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

_DATA = re.compile(
    r"\.(?:jsonl?|ya?ml|csv|tsv|txt|xml|html?|svg|out|in|ok|ref|exp|dat|bin|png|npy|npz|parquet|pkl|gz)$"
)
CODE = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|java|kt|scala|rb|php|cs|c|h|cc|cpp|hpp|swift|ex|exs|pl|pm|t|sh|bash|bats|mk|lua|toml|cfg|cmake|gradle|kts)$"
    r"|(?:^|/)(?:(?:GNUm|M|m)akefile|[Jj]ustfile|package\.json|Dockerfile|CMakeLists\.txt|meson\.build|Rakefile|run[-_]?tests?)$"
)
_TEXT_OR_COMMENT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`]*`|//.*|/\*[\s\S]*?(?:\*/|\Z)")
# Languages with modules of constants, and what shows that a module has code. In Python and JavaScript, see below.
_HASH_COMMENT = re.compile(r"(?<!\S)#(?![ \t]*define\b|\[).*")
_HAS_CODE = {
    "rs": r"\bfn\b|\bmacro_rules!|\bimpl\b",
    "go": r"\bfunc\b",
    **dict.fromkeys(
        ("java", "kt", "scala", "cs", "c", "h", "cc", "cpp", "hpp"),
        r"\)\s{0,20}(?:\w{1,40}\s{0,20})?\{|\b(?:fun|def)\b|=>",
    ),
    **dict.fromkeys(("pl", "pm"), r"\bsub\b"),
    "rb": r"\bdef\b|\blambda\b|->|\bdo\b",
    "php": r"\bfunction\b|\bfn\b",
    **dict.fromkeys(("sh", "bash"), r"\(\)|\bfunction\b|^[ \t]*(?:if|for|while|echo|printf)\b"),
}
_HAS_CONSTANT = re.compile(r"=|\bconst\b|\buse constant\b|#[ \t]*define[ \t]+\w+[ \t]+\S")
# Names of modules that compute expected values, or that only help tests.
_HELPER_OF_TESTS = (
    r"test(?:ing|s?[-_]?(?:utils?|helpers?|support|tools?|base|lib)|[-_]?(?:data|kit|cases?|harness))"
    r"|assert(?:ions?|s)?|harness|minunit"
)
_OF_TESTS = re.compile(
    rf"_?(?:expected|expectations?|oracles?|goldens?|naive|brute_?force|known_(?:values|answers|results)|{_HELPER_OF_TESTS})"
    r"(?:_\w+)?|\w+_(?:expected|oracle|naive|reference|testing|test_(?:utils?|helpers?))|reference_(?:impl\w*|values|results|model)",
    re.I,
)
# Their folder: `shop/testing/sums.py`.
_FOLDER_OF_TESTS = re.compile(rf"_?(?:{_HELPER_OF_TESTS})", re.I)
_DEFINES = re.compile(r"\b(?:class|def|fn|func|function)\b|=>")
# Folders of programs, which tests name to import from them.
_OF_PROGRAM = frozenset("src lib app bin include pkg cmd internal dist build .".split())
# What stands for a value inside of a text: `{name}`, `${name}`, `#{name}`, `%s`, `*`, `$name`.
_IN_TEXT = re.compile(r"\$?#?\{[^{}]*\}|%[sd]|\*+|\$\w+")
_TEXT = re.compile(r"\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|`([^`\n]{1,300})`")


def may_be_data_of_tests(file: ChangedFile, old_text: str | None) -> bool:
    """True for data, for modules of constants as they are at the base, and for modules with a name of tests."""
    path = file.old_path or file.path
    if file.status == "A" or path.rpartition("/")[2].startswith("."):
        return False
    if _DATA.search(path):
        return path.rpartition("/")[2] not in ("CMakeLists.txt", "pom.xml")
    if helps_tests(path, old_text):
        return True
    if old_text is None:
        return False
    if path.endswith(".py"):
        return _has_only_constants(old_text)
    if has_code := _HAS_CODE.get(path.rpartition(".")[2]):
        plain = _HASH_COMMENT.sub("", _TEXT_OR_COMMENT.sub('""', old_text))
        return _HAS_CONSTANT.search(plain) is not None and not re.search(has_code, plain, re.M)
    # a module of JavaScript that calls and defines nothing
    is_script = re.search(r"\.[cm]?[jt]s$", path) is not None and "export" in old_text
    return is_script and not re.search(r"[(]|=>|\bimport\b", _TEXT_OR_COMMENT.sub("", old_text))


# A macro that compares for tests: `#define CHECK(x) …`, `#define mu_assert(message, test) …`.
_TEST_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?:\w+_)?(?:assert|check|expect|require|verify|test)\w*\(", re.M | re.I
)


def helps_tests(path: str, text: str | None = None) -> bool:
    """True for a module whose name, or a macro in whose text, says that it is for tests. It may have other code."""
    if text and re.search(r"\.h(?:pp|h|xx)?$", path) and _TEST_MACRO.search(text):
        return True
    pure = PurePosixPath(path)
    is_named = _OF_TESTS.fullmatch(pure.stem) or _FOLDER_OF_TESTS.fullmatch(pure.parent.name)
    return CODE.search(path) is not None and is_named is not None


def without_exports(text: str, path: str) -> str:
    """Code without the lines with which a package exports this module. Code that defines or calls something uses it."""
    stem = re.escape(PurePosixPath(path).stem)
    if _DEFINES.search(text) or re.search(rf"\b{stem}\.\w+\(", text):
        return text
    exports = (
        rf"^from\s+\.{stem}\s+import\b.*",
        rf"^from\s+[\w.]+\s+import\b.*\b{stem}\b.*",
        rf"^export\b.*\bfrom\s*[\"']\./{stem}(?:\.\w+)?[\"'].*",
    )
    return re.sub("|".join(exports), "", text, flags=re.M)


def only_tests_name(path: str, tests: Sequence[str], code: Sequence[str], old_text: str | None = None) -> bool:
    """Whether a text of the tests names this file, and none of the other code names it or its folder."""
    pure = PurePosixPath(path)
    if _DATA.search(path):
        folder = pure.parent.name
        names = [rf"(?<![\w.-]){re.escape(pure.name)}(?![\w-])"]
        # the folder of data whose name is put together
        if folder not in ("", *_OF_PROGRAM):
            names.append(rf"(?:[\"'`/\s]|^){re.escape(folder)}(?:[\"'`]|/[^\s\"'`]*[*${{%#]|/[\"'`])")
        parts = "|".join(map(re.escape, (pure.name, pure.stem, *filter(None, [folder]))))
        other_names = [rf"[\"'/`](?:{parts})[\"'/`]", names[0], *([rf"(?:^|\s){re.escape(folder)}/"] if folder else ())]
        is_named = any(re.search(name, text, re.M) for name in names for text in tests)
        is_named = is_named or any(_puts_together(text, pure.name) for text in tests)
        return is_named and not any(re.search(name, text, re.M) for name in other_names for text in code)
    name = _name_in_code(path, old_text)
    return any(map(name.search, tests)) and not any(map(name.search, code))


def _puts_together(text: str, name: str) -> bool:
    """Whether a text in the code, with values in it, gives this name: `f"sums_{number}.csv"`."""
    ending = name.rpartition(".")[2]
    for match in _TEXT.finditer(text):
        word = next(filter(None, match.groups())).rpartition("/")[2]
        pieces = _IN_TEXT.split(word)
        letters = sum(map(len, re.findall(r"\w+", "".join(pieces))))
        # an ending alone is the name of all data
        is_name = pieces[1:] and word.endswith(f".{ending}") and letters > len(ending) + 2
        if is_name and re.fullmatch(r"[^/]+".join(map(re.escape, pieces)), name):
            return True
    return False


def _name_in_code(path: str, old_text: str | None) -> re.Pattern[str]:
    """How code names a module."""
    pure = PurePosixPath(path)
    stem = re.escape(pure.stem)
    if path.endswith(".go"):
        # a file of a package is not imported; its names are
        blocks = re.findall(r"^(?:const|var) \(\n((?:(?:\t.*)?\n)*)", old_text or "", re.M)
        names = re.findall(r"^(?:const|var|func)[ \t]+([A-Za-z_]\w*)", old_text or "", re.M)
        names += [name for block in blocks for name in re.findall(r"^\t([A-Za-z_]\w*)", block, re.M)]
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, names)) or stem})\b")
    if path.endswith((".java", ".kt", ".scala", ".cs")):
        return re.compile(rf"\b{stem}\b")
    return re.compile(
        rf"""\b(?:import|from)\b[^\n]*\b{stem}\b|["'/]{stem}(?:\.\w+)?["']|\b{stem}::"""
        rf"|^[ \t]*(?:pub )?use\b[^\n]*\b{stem}\b|(?<![\w.-]){re.escape(pure.name)}(?![\w-])",
        re.M,
    )


# Lines and recipes that compare what a program prints with a file.
_COMPARES = re.compile(r"\b(?:diff|cmp|compare_files|comm|colordiff)\b")
_RECIPE = re.compile(r"^[^\s#:=][^\n:=]*:(?!=)[^\n]*\n(?:\t[^\n]*\n?)*", re.M)


def split_tests(path: str, text: str) -> tuple[str, str]:
    """Other code in two: what is tests (scripts and recipes that compare files, test modules of Rust), and the rest."""
    if path.endswith(".rs"):
        match = RUST_MODULE.search(text)
        tests, rest = (text[match.start() :], text[: match.start()]) if match else ("", text)
        # modules that only tests use are declared, too
        return tests, re.sub(r"^[ \t]*(?:pub(?:\([^)]*\))? )?mod \w+;", "", rest, flags=re.M)
    if re.search(r"(?:akefile|\.mk)$", path):
        recipes = [recipe for recipe in _RECIPE.findall(text) if _COMPARES.search(recipe)]
        for recipe in recipes:
            text = text.replace(recipe, "")
        return "\n".join(recipes), text
    if path.endswith(("CMakeLists.txt", ".cmake", "meson.build")):
        lines = text.splitlines()
        comparing = [line for line in lines if _COMPARES.search(line)]
        return "\n".join(comparing), "\n".join(line for line in lines if line not in comparing)
    is_script = path.endswith((".sh", ".bash", "package.json", "ustfile")) or "." not in path.rpartition("/")[2]
    return (text, "") if is_script and _COMPARES.search(text) else ("", text)


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
