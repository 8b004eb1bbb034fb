"""Reads justfiles and Taskfiles: tasks with their commands, variables and the tasks that they need. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from burnish.bounded_yaml import load_yaml
from burnish.checks.tools import ProjectFolder

_MAX_ENTRIES = 5_000
_RECIPE = re.compile(r"@?([A-Za-z_][\w-]*)((?:\s+[^:=]*)?):(?!=)\s*(.*)")
_ASSIGNMENT = re.compile(r"(export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)")


@dataclass(slots=True)
class TaskRecipe:
    lines: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    # It can only be run as a whole, e.g. because it is a script of another language.
    is_script: bool = False


@dataclass(slots=True)
class TaskFile:
    program: str
    name: str = ""
    tasks: dict[str, TaskRecipe] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    def commands(
        self, name: str, not_tests: re.Pattern[str], above: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, dict[str, str], list[str] | None]]:
        """Each task that a task runs, with variables and lines; without lines if it runs as a whole."""
        task = self.tasks[name]
        for need in task.needs:
            if need in self.tasks and need not in (*above, name) and not not_tests.fullmatch(need):
                yield from self.commands(need, not_tests, (*above, name))
        yield name, {**self.env, **task.env}, None if task.is_script else task.lines


def read_justfile(place: ProjectFolder) -> TaskFile:
    found = TaskFile("just", place.first("justfile", "Justfile", ".justfile", "JUSTFILE") or "")
    text = place.read(found.name) if found.name else ""
    variables: dict[str, str] = {}
    exports_all = False
    task = TaskRecipe()
    for line in text.replace("\\\n", " ").splitlines():
        if line[:1] in (" ", "\t") and line.strip():
            task.is_script |= not task.lines and line.strip().startswith("#!")
            task.lines.append(line.strip().lstrip("@-"))
        elif match := _ASSIGNMENT.fullmatch(line.strip()):
            variables[match[2]] = match[3].strip().strip("'\"")
            if match[1]:
                found.env[match[2]] = variables[match[2]]
        elif re.match(r"set\s+export\b(?!\s*:=\s*false)", line):
            exports_all = True
        elif re.match(r"set\s+dotenv-load\b(?!\s*:=\s*false)", line):
            found.env |= _env_file(place.read(".env"))
        elif match := _RECIPE.fullmatch(line.strip()):
            needs, _, later = match[3].partition("&&")
            names = re.findall(r"(?<![\w'\"-])[A-Za-z_][\w-]*", re.sub(r"#.*|\([^)]*\)", "", f"{needs} {later}"))
            inner_names = re.findall(r"\(\s*([A-Za-z_][\w-]*)", match[3])
            task = found.tasks[match[1]] = TaskRecipe(needs=[*names, *inner_names])
    if exports_all:
        found.env |= variables
    for one in found.tasks.values():
        one.lines = [_with_values(line, variables) for line in one.lines]
    return found


def read_taskfile(place: ProjectFolder) -> TaskFile:
    found = TaskFile("task", place.first("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml") or "")
    table = read_yaml(place.read(found.name)) if found.name else {}
    found.env = _texts(table.get("env"))
    for path in table.get("dotenv") or () if isinstance(table.get("dotenv"), list) else ():
        found.env |= _env_file(place.read(str(path)))
    variables = _texts(table.get("vars"))
    tasks = table.get("tasks")
    for name, value in tasks.items() if isinstance(tasks, dict) else ():
        found.tasks[str(name)] = _task(value, variables)
    return found


def _task(value: object, variables: dict[str, str]) -> TaskRecipe:
    table: dict[str, Any] = (
        value if isinstance(value, dict) else {"cmds": value if isinstance(value, list) else [value]}
    )
    task = TaskRecipe(env=_texts(table.get("env")), is_script="dir" in table)
    commands = table.get("cmds", table.get("cmd"))
    for need in table.get("deps") or () if isinstance(table.get("deps"), list) else ():
        task.needs.append(str(need.get("task")) if isinstance(need, dict) else str(need))
    for one in commands if isinstance(commands, list) else [commands]:
        text = one.get("cmd") if isinstance(one, dict) else one
        if isinstance(one, dict) and one.get("task"):
            task.needs.append(str(one["task"]))
        elif isinstance(text, str):
            task.lines.append(re.sub(r"\{\{\s*\.(\w+)\s*\}\}", lambda m: variables.get(m[1], ""), text))
    return task


def _with_values(line: str, variables: dict[str, str]) -> str:
    return re.sub(r"\{\{\s*([\w-]+)\s*\}\}", lambda match: variables.get(match[1], ""), line)


def _env_file(text: str) -> dict[str, str]:
    lines = re.findall(r"^\s*(?:export\s+)?([A-Za-z_]\w*)=(.*?)\s*$", text, re.M)
    return {name: value.strip("'\"") for name, value in lines}


def _texts(table: object) -> dict[str, str]:
    pairs = table.items() if isinstance(table, dict) else ()
    return {str(key): str(value) for key, value in pairs if isinstance(value, str | int | float)}


def read_yaml(text: str) -> dict[str, Any]:
    from ruamel.yaml.error import YAMLError

    try:
        table = load_yaml(text, most=_MAX_ENTRIES)
    except (ValueError, YAMLError):
        return {}
    return table if isinstance(table, dict) else {}
