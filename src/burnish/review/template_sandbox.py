"""A safe subset of Jinja2 for prompts: variables, conditions and a few filters, without loops or calls.

A prompt may come from an untrusted repository. So templates are checked before Jinja2 compiles them (which evaluates
constants), and rendering takes time and memory in proportion to the text and its variables.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jinja2 import Template

# longest result, in addition to the template and its variables
MAX_BYTES = 4_000_000
# most variables, conditions and filters: each may read a whole change
MAX_STEPS = 500
# each level of nesting nearly doubles the work of the compiler
MAX_DEPTH = 20
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
# exceptions of parsing, compiling and rendering; deep nesting causes MemoryError and SyntaxError
MISTAKES = (
    *(TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError),
    *(RecursionError, SyntaxError, MemoryError),
)


class UnknownVariable(TemplateError):
    """The template uses a construct that prompts do not allow, or is too large."""


def parse_template(text: str) -> nodes.Template:
    """Parse a template; raises UnknownVariable for constructs that prompts do not allow."""
    tree = environment().parse(text)
    steps = 0
    for node, depth in _walk(tree):
        line = f"in line {node.lineno or 1}"
        if why := _unknown_construct(node):
            raise UnknownVariable(f"{why} {line} is not allowed in prompts")
        if depth > MAX_DEPTH:
            raise UnknownVariable(f"it is nested too deeply {line}")
        steps += not isinstance(node, _NO_STEP)
    if steps > MAX_STEPS:
        raise UnknownVariable(f"it has {steps} variables, conditions and filters, and {MAX_STEPS} are the most")
    return tree


def render_template(text: str, variables: Mapping[str, object]) -> str:
    room = MAX_BYTES + len(text) + sum(len(str(value)) for value in variables.values())
    pieces: list[str] = []
    for piece in _compiled(text).generate(dict(variables)):
        room -= len(piece)
        if room < 0:
            raise UnknownVariable("the result is too long because of repetitions")
        pieces.append(piece)
    return "".join(pieces)


@lru_cache(maxsize=16)
def used_variables(text: str) -> frozenset[str]:
    """The variables of a template; raises what `parse_template` raises."""
    return frozenset(meta.find_undeclared_variables(parse_template(text)))


@lru_cache(maxsize=16)  # every task uses the same few
def _compiled(text: str) -> Template:
    return environment().from_string(parse_template(text))


def _walk(tree: nodes.Node) -> Iterator[tuple[nodes.Node, int]]:
    """All nodes with their depth; without recursion, because nesting is unlimited."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _unknown_construct(node: nodes.Node) -> str:
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
    result = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    result.globals.clear()
    return result
