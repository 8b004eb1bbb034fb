"""Reads a Makefile without running it: rules with their recipes, and the variables that it sets and exports. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from burnish.checks.tools import ProjectFolder

_ASSIGNMENT = re.compile(r"\s*(?:override\s+|(export)\s+)*([A-Za-z_][\w.-]*)\s*(\?|\+|:{1,3}|!)?=\s*(.*)")
_EXPORT = re.compile(r"\s*export(?:\s+([\w ]+))?\s*$")
_INCLUDE = re.compile(r"\s*-?s?include\s+([\w./ -]+?)\s*$")
_RULE = re.compile(r"([\w./%-][\w./% -]{0,400}?)[ \t]{0,20}::?(?![:=])")
_REFERENCE = re.compile(r"\$(?:\$|\(([^()$]*(?:\([^()]*\)[^()$]*)*)\)|\{([^{}$]*)\}|([@<^?*+%]))")
_MAX_DEPTH = 12
_MAX_CHARACTERS = 10_000
# What make itself sets, as a recipe of this Makefile sees it.
_BUILT_IN = {"MAKE": "make", "CURDIR": ".", "SHELL": "/bin/sh", "RM": "rm -f", "PYTHON": "python"}
UNKNOWN = "\0"


@dataclass(slots=True)
class Rule:
    sources: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)
    # variables for this target alone; exported ones are in `exports`
    variables: dict[str, str] = field(default_factory=dict)
    exports: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Makefile:
    name: str = ""
    rules: dict[str, Rule] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    exports: set[str] = field(default_factory=set)
    # `export` without names, or `.EXPORT_ALL_VARIABLES`
    exports_all: bool = False
    # variables of included files that are not Makefiles, such as `.env`
    from_env_files: set[str] = field(default_factory=set)

    def expand(self, text: str, target: str = "") -> str:
        """The text with the values of variables. What only make can compute becomes UNKNOWN."""
        if "$" not in text:
            return text
        rule = self.rules.get(target, Rule())
        automatic = {"@": target, "<": " ".join(rule.sources[:1]), "^": " ".join(rule.sources)}
        variables = {**_BUILT_IN, **self.variables, **rule.variables}

        def value(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "\1"
            name = match[1] if match[1] is not None else match[2]
            if name is None:
                return automatic.get(match[3], UNKNOWN)
            if command := re.fullmatch(r"shell\s+(.*)", name, re.S):
                return f"\1({command[1]})"
            if re.match(r"(?:info|warning|eval)\s", name):
                return ""  # they print or set something
            if re.fullmatch(r"(?:filter|filter-out|patsubst|addprefix|addsuffix)\s.*,\s*|(?:strip|sort)\s*", name):
                return ""  # of no words
            return UNKNOWN if re.search(r"[\s,:]", name) else variables.get(name, "")

        for _ in range(_MAX_DEPTH):
            result = _REFERENCE.sub(value, text)[:_MAX_CHARACTERS]
            if result == text:
                break
            text = result
        return text.replace("\1", "$")

    def exported(self, target: str) -> dict[str, str]:
        """The variables that the recipe of a target sees in its environment."""
        rule = self.rules.get(target, Rule())
        names = {*self.exports, *rule.exports, *(self.from_env_files if self.exports_all else ())}
        if self.exports_all:
            names |= rule.variables.keys()
        values = {**self.variables, **rule.variables}
        return {name: self.expand(values[name], target) for name in sorted(names) if name in values}


def read_makefile(place: ProjectFolder) -> Makefile:
    """The Makefile of a folder with the files that it includes; empty if there is none."""
    name = place.first("GNUmakefile", "Makefile", "makefile") or ""
    makefile = Makefile(name)
    if name:
        _read_lines(place.read(name), makefile, lambda path: place.read(path) if path in place.paths else "", 0)
    return makefile


def _read_lines(text: str, makefile: Makefile, read: Callable[[str], str], depth: int, env_file: bool = False) -> None:
    targets: list[str] = []
    is_definition = False
    for line in text.replace("\\\n", " ").splitlines():
        is_definition = (is_definition or line.startswith("define ")) and not line.startswith("endef")
        if is_definition:
            continue
        if line.startswith("\t") and targets:
            for target in targets:
                makefile.rules[target].recipe.append(line.strip())
        elif match := _ASSIGNMENT.fullmatch(_without_comment(line)):
            _assign(makefile.variables, match)
            makefile.exports |= {match[2]} if match[1] else set()
            makefile.from_env_files |= {match[2]} if env_file else set()
        elif match := _EXPORT.fullmatch(_without_comment(line)):
            makefile.exports |= set((match[1] or "").split())
            makefile.exports_all |= not match[1]
        elif match := _INCLUDE.fullmatch(_without_comment(line)):
            for path in match[1].split() if depth < 3 else ():
                is_env = re.search(r"(?:^|/|\.)env(?:\.[\w.-]+)?$", path) is not None
                _read_lines(read(path), makefile, read, depth + 1, is_env)
        elif match := _RULE.match(line):
            targets = match[1].split()
            makefile.exports_all |= ".EXPORT_ALL_VARIABLES" in targets
            _read_rule(targets, line[match.end() :], makefile)


def _read_rule(targets: Iterable[str], rest: str, makefile: Makefile) -> None:
    for target in targets:
        rule = makefile.rules.setdefault(target, Rule())
        text = _without_comment(rest)
        if match := _ASSIGNMENT.fullmatch(text):
            _assign(rule.variables, match)
            rule.exports |= {match[2]} if match[1] else set()
            continue
        sources, _, command = text.partition(";")
        rule.sources += [word for word in makefile.expand(sources, target).split() if word != "|"]
        rule.recipe += [command.strip()] if command.strip() else []


def _assign(variables: dict[str, str], match: re.Match[str]) -> None:
    name, kind, value = match[2], match[3] or "", match[4].strip()
    if kind == "?" and name in variables:
        return
    if kind == "+" and variables.get(name):
        value = f"{variables[name]} {value}"
    variables[name] = f"$(shell {value})" if kind == "!" else value


def _without_comment(line: str) -> str:
    return re.sub(r"(?:^|(?<=\s))#.*", "", line).rstrip()
