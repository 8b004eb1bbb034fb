"""Figures on the layout and the names of the code base, and a limit for each.

    python -m tools.shape            print the figures
    python -m tools.shape --list     print what each figure counts
    python -m tools.shape --check    fail if a figure is worse than in tools/shape.toml
    python -m tools.shape --record   write the figures to tools/shape.toml

`make check` runs `--check`, which allows no figure to grow and prints what to do. Lower a limit with `--record` when a
change improves it.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
LIMITS = Path(__file__).with_suffix(".toml")
VENV_PYTHON = ".venv/bin/python"
_MAX_SUSPECTS = 10

# Irregular participles; regular ones end in -ed.
_IRREGULAR = frozenset(
    "said told kept seen heard given taken held left lost made got done gone known shown written asked sent brought "
    "met meant thought built bought caught taught spent stood understood put spoken chosen broken driven forgotten "
    "hidden laid led lent paid run sold stolen struck stuck thrown torn won worn borne drawn grown bound wound".split()
)
# Words that end in -ed or equal a participle but are nouns, adjectives or terms that the field uses.
_TERMS = frozenset("seed speed feed need embed bed red shed deed id_seed run unified trusted".split())
_JOURNAL_READ = re.compile(r"\.(?:result|data)(?:\[|\.get\()\s*\"")
# The event log's decoder and modules that read other data (layers of settings).
_JOURNAL_DECODERS = ("core/journal.py", "store/", "config/", "features/init/")
_REGISTRIES = frozenset({"registry", "report_formats"})
# Modules that list adapters, check readers, commands, pages and routes. What is added to such a list is a new file.
_ENTRY_LISTS = frozenset(
    {
        "burnish.agents.registry",
        "burnish.checks.report_formats",
        "burnish.cli.main",
        "burnish.web.api",
        "burnish.web.pages",
    }
)
_COMMAND = re.compile(r"\"(burnish\.cli\.\w+):\w+\"")
_PRIVATE_PAPER = re.compile(r"\b(?:SPEC|DESIGN|HOUSE|STYLE|SECURITY|S[0-4]) ?§")
_SAMPLE_AGENT = re.compile(r"\bqwen\b", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    name: str
    path: Path
    tree: ast.Module
    text: str

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]


@dataclass(frozen=True)
class CodeBase:
    """All modules of the package, parsed once."""

    modules: tuple[Module, ...]

    @classmethod
    def read(cls, source: Path = SOURCE) -> CodeBase:
        modules = []
        for path in sorted(source.rglob("*.py")):
            text = path.read_text()
            parts = path.relative_to(source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules.append(Module(name, path, ast.parse(text), text))
        return cls(tuple(modules))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(module.name for module in self.modules)


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every parameter and variable, with its line. Fields of classes often mirror JSON keys and do not count."""
    fields = {
        statement.target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    if word in _TERMS:
        return False
    return word in _IRREGULAR or bool(re.fullmatch(r"[a-z]{2,}ed", word))


def participles(code: CodeBase) -> tuple[list[str], int]:
    """Variables named by a bare participle, and the number of all variables."""
    total, found = 0, []
    for module in code.modules:
        for name, line in bound_names(module.tree):
            total += 1
            if is_participle(name):
                found.append(f"{module.path.relative_to(ROOT)}:{line} {name}")
    return found, total


def repeated_classes(code: CodeBase) -> list[str]:
    """Class names that two or more modules define."""
    places = defaultdict(list)
    for module in code.modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module.name)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def imported_modules(module: Module, known: frozenset[str]) -> set[str]:
    names = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
            names.add(node.module)
    return {name for name in names if name in known} - {module.name}


def users_of_modules(code: CodeBase) -> dict[str, set[str]]:
    """By module, the modules that import it."""
    users = defaultdict(set)
    for module in code.modules:
        for name in imported_modules(module, code.names):
            users[name].add(module.name)
    return users


def modules_with_content(code: CodeBase) -> list[str]:
    """Modules and their lines, the shortest first. Entries of a registry do not count."""
    users = users_of_modules(code)
    commands = {
        name for module in code.modules if module.name in _ENTRY_LISTS for name in _COMMAND.findall(module.text)
    }
    found = [
        (len(module.text.splitlines()), module.name)
        for module in code.modules
        if module.tree.body
        and module.name not in commands
        and not (len(users[module.name]) == 1 and users[module.name] <= _ENTRY_LISTS)
    ]
    return [f"{lines:4} {name}" for lines, name in sorted(found)]


def used_by_one_sibling(code: CodeBase) -> list[str]:
    """Modules that one other module imports, of the same folder: often a part of that module."""
    users = users_of_modules(code)
    found = []
    for module in code.modules:
        only = users[module.name]
        # a program that is started by its path, and an entry of a registry, stand alone by design
        if len(only) == 1 and module.path.name != "__init__.py" and not module.name.endswith("_main"):
            (user,) = only
            if user.rpartition(".")[0] == module.package and user.rpartition(".")[2] not in _REGISTRIES:
                found.append(f"{module.name} (by {user.rpartition('.')[2]})")
    return found


def journal_reads(code: CodeBase) -> list[str]:
    """Reads of events and phase results by string key, outside of the decoder."""
    found = []
    for module in code.modules:
        place = module.path.relative_to(SOURCE / "burnish").as_posix()
        if place.startswith(_JOURNAL_DECODERS):
            continue
        for number, line in enumerate(module.text.splitlines(), 1):
            found += [f"{place}:{number} {line.strip()}"] * len(_JOURNAL_READ.findall(line))
    return found


def agent_places(code: CodeBase) -> list[str]:
    """Source files that name one agent program (qwen), its own adapter aside."""
    paths = [module.path for module in code.modules if _SAMPLE_AGENT.search(module.text)]
    return [path.relative_to(ROOT).as_posix() for path in paths if path.stem != "qwen"]


def private_papers() -> list[str]:
    """Text that cites documents which readers cannot open."""
    found = []
    for top in ("src", "docs", "tests", "testing", "tools", "bench", "README.md", "CONTRIBUTING.md"):
        place = ROOT / top
        paths = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in paths:
            if (
                path.suffix not in {".py", ".md", ".j2", ".js", ".css", ".sql", ".yaml"}
                or path == Path(__file__).resolve()
            ):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if _PRIVATE_PAPER.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}")
    return found


# What to do if a figure grows, by key.
ADVICE = {
    "participles": "Rename the variable to a noun: `reply`, not `told`; `lines`, not `written`.",
    "repeated_classes": "Give one of the classes another name.",
    "modules": "Move the code of the new file into an existing module. If it is a subject of its own, raise the limit "
    "(--record).",
    "one_sibling": "Move it into the module that uses it. If it is a subject of its own, raise the limit (--record).",
    "journal_reads": "Read the event as a type of core/journal_events.py.",
    "agent_places": "State the fact in the adapter, and derive it from agents/registry.py.",
    "private_papers": "State the reason in the text itself.",
}


@dataclass(frozen=True)
class Figure:
    key: str
    title: str
    value: float
    goal: str
    places: Sequence[str] = ()

    @property
    def text(self) -> str:
        return f"{self.value:g}"


def figures(code: CodeBase) -> list[Figure]:
    words, variables = participles(code)
    by_name = [f"{name} ×{count}" for name, count in Counter(place.split()[1] for place in words).most_common()]
    return [
        Figure(
            "participles",
            "% of variables named by a bare participle",
            round(100 * len(words) / variables, 2),
            "< 0.5",
            [*by_name, *words],
        ),
        Figure(
            "repeated_classes", "class names defined in two or more modules", *_counted(repeated_classes(code), "0")
        ),
        Figure(
            "modules",
            "modules with content, without entries of registries",
            *_counted(modules_with_content(code), "~300"),
        ),
        Figure("one_sibling", "modules used by one sibling only", *_counted(used_by_one_sibling(code), "< 30")),
        Figure("journal_reads", "reads of the journal by string key", *_counted(journal_reads(code), "0")),
        Figure(
            "agent_places",
            "files to touch for a new agent program, its adapter aside",
            *_counted(agent_places(code), "0"),
        ),
        Figure("private_papers", "lines that cite private papers", *_counted(private_papers(), "0")),
    ]


def _counted(places: list[str], goal: str) -> tuple[float, str, list[str]]:
    return len(places), goal, places


def worse(now: Sequence[Figure], limits: dict[str, float]) -> list[Figure]:
    return [figure for figure in now if figure.key in limits and figure.value > limits[figure.key]]


def changed_files() -> list[str]:
    """Source files that differ from the last commit, and new ones; none without git."""
    argv = ["git", "-C", str(ROOT), "status", "--porcelain", "--no-renames", "--untracked-files=all", "--", "src"]
    try:
        status = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    except OSError:
        return []
    return [line[3:] for line in status.splitlines() if line.endswith(".py")]


def suspects(figure: Figure, changed: Sequence[str]) -> list[str]:
    """What the figure counts in changed files, by path or by name of the module."""
    paths = [path.removeprefix("src/") for path in changed]
    names = [*paths, *(path.removesuffix(".py").replace("/", ".") for path in paths)]
    names += [path.removeprefix("burnish/") for path in paths]
    patterns = [re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])") for name in names]
    return [place for place in figure.places if any(pattern.search(place) for pattern in patterns)]


def complaint(figure: Figure, limit: float, changed: Sequence[str] = ()) -> str:
    """What grew, in which changed files, and what to do about it."""
    found = "".join(f"    in a changed file: {place.strip()}\n" for place in suspects(figure, changed)[:_MAX_SUSPECTS])
    return (
        f"{figure.title}: {figure.text}, the limit is {limit:g}. {ADVICE[figure.key]}\n{found}"
        f"    {VENV_PYTHON} -m tools.shape --list {figure.key}    lists what is counted\n"
        f"    {VENV_PYTHON} -m tools.shape --record    writes all figures to tools/shape.toml; commit it"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.shape", description="Figures on the layout and the names of the code base."
    )
    parser.add_argument(
        "--list", metavar="FIGURE", nargs="?", const="", help="print what a figure counts (all of them without a name)"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a figure is worse than its limit")
    parser.add_argument("--record", action="store_true", help="write the figures as the new limits")
    options = parser.parse_args(arguments)
    now = figures(CodeBase.read())
    limits = tomllib.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    width = max(len(figure.title) for figure in now)
    for figure in now:
        if options.list is None or options.list in ("", figure.key):
            limit = limits.get(figure.key, "–")
            print(f"{figure.key:18} {figure.title:{width}}  {figure.text:>6}  (limit {limit}, goal {figure.goal})")
            if options.list is not None:
                print("".join(f"    {place}\n" for place in figure.places), end="")
    if options.record:
        LIMITS.write_text(
            "# Limits of `python -m tools.shape --check`; written by --record.\n"
            + "".join(f"{f.key} = {f.text}\n" for f in now)
        )
    if options.check and (bad := worse(now, limits)):
        changed = changed_files()
        print("\n".join(complaint(figure, limits[figure.key], changed) for figure in bad), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
