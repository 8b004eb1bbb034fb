"""Finds modules of tests that replace code of the program for the tests of other files. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from burnish.checks.guard.python_tests import parsed

# Modules that are loaded before other tests: each new statement counts.
_LOADED_FIRST = re.compile(r"(?:^|/)(?:conftest|__init__)\.py$")
_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
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


def may_replace_code(path: str, old: str, new: str) -> bool:
    """Whether this module of tests has statements that it did not have before, and that may replace code."""
    if path.endswith(".py"):
        find = _first_statements if _LOADED_FIRST.search(path) else _replacing_nodes
        return bool(_dumped(find(parsed(new))) - _dumped(find(parsed(old))))
    if _LOADED_FIRST_SCRIPT.search(path):
        return bool(_code_lines(new) - _code_lines(old))
    return _SCRIPT.search(path) is not None and bool(_replacing_lines(new) - _replacing_lines(old))


def _dumped(nodes: Iterable[ast.AST]) -> set[str]:
    return {ast.dump(node) for node in nodes}


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


def _replacing_lines(text: str) -> set[str]:
    names = {re.escape(name) for pair in _IMPORTED_NAME.findall(text) for name in pair if name}
    assigned = re.compile(rf"^(?:{'|'.join(names)})(?:\.[\w$]+|\[[^\]]*\])+\s*=(?![=>])") if names else None
    return {line for line in _code_lines(text) if _REPLACING_CALL.search(line) or (assigned and assigned.match(line))}
