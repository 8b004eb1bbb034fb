"""What a prompt may be written in: variables, conditions, a few filters. Nothing that repeats, grows or calls.

A prompt may come with a repository that a stranger wrote, so a text is judged before Jinja2 compiles it (which would
work out what is constant), and what is left takes time and room in proportion to the text and its variables.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# as long as one may become, beyond what it is given
LARGEST = 4_000_000
# variables, conditions and filters: each may read a whole change
MOST_STEPS = 500
# and each level within another doubles the work of the compiler, or nearly so
DEEPEST = 20
FILTERS = ("capitalize", "default", "length", "lower", "trim", "truncate", "upper")
TESTS = ("defined", "false", "none", "true", "undefined")
ALLOWED = "{{ variables }}, {% if %} with comparisons, and the filters " + ", ".join(FILTERS)

_KNOWN = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.If, nodes.CondExpr),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Filter, nodes.Test, nodes.Keyword),
)
_NO_STEP = (nodes.Template, nodes.Output, nodes.TemplateData)
_NAMES: dict[type[nodes.Node], str] = {
    nodes.For: "{% for %}",
    nodes.Include: "{% include %}",
    nodes.Import: "{% import %}",
    nodes.FromImport: "{% from %}",
    nodes.Extends: "{% extends %}",
    nodes.Macro: "{% macro %}",
    nodes.Assign: "{% set %}",
    nodes.AssignBlock: "{% set %}",
    nodes.Call: "a call",
    nodes.Getattr: "an attribute",
    nodes.Getitem: "an index",
    nodes.Mul: "arithmetic",
    nodes.Pow: "arithmetic",
    nodes.Add: "arithmetic",
    nodes.Concat: "~",
}
# what reading, compiling or filling in a text can end in; MemoryError and SyntaxError: Python's own, of deep nesting
MISTAKES = (
    *(TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError),
    *(RecursionError, SyntaxError, MemoryError),
)


class UnknownVariable(TemplateError):
    """More than a prompt may say."""


def parsed(text: str) -> nodes.Template:
    """The text as a tree, if it says nothing that a prompt may not."""
    tree = environment().parse(text)
    steps = 0
    for node, depth in _every(tree):
        line = f"in line {node.lineno or 1}"
        if why := _unknown(node):
            raise UnknownVariable(f"{why} {line} is not known in prompts")
        if depth > DEEPEST:
            raise UnknownVariable(f"it is nested too deeply {line}")
        steps += not isinstance(node, _NO_STEP)
    if steps > MOST_STEPS:
        raise UnknownVariable(f"it has {steps} variables, conditions and filters, and {MOST_STEPS} are the most")
    return tree


def filled(text: str, variables: Mapping[str, object]) -> str:
    room = LARGEST + len(text) + sum(len(str(value)) for value in variables.values())
    pieces: list[str] = []
    for piece in environment().from_string(parsed(text)).generate(dict(variables)):
        room -= len(piece)
        if room < 0:
            raise UnknownVariable("it becomes too long: it says the same again and again")
        pieces.append(piece)
    return "".join(pieces)


def _every(tree: nodes.Node) -> Iterator[tuple[nodes.Node, int]]:
    """Each with its depth; without recursion, since a text may be nested as deep as it likes."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _unknown(node: nodes.Node) -> str:
    if isinstance(node, nodes.Name) and node.name == "self":
        return "self"
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        return f"the filter {node.name}"
    if isinstance(node, nodes.Test) and node.name not in TESTS:
        return f"the test {node.name}"
    if isinstance(node, nodes.Filter | nodes.Test) and (node.dyn_args or node.dyn_kwargs):
        return "*"
    return "" if isinstance(node, _KNOWN) else _NAMES.get(type(node), type(node).__name__.lower())


@cache
def environment() -> ImmutableSandboxedEnvironment:
    made = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.clear()
    return made
