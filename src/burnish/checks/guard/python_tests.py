"""Finds Python tests that can no longer fail: emptied, cut short, with swallowed errors, redefined. Pure.

Reports certain cases only. Tests that assert through a helper, or assert something weaker, are left to reviewers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ASSERTING = re.compile(r"^(?:assert|expect|check_|verify|raises$|warns$|fail$|should)", re.IGNORECASE)
_ENDING = frozenset(("skip", "skipTest", "exit", "_exit"))
_CAUGHT = frozenset(("AssertionError", "Exception", "BaseException"))
# `assertRaises((A, B))`, `pytest.fail("…")` and helpers such as `assert_sum(1, 2)` can fail with constants, too.
_COMPARING = frozenset(("assertTrue", "assertFalse", "assertEqual", "assertEquals", "assertIs", "assert_"))
_PRINTING = frozenset(("print", "print_exc", "log", "debug", "info", "warning", "error", "exception"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class PythonTest:
    """One test function: the number of assertions that can fail and that cannot, and whether its body is empty."""

    name: str
    line: int
    effective: int
    void: int
    is_empty: bool
    # A later definition, assignment or `del` removes or rebinds the name.
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class HollowTest:
    """A test that could fail before the change and cannot fail now."""

    name: str
    line: int
    reason: str


def hollow_tests(old: str, new: str) -> Iterator[HollowTest]:
    """Tests that can no longer fail; none for text that Python cannot parse."""
    before = {test.name: test for test in _tests_in(old) if not test.is_replaced}
    after = list(_tests_in(new)) if any(test.effective for test in before.values()) else []
    for test in after:
        was = before.get(test.name)
        if was is None or not was.effective:
            continue
        if test.is_replaced:
            yield HollowTest(test.name, test.line, "its name is redefined or deleted further down, so it is not run")
        elif test.is_empty:
            yield HollowTest(test.name, test.line, "its body is empty")
        elif test.void > was.void and test.effective < was.effective:
            yield HollowTest(
                test.name, test.line, f"{test.void - was.void} of its assertions are not reached or cannot fail"
            )
    missing = {name for name, test in before.items() if test.effective} - {test.name for test in after}
    yield from _renamed(old, new, missing) if missing else ()


def _renamed(old: str, new: str, missing: set[str]) -> Iterator[HollowTest]:
    """Tests that were renamed so that no runner finds them, and that nothing in the file uses."""
    trees = [parsed(text) for text in (old, new)]
    bodies = {_body(function): name for name, function in _functions(trees[0].body) if name in missing}
    used_names = {node.id for node in ast.walk(trees[1]) if isinstance(node, ast.Name)}
    used_names |= {node.attr for node in ast.walk(trees[1]) if isinstance(node, ast.Attribute)}
    used_names |= {node.arg for node in ast.walk(trees[1]) if isinstance(node, ast.arg)}  # a fixture
    for _, function in _functions(trees[1].body):
        was = bodies.get(_body(function))
        if was and not function.name.startswith("test") and function.name not in used_names:
            yield HollowTest(
                was, function.lineno, f"it is now called {function.name}, which test runners do not collect"
            )


def _functions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[tuple[str, _Function]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, _Function):
            yield prefix + statement.name, statement


def _body(function: _Function) -> str:
    return "\n".join(map(ast.dump, function.body))


def parsed(text: str) -> ast.Module:
    """An empty module for text that Python cannot parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _tests_in(text: str) -> Iterator[PythonTest]:
    tree = parsed(text)
    _resolve_imported_names(tree)
    decorators = frozenset(
        statement.name
        for statement in tree.body
        if isinstance(statement, _Function) and not statement.name.startswith("test") and _has_swallowing(statement)
    )
    yield from _in_scope(tree.body, "", decorators)


def _resolve_imported_names(tree: ast.Module) -> None:
    """`from contextlib import suppress as quiet`: replaces each alias by the original name."""
    names = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    for node in ast.walk(tree) if names else ():
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)


def _has_swallowing(function: _Function) -> bool:
    """True for a decorator that hides failures: `try: test() except Exception: pass`."""
    return any(isinstance(node, ast.Try) and any(map(_swallows, node.handlers)) for node in ast.walk(function))


def _in_scope(body: Sequence[ast.stmt], prefix: str, swallowing: frozenset[str]) -> Iterator[PythonTest]:
    for number, statement in enumerate(body):
        if isinstance(statement, ast.ClassDef):
            yield from _in_scope(statement.body, f"{prefix}{statement.name}.", swallowing)
        elif isinstance(statement, _Function) and statement.name.startswith("test"):
            used_names = frozenset(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
            is_swallowed = any(
                isinstance(decorator, ast.Name) and decorator.id in swallowing for decorator in statement.decorator_list
            )
            effective, void = _count(statement.body, used_names, dead=is_swallowed)
            is_replaced = any(_takes_name(later, statement.name) for later in body[number + 1 :])
            yield PythonTest(
                prefix + statement.name, statement.lineno, effective, void, _is_empty(statement.body), is_replaced
            )


def _takes_name(statement: ast.stmt, name: str) -> bool:
    """True if the statement rebinds or deletes the name. Decorated functions do not count: they may register it."""
    if isinstance(statement, _Function):
        return statement.name == name and not statement.decorator_list
    if isinstance(statement, ast.Delete):
        return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    if isinstance(statement, ast.Assign):
        # `test_one = decorate(test_one)` still runs it
        uses = any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement.value))
        return not uses and any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    return False


def _is_empty(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Return) and (statement.value is None or _truth(statement.value) is not None))
        for statement in body
    )


def _count(
    body: Sequence[ast.stmt], used_names: frozenset[str], *, dead: bool = False, looping: bool = False
) -> tuple[int, int]:
    """Assertions that can fail, and those that cannot."""
    effective = void = 0
    for statement in body:
        more = _count_one(statement, used_names, looping=looping)
        effective, void = (effective, void + sum(more)) if dead else (effective + more[0], void + more[1])
        dead = dead or _ends(statement)
    return effective, void


def _count_one(statement: ast.stmt, used_names: frozenset[str], *, looping: bool) -> tuple[int, int]:
    if isinstance(statement, ast.Assert):
        return (0, 1) if _truth(statement.test) else (1, 0)
    counts = _in_expressions(statement)
    blocks = [
        _count(
            block, used_names, dead=dead, looping=looping or isinstance(statement, ast.For | ast.AsyncFor | ast.While)
        )
        for block, dead in _blocks(statement, used_names, looping=looping)
    ]
    return counts[0] + sum(one[0] for one in blocks), counts[1] + sum(one[1] for one in blocks)


def _blocks(
    statement: ast.stmt, used_names: frozenset[str], *, looping: bool
) -> Iterator[tuple[Sequence[ast.stmt], bool]]:
    """The blocks of a statement, and whether what they assert can never make the test fail."""
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield body, _truth(test) is False
            yield orelse, _truth(test) is True
        case ast.While(test=test, body=body, orelse=orelse):
            yield from ((body, _truth(test) is False), (orelse, False))
        case ast.For(iter=iterable, body=body, orelse=orelse) | ast.AsyncFor(iter=iterable, body=body, orelse=orelse):
            nothing = isinstance(iterable, ast.List | ast.Tuple) and not iterable.elts
            yield from ((body, nothing), (orelse, False))
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield body, any(_suppresses(item.context_expr) for item in items)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            # A `return` in `finally` discards any failure.
            discards_failure = any(isinstance(one, ast.Return | ast.Break | ast.Continue) for one in finalbody)
            # In a loop, the code may wait until a condition holds.
            yield body, discards_failure or (not looping and any(map(_swallows, handlers)))
            yield from ((block, discards_failure) for block in (*(one.body for one in handlers), orelse))
            yield finalbody, False
        case ast.FunctionDef(name=name, body=body, decorator_list=[]) if name not in used_names:
            yield body, True  # defined in the test and never called
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            yield body, False
        case ast.Match(cases=cases):
            yield from ((case.body, False) for case in cases)


def _in_expressions(statement: ast.stmt) -> tuple[int, int]:
    """Calls such as `self.assertEqual(…)` and `pytest.raises(…)`, outside of the blocks of the statement."""
    waiting: list[ast.AST] = [node for node in ast.iter_child_nodes(statement) if not _holds_statements(node)]
    effective = void = 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and _ASSERTING.match(_called(node)):
            constant = _called(node) in _COMPARING and all(_truth(argument) is not None for argument in node.args)
            effective, void = effective + (not constant), void + constant
        waiting.extend(ast.iter_child_nodes(node))
    return effective, void


def _holds_statements(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _ends(statement: ast.stmt) -> bool:
    """True if the statements after it in the same block are unreachable."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.If):
        return _truth(statement.test) is True and any(map(_ends, statement.body))
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ENDING


def _suppresses(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and _called(context) == "suppress" and any(map(_is_caught, context.args))


def _swallows(handler: ast.ExceptHandler) -> bool:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    quiet = [statement for statement in handler.body if not _prints(statement)]
    return any(name is None or _is_caught(name) for name in names) and _is_empty(quiet)


def _prints(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _called(call) in _PRINTING


def _is_caught(name: ast.expr) -> bool:
    match name:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word in _CAUGHT
    return False


def _truth(test: ast.expr) -> bool | None:
    """True or False for constant expressions; None if the value is unknown."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements) if elements:
            return True
        case ast.Lambda():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _truth(operand)
            return None if inner is None else not inner
        case ast.BoolOp(op=ast.Or(), values=values) if any(_truth(value) for value in values):
            return True
        case ast.BoolOp(op=ast.And(), values=values) if any(_truth(value) is False for value in values):
            return False
        case ast.Compare(left=ast.Constant(value=one), ops=[ast.Eq()], comparators=[ast.Constant(value=other)]):
            return bool(one == other)
    return None
