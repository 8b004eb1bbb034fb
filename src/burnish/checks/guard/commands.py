"""Parts of a project that check commands run: rules and variables of a Makefile, scripts of a package.json."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnish.core.change import Change, ChangedFile

Parts = dict[str, str]

_CHECKING = re.compile(r"test|lint|check|coverage|\bci\b|typecheck|type-check|verify|format|^prepare$", re.I)
# Building before the tests is not part of running them.
_BUILDING = re.compile(r"^\.?(?:pre|post)?(?:build|compile|clean|dist|docs?|gen|generate|deps|bundle)\b", re.I)
_INSTALLING = frozenset(("preinstall", "install", "postinstall"))
_RULE = re.compile(r"^([\w./%$(){} *+=\"'@-]+?)\s*(?:&?::?)(?!=)(.*)$")
_ASSIGNMENT = re.compile(
    r"^\s*((?:(?:export|override|private)\s+)*)(?:define\s+)?([\w.%-]+)\s*(?::{0,3}=|\?=|\+=|!=)"
    r"|^\s*((?:override\s+)?)define\s+([\w.%-]+)\s*$"
)
_INCLUDE = re.compile(r"^\s*(?:-?include|sinclude|load|import\??|mod\??|export|unexport|set)\s")
_USED = re.compile(r"\$[({](?:[\w-]+ +)?([\w.%-]+)|\$([A-Za-z_])|\{\{[^}]*?([A-Za-z_][\w-]*)[^}]*\}\}")
# Variables that change what every line of a recipe does.
_GLOBAL = frozenset(
    "SHELL .SHELLFLAGS MAKEFLAGS GNUMAKEFLAGS PATH PYTHONPATH PYTEST_ADDOPTS PYTEST_PLUGINS NODE_OPTIONS NODE_PATH "
    "GOFLAGS RUSTFLAGS CARGO JAVA_TOOL_OPTIONS BASH_ENV ENV".split()
)
# Variables of make's own rules for compilers.
_COMPILING = frozenset("CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS".split())
# The first word of a command, or the first one after a program that runs scripts.
_STARTED = re.compile(
    r"(?:^|[;&|(])\s*(?:[A-Za-z_]\w*=\S*\s+)*"
    r"(?:(?:exec|env|time|sudo|command|uv\s+run|poetry\s+run|pdm\s+run|hatch\s+run|(?:\S*/)?(?:sh|bash|dash|zsh|ksh|python[\d.]*|pypy[\d.]*|node|bun"
    r"|deno|ruby|perl|php|tsx|ts-node|source|\.|g?make))\s+(?:-\S+\s+|run\s+|[A-Za-z_]\w*=\S*\s+)*)*"
    r"([^\s;&|()'\"<>]+)"
)
_SUFFIX_RULE = re.compile(r"\.\w+(?:\.\w+)?")
_SPECIAL_TARGETS = frozenset((".DEFAULT", ".IGNORE", ".ONESHELL", ".POSIX", ".DEFAULT_GOAL", "%"))


@dataclass(slots=True)
class _Makefile:
    """Each target and variable with its lines, in the order of the file."""

    rules: dict[str, list[str]] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, list[str]] = field(default_factory=dict)
    # lines that affect every recipe
    general: list[str] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)

    @property
    def phony(self) -> set[str]:
        return {word for line in self.rules.get(".PHONY", ()) for word in line.split()}


def makefile_parts(text: str, commands: Iterable[str] = ()) -> Parts:
    """The rules that checks run, the variables these use, and the lines that affect all of them."""
    makefile = _read_makefile(text)
    command_words = _words(commands)
    targets = {
        name for name in makefile.rules if _CHECKING.search(name) or name in command_words or name in _SPECIAL_TARGETS
    }
    targets -= {".PHONY"}
    _add_dependencies(targets, makefile.needs, makefile.rules)
    outputs = {need for name in targets for need in makefile.needs.get(name, ()) if need not in makefile.rules}
    if outputs and targets:
        targets |= {name for name in makefile.rules if "%" in name or _SUFFIX_RULE.fullmatch(name)}
    parts = {name: "\n".join(makefile.rules[name]) for name in makefile.rules if name in targets}
    phony = makefile.phony
    # make skips a target that is not phony if a file has its name
    parts = {name: body + "\n(phony)" * (name in phony) for name, body in parts.items()}
    variables = {name for name in makefile.variables if name in _GLOBAL or name in makefile.exported}
    if any(need.endswith(".o") for need in outputs):
        variables |= _COMPILING & makefile.variables.keys()
    pending = [*parts.values(), *("\n".join(makefile.variables[name]) for name in variables)]
    while pending:
        names = {next(filter(None, found)) for found in _USED.findall(pending.pop()) if any(found)}
        new_variables = (names & makefile.variables.keys()) - variables
        variables |= new_variables
        pending += ["\n".join(makefile.variables[name]) for name in new_variables]
    parts |= {name: "\n".join(makefile.variables[name]) for name in makefile.variables if name in variables}
    return parts | ({"include": "\n".join(makefile.general)} if makefile.general else {})


def targets_hidden_by_files(text: str, commands: Iterable[str]) -> set[str]:
    """Targets of these commands that make skips if a file or folder has their name."""
    makefile = _read_makefile(text)
    targets = makefile.rules.keys() & _words(commands)
    _add_dependencies(targets, makefile.needs, makefile.rules)
    return targets - makefile.phony


def _words(commands: Iterable[str]) -> set[str]:
    return {word for command in commands for word in re.split(r"[\s;&|()]+", command)}


def _read_makefile(text: str) -> _Makefile:
    makefile = _Makefile()
    bodies: list[list[str]] = []
    in_define = False
    for line in re.split(r"\r\n?|\n", re.sub(r"\\\r?\n[ \t]*", " ", text)):
        if in_define or (bodies and line.startswith(("\t", "    "))):
            for lines in bodies:
                lines.append(line.strip())
            in_define = in_define and not line.strip().startswith("endef")
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        in_define, bodies = _read_line(line, makefile)
    return makefile


def _read_line(line: str, makefile: _Makefile) -> tuple[bool, list[list[str]]]:
    """(is the next line in the body of a `define`, the lists to which the next lines belong)."""
    if assignment := _ASSIGNMENT.match(line):
        name = assignment[2] or assignment[4]
        lines = makefile.variables.setdefault(name, [])
        lines.append(line.strip())
        if "export" in (assignment[1] or ""):
            makefile.exported.add(name)
        is_define = re.match(r"\s*(?:override\s+)?define\s", line) is not None
        return is_define, [lines] if is_define else []
    if _INCLUDE.match(line) or "$(eval" in line or "${eval" in line:
        makefile.general.append(line.strip())
        return False, []
    rule = _RULE.match(line)
    if rule is None:
        return False, []
    names = [name.lstrip("@") for name in rule[1].split()]
    needs = [] if "=" in rule[2] else rule[2].split(";")[0].replace("|", " ").split()
    for name in names:
        makefile.rules.setdefault(name, []).append(line.strip())
        makefile.needs.setdefault(name, []).extend(needs)
    return False, [makefile.rules[name] for name in names]


def _add_dependencies(names: set[str], needs: Mapping[str, Collection[str]], available: Collection[str]) -> None:
    """Add everything that these depend on, except build steps."""
    pending = list(names)
    while pending:
        for name in needs.get(pending.pop(), ()):
            if name in available and name not in names and not _BUILDING.match(name):
                names.add(name)
                pending.append(name)


def script_parts(data: Mapping[str, Any], commands: Iterable[str] = ()) -> Parts:
    """The scripts of a package.json, composer.json or deno.json that checks and installing run."""
    found: dict[str, str] = {}
    for key in ("scripts", "tasks"):
        table = data.get(key)
        scripts = table if isinstance(table, dict) else {}
        texts = {name: json.dumps(words, sort_keys=True) for name, words in scripts.items()}
        command_words = _words(commands)
        names = {name for name in texts if _CHECKING.search(name) or name in command_words or name in _INSTALLING}
        _add_dependencies(names, {name: list(_run_by(text)) for name, text in texts.items()}, texts.keys())
        names |= {name for name in texts if name.removeprefix("pre") in names or name.removeprefix("post") in names}
        found |= {f"{key}.{name}": text for name, text in texts.items() if name in names}
    return found


def _run_by(text: str) -> Iterator[str]:
    for word in re.split(r"[\s;&|()\"'\\]+", text):
        yield word.lstrip("@")


def load_json(text: str) -> tuple[dict[str, Any], list[str]]:
    """A JSON object and its repeated keys, of which parsers use the first or the last."""
    repeated_keys: list[str] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated_keys.extend(name for number, name in enumerate(names) if name in names[:number])
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=build)
    except (ValueError, RecursionError):
        return {}, []
    return (data, repeated_keys) if isinstance(data, dict) else ({}, [])


def scripts_run_by(commands: Iterable[str], paths: Collection[str]) -> frozenset[str]:
    """The files that commands start, from the root or from a folder that they change to; not those that they read."""
    found: set[str] = set()
    for command in commands:
        words = {word.removeprefix("./") for word in _STARTED.findall(command)}
        folders = [f"{word.strip('/')}/" for word in _CHANGED_FOLDER.findall(command)]
        found |= {path for path in (*words, *(f + w for f in folders for w in words)) if path in paths}
    return frozenset(found)


# The depth of scripts that source scripts.
_MAX_DEPTH = 5
# Per tree; projects usually have a few.
_MAX_SCRIPTS = 200
_KEYWORD = re.compile(r"(?:^|(?<=[\s;&|({]))(?:then|do|else|elif|if|while|until|!|\{|@|-)(?=\s|\S*$)")
# `"$(dirname "$0")/lib.sh"`, `${BASH_SOURCE%/*}/lib.sh`, `$ROOT/ci/lib.sh`: the folder before the path is unknown
_PREFIX = re.compile(r"\$(?:\((?:[^()]|\([^()]*\))*\)|\{[^}]*\}|\w+)[\"']?/")
_INCLUDES = re.compile(r"^[ ]*(?:-?include|sinclude|!?import\??)[ \t]+(.+)$", re.MULTILINE)
_MAKEFILES = frozenset(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"))
# by their ending, or without one
_SHELL = re.compile(r"(?:^|/)\.?[^./]*$|\.(?:sh|bash|zsh|ksh|dash|bats|inc|env|mk)$")


def scripts_behind(
    all_commands: Iterable[str], paths: Collection[str], read: Callable[[Sequence[str]], Mapping[str, str]]
) -> frozenset[str]:
    """The scripts that commands run in a tree, and those that these source, down to a limit."""
    commands, paths = list(all_commands), frozenset(paths)
    found = set(scripts_run_by(commands, paths))
    if any(re.search(r"\b(?:g?make|just)\b", command) for command in commands):
        found |= {path for path in paths if path in _MAKEFILES}
    pending = found
    for _ in range(_MAX_DEPTH):
        contents = read(sorted(path for path in pending if _SHELL.search(path)))
        pending = {new for path, text in contents.items() for new in _sourced_by(path, text, paths)} - found
        found |= pending
        if not pending or len(found) > _MAX_SCRIPTS:
            break
    return frozenset(found)


def _sourced_by(path: str, content: str, paths: frozenset[str]) -> frozenset[str]:
    folder = posixpath.dirname(path) or "."
    if path.rpartition("/")[2] in _MAKEFILES or path.endswith(".mk"):
        words = {word.strip("'\"").removeprefix("./") for line in _INCLUDES.findall(content) for word in line.split()}
        return frozenset(words | {posixpath.normpath(f"{folder}/{word}") for word in words}) & paths
    lines = (_PREFIX.sub("", line).replace('"', "").replace("'", "") for line in content.split("\n")[:5000])
    commands = (f"cd {folder}; {_KEYWORD.sub(';', line)}" for line in lines if line.strip() and line.lstrip()[0] != "#")
    return scripts_run_by(commands, paths)


# Names and folders of scripts that take part in checking.
_OF_CHECKS = re.compile(
    r"(?:^|/)\.?(?:ci|hack|qa)/|(?:test|spec|lint|check|coverage|verify|format|runner|harness|suite|assert|expect|helper)[^/]*$",
    re.I,
)
_PROGRAM = re.compile(r"\.(?:sh|bash|zsh|ksh|dash|py|[cm]?[jt]s|rb|pl|php)$")
# With this, a file that the script of a check sources can end it with 0, or hide its failures.
_HIDES_FAILURES = re.compile(
    r"^\+.*\bexit\b(?!\s+[1-9])|^-.*\b(?:exit|set\s+-)|\b(?:exec|trap|kill|alias|unalias|enable|eval)\s|\bset\s+\+"
    r"|\b(?:PATH|IFS|ENV|BASH_ENV|fail\w*|err(?:or)?s?|status|rc|ret)="
    r"|^.\s*(?:function\s+)?(?:\[|test|diff|cmp|grep|false|true|exit|return|fail\w*|die|echo|printf|command)\s*\("
)


_CHANGED_FOLDER = re.compile(r"\bcd\s+([^\s;&|]+)")
# Per tree; only large collections of packages have more.
_MOST_BUILD_FILES = 500


def build_files(paths: Iterable[str]) -> list[str]:
    """Where the commands of tests are, if `make test` or `npm test` starts them."""
    names = {*_MAKEFILES, "package.json"}
    found = [path for path in paths if posixpath.basename(path) in names and "node_modules/" not in path]
    return sorted(found, key=lambda path: (path.count("/"), path))[:_MOST_BUILD_FILES]


def possible_test_programs(change: Change) -> list[str]:
    """Edited programs that are for checks by their name or folder."""
    files = [file for file in change.files if file.status in "MRD" and not file.is_symlink]
    return [path for file in files if _OF_CHECKS.search(path := file.old_path or file.path)]


def test_programs(paths: Sequence[str], commands: Sequence[str], build_files: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the paths that test commands name, by themselves, in a recipe of make or in a package.json.

    A program that was compiled has the name of its source: `./run_checks` is `run_checks.c`.
    """
    lines = [(folder, command) for command in commands for folder in ("", *_CHANGED_FOLDER.findall(command))]
    for path, text in build_files.items():
        is_json = path.endswith(".json")
        parts = script_parts(load_json(text)[0], commands) if is_json else makefile_parts(text, commands)
        lines += [(posixpath.dirname(path), line) for line in parts.values()]
    words = {(folder, word) for folder, line in lines for word in re.split(r"[\s;&|()<>'\"\\=]+", line) if word}
    named_paths = {posixpath.normpath(posixpath.join(folder, word)) for folder, word in words}
    # `check` alone may be a target of make
    programs = {posixpath.normpath(posixpath.join(folder, word)) for folder, word in words if "/" in word}
    return tuple(path for path in paths if path in named_paths or posixpath.splitext(path)[0] in programs)


test_programs.__test__ = False  # type: ignore[attr-defined]


def is_code_under_test(file: ChangedFile) -> bool:
    """True for a script that the script of a check starts or sources, and that cannot end it or hide its failures.

    It must not be for checks by its name or folder, and the change must leave its mode and kind.
    """
    paths = {file.path, file.old_path or file.path}
    is_edited = file.status in "MR" and file.old_mode == file.new_mode and not (file.binary or file.is_symlink)
    if not is_edited or any(map(_OF_CHECKS.search, paths)):
        return False
    # a file without an ending may be included by a Makefile
    if not (file.is_executable or all(map(_PROGRAM.search, paths))):
        return False
    changed_lines = (line for hunk in file.hunks for line in hunk.text.split("\n")[1:] if line.startswith(("+", "-")))
    return not (any(map(_SHELL.search, paths)) and any(map(_HIDES_FAILURES.search, changed_lines)))
