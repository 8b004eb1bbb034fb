"""A small repository with planted problems, and the edits that it lives through."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from burnish.core.finding import Category, Severity
from testing.phrases import KINDS, SECOND, SECOND_AGAIN

_NOUNS = "user order path rows items token buffer config event price batch queue node frame key report"
NAMES = tuple(_NOUNS.split())
_VERBS = "load save parse send merge check build find sync clean count render fetch store"
VERBS = tuple(_VERBS.split())
PLAIN = (
    "{v} = {a}.strip()", "log.info({v})", "if not {v}:", "    return None", "{v} = compute({a})", "",
    "{v}.append({a})", "# keep {v} and {a} in step", "return {v}", "{v}, {a} = {a}, {v}", "else:", "    pass",
)  # fmt: skip


@dataclass(eq=False, slots=True)
class Line:
    text: str


@dataclass(eq=False, slots=True)
class Function:
    name: str
    lines: list[Line]


@dataclass(eq=False, slots=True)
class Problem:
    """One planted problem: the truth that ids are compared with."""

    number: int
    line: Line
    function: Function
    category: Category
    says: tuple[tuple[str, str], ...]
    names: dict[str, str]
    severity: Severity
    fixed: bool = False
    broken_text: str = ""


@dataclass(slots=True)
class World:
    """A small repository, and what is wrong with it."""

    chance: random.Random
    files: dict[str, list[Function]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # path now → path at the last review
    renamed: dict[str, str] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        return {path: _render(functions) for path, functions in self.files.items()}

    def where(self, problem: Problem) -> tuple[str, int] | None:
        for path, functions in self.files.items():
            number = 0
            for function in functions:
                for line in function.lines:
                    number += 1
                    if line is problem.line:
                        return path, number
        return None

    def present(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.fixed and self.where(problem)]


def _render(functions: list[Function]) -> str:
    return "".join(line.text + "\n" for function in functions for line in function.lines)


def new_world(chance: random.Random) -> World:
    world = World(chance)
    for path in chance.sample(["src/api.py", "src/core/model.py", "src/util.py", "lib/jobs.py"], chance.randint(1, 3)):
        world.files[path] = [_function(chance) for _ in range(chance.randint(2, 6))]
    for _ in range(chance.randint(2, 6)):
        _plant(world)
    return world


def _function(chance: random.Random) -> Function:
    name = f"{chance.choice(VERBS)}_{chance.choice(NAMES)}"
    lines = [Line(f"def {name}({chance.choice(NAMES)}):")]
    return Function(name, [*lines, *(_plain(chance) for _ in range(chance.randint(4, 12))), Line("")])


def _plain(chance: random.Random) -> Line:
    text = chance.choice(PLAIN).format(v=chance.choice(NAMES), a=chance.choice(NAMES))
    return Line("    " + text if text else "")


def _functions(world: World) -> list[tuple[str, Function]]:
    return [(path, function) for path, functions in world.files.items() for function in functions]


def _plant(world: World) -> None:
    """A new problem: mostly on a line of its own, sometimes on one that has a problem already."""
    chance = world.chance
    number = len(world.problems)
    severity = chance.choice(list(Severity))
    taken = world.present()
    if taken and chance.random() < 0.12:
        host = chance.choice(taken)
        if not any(other.line is host.line for other in taken if other is not host):
            which = chance.randrange(len(SECOND))
            category, title, text = SECOND[which]
            says = ((title, text), SECOND_AGAIN[which])
            world.problems.append(Problem(number, host.line, host.function, category, says, host.names, severity))
            return
    _, function = chance.choice(_functions(world))
    kind = chance.choice(KINDS)
    names = dict(zip("va", chance.sample(NAMES, 2), strict=True)) | {"f": function.name}
    line = Line("    " + chance.choice(kind.code).format(**names))
    function.lines.insert(chance.randint(1, len(function.lines) - 1), line)
    world.problems.append(Problem(number, line, function, kind.category, kind.says, names, severity))


def _insert_above(world: World) -> None:
    _, function = world.chance.choice(_functions(world))
    at = world.chance.randint(1, len(function.lines))
    function.lines[at:at] = [_plain(world.chance) for _ in range(world.chance.randint(1, 15))]


def _delete_plain(world: World) -> None:
    _, function = world.chance.choice(_functions(world))
    held = {id(problem.line) for problem in world.problems}
    plain = [line for line in function.lines[1:-1] if id(line) not in held]
    for line in world.chance.sample(plain, min(len(plain), world.chance.randint(1, 3))):
        function.lines.remove(line)


def _rename_file(world: World) -> None:
    path = world.chance.choice(list(world.files))
    new = f"{path.removesuffix('.py')}_{world.chance.choice(NAMES)}.py"
    if new not in world.files:
        world.files[new] = world.files.pop(path)
        world.renamed[new] = world.renamed.pop(path, path)


def _move_function(world: World) -> None:
    """To another place of its file, or to another file."""
    path, function = world.chance.choice(_functions(world))
    world.files[path].remove(function)
    there = path if world.chance.random() < 0.5 else world.chance.choice([*world.files, "src/moved.py"])
    home = world.files.setdefault(there, [])
    home.insert(world.chance.randint(0, len(home)), function)
    if not world.files[path]:
        del world.files[path]
        world.renamed.pop(path, None)


def _indent(world: World) -> None:
    _, function = world.chance.choice(_functions(world))
    for line in function.lines:
        line.text = "    " + line.text if line.text else ""


def _reformat(world: World) -> None:
    """As a formatter does: spaces inside the line."""
    for _, function in _functions(world)[:2]:
        for line in function.lines:
            indent = line.text[: len(line.text) - len(line.text.lstrip())]
            line.text = indent + line.text.lstrip().replace("(", "( ").replace(")", " )").replace(" = ", "=")


def _touch_neighbours(world: World) -> None:
    for problem in world.present()[:2]:
        lines = problem.function.lines
        if problem.line in lines:
            at = lines.index(problem.line)
            held = {id(other.line) for other in world.problems}
            for near in (at - 1, at + 1):
                if 0 < near < len(lines) and id(lines[near]) not in held:
                    lines[near] = _plain(world.chance)


def _alter_line(world: World) -> None:
    """The line with the problem is edited, and still has it."""
    present = world.present()
    if present:
        problem = world.chance.choice(present)
        problem.line.text += world.chance.choice(("  # noqa", "  # see the ticket", "; log.debug(1)"))


def _fix(world: World) -> None:
    present = [p for p in world.present() if not any(o.line is p.line for o in world.present() if o is not p)]
    if present:
        problem = world.chance.choice(present)
        problem.fixed, problem.broken_text = True, problem.line.text
        problem.line.text = "    " + world.chance.choice(("{v} = safe({a})", "with guard({a}) as {v}: run()")).format(
            **problem.names
        )


def _bring_back(world: World) -> None:
    fixed = [problem for problem in world.problems if problem.fixed and world.where(problem)]
    if fixed:
        problem = world.chance.choice(fixed)
        problem.fixed, problem.line.text = False, problem.broken_text


EDITS: tuple[Callable[[World], None], ...] = (
    _insert_above, _insert_above, _delete_plain, _rename_file, _move_function, _indent, _reformat,
    _touch_neighbours, _alter_line, _fix, _fix, _bring_back, _plant,
)  # fmt: skip
