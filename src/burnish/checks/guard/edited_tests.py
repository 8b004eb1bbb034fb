"""Which tests of its base a change edits: test files, expected output, and settings that only tests read. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from burnish.checks.dependency_files import dependency_paths
from burnish.checks.guard.expected_values import (
    CODE,
    TEXTS_WITH_EXAMPLES,
    added_text,
    edited_constants,
    edits_examples,
    helps_tests,
    may_be_data_of_tests,
    only_tests_name,
    with_old_examples,
    with_old_tests,
    with_spans,
    without_exports,
)
from burnish.checks.guard.python_tests import parsed
from burnish.checks.guard.rust_tests import same_modules, test_modules, with_old_rust_examples
from burnish.checks.guard.test_counts import has_inline_tests, holds_tests
from burnish.core.base_tests import EditedTests
from burnish.core.change import Change, ChangedFile
from burnish.core.commit import TreeEntry
from burnish.core.review_checks import is_test_path

Text = Callable[[str], str | None]

# Data of tests in a folder of its own, or by its ending.
_DATA = re.compile(
    r"""(?:^|/)(?:tests?|__tests__|e2e|testdata|test[-_](?:data|files|resources|cases|utils?|helpers?|support)|testcases|__fixtures__|fixtures?
        |__snapshots__|__mocks__|cassettes|specs?/(?:.*/)?(?:data|fixtures|files|support|snapshots|factories|cassettes))/
    | (?:^|/)(?:goldens?|snapshots?|expected|baselines?|approvals?)/(?:.*/)?[^/]*
        (?<!\.py)(?<!\.[jt]s)(?<!\.[jt]sx)(?<!\.go)(?<!\.rs)(?<!\.java)$
    | \.(?:snap|golden|ambr|approved|expected|storyshot)$ | \.(?:approved|verified|golden|expected)\.\w+$""",
    re.X,
)
# Settings that only tests read: `.env.test`, `config/test.json`, `application-test.yml`, `test-setup.js`.
_SETTINGS = re.compile(
    r"""(?:^|/)(?:conftest\.py|\.?pytest\.(?:ini|toml)|\.rspec|phpunit\.xml(?:\.dist)?|\.mocharc(?:\.\w+)?|\.config/nextest\.toml
        |(?:jest|vitest|playwright|cypress|ava|karma)\.\w*\.?[cm]?[jt]sx?|jest\.config\.json|setupTests?\.[cm]?[jt]sx?
        |(?:[\w.-]*[._-])?tests?(?:[._-][\w.-]*)?\.(?:json5?|ya?ml|toml|ini|cfg|env|properties|conf|xml|rb|[cm]?[jt]sx?)
        |\.env(?:\.[\w-]+)*\.test(?:\.\w+)*)$""",
    re.X,
)
# Settings of builds and packages that have `test` in their name.
_NO_SETTINGS = re.compile(r"(?:^|/)(?:tsconfig|package|docker-compose|\.github/)[^/]*")


def edited_tests(change: Change, old_text: Text, new_text: Text, *, data: Collection[str] = ()) -> EditedTests:
    """The tests of the base that the change edits or deletes, and how to put all of them back.

    `data` are files outside of the tests that only tests name. An added line counts like any other: whether it
    switches off the lines below it, only a run tells in every language. New files do not count. If another file does,
    they are taken away as well: they may need a fixture or a helper that is put back.
    """
    files = _test_files(change, data, old_text)
    sources = list(_sources(change, files, old_text, new_text))
    edits = [file.old_path or file.path for file in files if file.status != "A" or _replaces(file, new_text)]
    edits += [entry.path for entry in sources]
    if not edits:
        return EditedTests()
    entries = [entry for file in files for entry in _restored(file)]
    return EditedTests(tuple(edits), (*entries, *sources))


def belongs_to_tests(path: str) -> bool:
    """True for test files, their data, and settings that only tests read."""
    if is_test_path(path) or _DATA.search(path):
        return True
    return _SETTINGS.search(path) is not None and _NO_SETTINGS.search(path) is None


def data_of_tests(change: Change, old_text: Text, tests: Sequence[str], code: Sequence[str]) -> tuple[str, ...]:
    """Changed files outside of the tests that hold their data: of the texts, only those of `tests` name them."""
    changed_code = [file for file in change.files if CODE.search(file.path) and not _is_of_tests(file)]
    found = []
    possible = possible_data(change, old_text)
    has_program = any(not _is_of_tests(file) and (file.old_path or file.path) not in possible for file in change.files)
    for path in possible:
        others = [file for file in changed_code if path not in (file.path, file.old_path)]
        old = old_text(path)
        if not (others if helps_tests(path, old) else has_program):
            continue  # it may be what is under test: a schema, a template
        texts = [text for text in code if text != old]
        if helps_tests(path, old):
            texts = [without_exports(text, path) for text in texts]
        # added code may need what the change adds to the file
        if only_tests_name(path, tests, [*texts, *map(added_text, others)], old):
            found.append(path)
    return tuple(found)


def possible_data(change: Change, old_text: Text) -> list[str]:
    """Files that may be data of tests, by their kind."""
    found = [(file, file.old_path or file.path) for file in change.files if not _is_of_tests(file)]
    paths = [path for file, path in found if file.status != "A" and may_be_data_of_tests(file, old_text(path))]
    installing = set(dependency_paths(paths))
    return [path for path in paths if path not in installing and not _NO_SETTINGS.search(path)]


def _test_files(change: Change, data: Collection[str], old_text: Text) -> list[ChangedFile]:
    paths = [path for file in change.files for path in (file.path, file.old_path) if path]
    # what decides about the environment stays as the change has it, or its code could not be imported
    installing = set(dependency_paths(paths))
    files = [file for file in change.files if _is_of_tests(file) or _is_named(file, data, old_text)]
    return [file for file in files if not {file.path, file.old_path} & installing]


def _is_named(file: ChangedFile, data: Collection[str], old_text: Text) -> bool:
    """Whether the file belongs to tests although its path does not tell that."""
    path = file.old_path or file.path
    return path in data or (file.status in "MRD" and not file.binary and holds_tests(path, old_text(path) or ""))


def _is_of_tests(file: ChangedFile) -> bool:
    # a test that moves to a place where it is not collected is put back; code that becomes a test stays
    return belongs_to_tests(file.old_path or file.path)


def _restored(file: ChangedFile) -> Iterator[TreeEntry]:
    if file.status == "A" or file.old_path not in (None, file.path):
        yield TreeEntry(file.path)
    if file.status != "A":
        yield TreeEntry(file.old_path or file.path, file.old_mode, file.old_blob)


def _replaces(file: ChangedFile, new_text: Text) -> bool:
    """Whether a new file has lines that may replace code of the program for the tests of other files."""
    return not file.binary and may_replace_code(file.path, new_text(file.path) or "")


# -- constants of the program ---------------------------------------------------------------------


def edits_constants(change: Change, old_text: Text, new_text: Text) -> bool:
    return any(True for _ in _edited_constants(change, old_text, new_text))


def with_old_constants(
    change: Change, old_text: Text, new_text: Text, tests: Sequence[str], *, data: Collection[str] = ()
) -> EditedTests:
    """The tests of the base, and the values of constants that they name, as they are at the base.

    A tolerance that tests compare with may be loosened together with the code. A sound change passes with the old
    value as well, unless tests and code have different ideas of it.
    """
    texts = "\n".join(tests)
    edits: dict[str, TreeEntry] = {}
    for file, old, new in _edited_constants(change, old_text, new_text):
        text = _with_old_parts(file.path, old, new)
        spans = edited_constants(file.path, old, text)
        names = [name for name in spans if file.path not in data and re.search(rf"\b{re.escape(name)}\b", texts)]
        if names:
            content = with_spans(text, old, [spans[name] for name in names])
            edits[f"{file.path} ({', '.join(names)})"] = TreeEntry(file.path, file.new_mode, content=content.encode())
    if not edits:
        return EditedTests()
    paths = {entry.path for entry in edits.values()}
    files = _test_files(change, data, old_text)
    entries = [entry for file in files for entry in _restored(file)]
    entries += [entry for entry in _sources(change, files, old_text, new_text) if entry.path not in paths]
    return EditedTests(tuple(edits), (*entries, *edits.values()))


def _edited_constants(change: Change, old_text: Text, new_text: Text) -> Iterator[tuple[ChangedFile, str, str]]:
    """Files of the program with constants that have another value, and their texts."""
    for file in change.files:
        if file.status not in ("M", "R") or _is_of_tests(file):
            continue
        old, new = old_text(file.old_path or file.path), new_text(file.path)
        if old and new and "\ufffd" not in new + old and edited_constants(file.path, old, new):
            yield file, old, new


# -- tests beside the code ------------------------------------------------------------------------


def _sources(change: Change, files: Sequence[ChangedFile], old_text: Text, new_text: Text) -> Iterator[TreeEntry]:
    """Sources with parts of the base, but those of `files`, which are put back as a whole."""
    whole = {file.path for file in files}
    entries = (*_rust_sources(change, old_text, new_text), *_examples(change, old_text, new_text))
    return (entry for entry in entries if entry.path not in whole)


def _rust_sources(change: Change, old_text: Text, new_text: Text) -> Iterator[TreeEntry]:
    """Rust sources with those test modules and examples of the base that the change edits."""
    for file in change.files:
        if file.status not in ("M", "R") or not file.path.endswith(".rs") or _is_of_tests(file):
            continue
        old, new = old_text(file.old_path or file.path), new_text(file.path)
        if old is None or new is None:
            continue
        content = _with_old_modules(old, new) if has_inline_tests(file.path, old) else new
        content = with_old_rust_examples(old, content) or content
        if content != new:
            yield TreeEntry(file.path, file.new_mode, content=content.encode())


def _with_old_modules(old: str, new: str) -> str:
    """The new source with the test modules of the old one."""
    before, now = test_modules(old), test_modules(new)
    places = [(place, old[before[name]]) for name, place in same_modules(before, now)]
    for place, text in sorted(places, key=lambda edit: edit[0].start, reverse=True):
        new = f"{new[: place.start]}{text}{new[place.stop :]}"
    return new


def _with_old_parts(path: str, old: str, new: str) -> str:
    """The new source with those examples and tests of the old one that were edited."""
    text = (with_old_examples(old, new) or new) if path.endswith(".py") else new
    return with_old_tests(path, old, text) or text


# Sources that may have tests beside their code.
_SOURCE = re.compile(r"\.(?:py|[cm]?[jt]sx?|c|cc|cpp|h|hpp)$")


def _examples(change: Change, old_text: Text, new_text: Text) -> Iterator[TreeEntry]:
    """Sources with the docstrings and tests of the base, and texts of the base, if the change edits these."""
    for file in change.files:
        if file.status not in "MRD" or _is_of_tests(file):
            continue
        path = file.old_path or file.path
        old, new = old_text(path), "" if file.status == "D" else new_text(file.path)
        if old is None or new is None:
            continue
        if path.endswith(TEXTS_WITH_EXAMPLES):
            # a text that has moved may not be found by its pattern any more
            if edits_examples(old, new if file.path == path else ""):
                yield TreeEntry(path, file.old_mode, file.old_blob)
        elif _SOURCE.search(file.path) and file.status != "D":
            content = _with_old_parts(file.path, old, new)
            if content != new:
                yield TreeEntry(file.path, file.new_mode, content=content.encode())


# -- replaced code --------------------------------------------------------------------------------
# Modules of tests that replace code of the program for the tests of other files.

# Modules that are loaded before other tests: each new statement counts.
_LOADED_FIRST = re.compile(r"(?:^|/)(?:conftest|__init__)\.py$")
_SCRIPT_FILE = re.compile(r"\.[cm]?[jt]sx?$")
_LOADED_FIRST_SCRIPT = re.compile(
    r"(?:^|/)__mocks__/|(?:^|[/._-])(?:setup|setupTests?|globals?|bootstrap|init|hooks?)(?:[._-][\w-]+)*\.[cm]?[jt]sx?$"
)
_IMPORTED_NAME = re.compile(
    r"(?:const|let|var)\s+([\w$]+)\s*=\s*(?:await\s+)?(?:require|import)\(|import\s+(?:\*\s*as\s+)?([\w$]+)[\s,]"
)
_REPLACING_CALL = re.compile(
    r"require\.cache|Object\.(?:defineProperty|assign)\(|\b(?:global|globalThis)\.[\w$]+\s*=(?!=)|\bmock\.(?:method|module)\("
    r"|\b(?:sinon|sandbox)\.(?:stub|replace)\(|\bproxyquire\("
)
# Calls at the top of a module that replace nothing.
_HARMLESS = frozenset(("pytest", "logging", "warnings"))


def may_replace_code(path: str, text: str) -> bool:
    """Whether this new module of tests has statements that may replace code."""
    if path.endswith(".py"):
        find = _first_statements if _LOADED_FIRST.search(path) else _replacing_nodes
        return any(True for _ in find(parsed(text)))
    if _LOADED_FIRST_SCRIPT.search(path):
        return bool(_code_lines(text))
    return _SCRIPT_FILE.search(path) is not None and _has_replacing_line(text)


def _first_statements(tree: ast.Module) -> Iterator[ast.AST]:
    for statement in tree.body:
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield statement


def _replacing_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(name.asname or name.name).partition(".")[0] for one in imports for name in one.names}
    own_functions = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else node.targets
            if any(not isinstance(one, ast.Name) and _root(one) in names for one in targets):
                yield node
        elif isinstance(node, ast.Call) and _may_replace(node):
            yield node
    for statement in _run_on_import(tree.body):
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call):
            is_own = isinstance(value.func, ast.Name) and value.func.id in own_functions
            if is_own or (isinstance(statement, ast.Expr) and _root(value.func) not in _HARMLESS):
                yield statement


def _run_on_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those in conditions and loops. The guard of a script is never true."""
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, ast.If) and "__main__" in ast.dump(statement.test):
            continue
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt)]
            handlers = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.ExceptHandler)]
            pending += [one for handler in handlers for one in handler.body]


def _may_replace(call: ast.Call) -> bool:
    """`setattr(calc, …)`, `patch("calc.add").start()`, a fixture that runs by itself."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    is_started = isinstance(call.func, ast.Attribute) and call.func.attr == "start" and "patch" in ast.dump(call.func)
    return name in ("setattr", "delattr", "exec") or is_started or any(one.arg == "autouse" for one in call.keywords)


def _root(node: ast.AST) -> str:
    """The name in front of attributes, indices and calls; "" if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _code_lines(text: str) -> set[str]:
    lines = (line.strip() for line in text.splitlines())
    return {line for line in lines if line and not line.startswith(("//", "*", "/*"))}


def _has_replacing_line(text: str) -> bool:
    names = {re.escape(name) for pair in _IMPORTED_NAME.findall(text) for name in pair if name}
    assignment = re.compile(rf"^(?:{'|'.join(names)})(?:\.[\w$]+|\[[^\]]*\])+\s*=(?![=>])") if names else None
    return any(_REPLACING_CALL.search(line) or (assignment and assignment.match(line)) for line in _code_lines(text))
