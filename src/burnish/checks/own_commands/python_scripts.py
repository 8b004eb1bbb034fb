"""Reads the test commands of tox, nox, and the scripts of pdm, poe, hatch, taskipy, rye and pipenv. Pure."""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from burnish.checks.tools import ProjectFolder
from burnish.regular_files import parse_toml

# variables, and a shell line
ScriptCommand = tuple[dict[str, str], str]
_SCRIPT_TABLES = {
    "pdm run": ("tool", "pdm", "scripts"),
    "hatch run": ("tool", "hatch", "envs", "default", "scripts"),
    "poe": ("tool", "poe", "tasks"),
    "task": ("tool", "taskipy", "tasks"),
    "rye run": ("tool", "rye", "scripts"),
}
_TEXT_KEYS = ("composite", "sequence", "chain", "cmd", "shell", "call")
# Environments of tox and sessions of nox that run something else than tests.
_NOT_TESTS = re.compile(
    r"(?:.*[-_.])?(?:lint(?:er|ers|ing)?|fmt|format|style|types?|typing|typecheck|mypy|pyright|flake8|ruff|black|isort|pylint"
    r"|docs?|build|dist|package|publish|release|pre-?commit|bench(?:mark)?s?|cov(?:erage)?|report|clean|dev|devenv|check"
    r"|changelog|downstream|safety|bandit|audit|pip-?compile|requirements|lock)(?:[-_.].*)?",
    re.I,
)
_RUNNERS = re.compile(r"\b(?:pytest|py\.test|unittest|nose2|nosetests|manage\.py)\b")
_CONDITION = re.compile(r"^[!\w{},.*-]+:\s+")
_MAX_DEPTH = 6


class PythonScripts:
    """The test commands that the files of a Python project name."""

    def __init__(self, place: ProjectFolder) -> None:
        self.place = place

    def entries(self, names: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """(`pdm run`, `test`, pyproject.toml); tox and nox are without a name."""
        if self._tox.sections():
            yield "tox", "", self._tox_file
        if "noxfile.py" in self.place.names:
            yield "nox", "", "noxfile.py"
        wanted_names = tuple(names)
        yield from (("inv", name, "tasks.py") for name in wanted_names if name in self._invoke_tasks)
        for start in (*_SCRIPT_TABLES, "pipenv run"):
            scripts = self._table(start)
            file = "Pipfile" if start == "pipenv run" else "pyproject.toml"
            yield from ((start, name, file) for name in wanted_names if name in scripts)

    def other_entries(self) -> Iterator[tuple[str, str, str]]:
        """Environments of tox and sessions of nox that are not among the usual ones, and all scripts."""
        usual_names = self._tox_environments([]) if self._tox.sections() else []
        environments = [name.removeprefix("testenv:") for name in self._tox.sections() if name.startswith("testenv:")]
        yield from (("tox -e", name, self._tox_file) for name in environments if name not in usual_names)
        tree = _parsed(self.place.read("noxfile.py"))
        sessions = _sessions(tree)
        usual_names = _default_sessions(tree, sessions)
        yield from (("nox -s", name, "noxfile.py") for name in sessions if name not in usual_names)
        yield from (("inv", name, "tasks.py") for name in self._invoke_tasks)
        for start in (*_SCRIPT_TABLES, "pipenv run"):
            file = "Pipfile" if start == "pipenv run" else "pyproject.toml"
            yield from ((start, name, file) for name in self._table(start))

    def commands(self, start: str, name: str) -> list[ScriptCommand] | None:
        """The commands of a script, None if there is no such script."""
        if start == "tox":
            return self._tox_commands(name.split())
        if start == "nox":
            return self._nox_commands(name.split())
        if start in ("inv", "invoke"):
            task = self._invoke_tasks.get(name)
            return None if task is None else [({}, text) for text in _invoked(task)]
        scripts = self._table(start)
        if name not in scripts:
            return None
        common_env = scripts.get("_")
        env = _env_of(common_env) if start == "pdm run" else {}
        if start == "hatch run":
            env = _texts(_at(self._pyproject, "tool", "hatch", "envs", "default", "env-vars"))
        if start == "poe":
            env = _texts(_at(self._pyproject, "tool", "poe", "env"))
        return list(_script_commands(name, scripts, env, ()))

    @cached_property
    def _pyproject(self) -> dict[str, Any]:
        return read_toml(self.place.read("pyproject.toml"))

    def _table(self, start: str) -> Mapping[str, Any]:
        table = _at(read_toml(self.place.read("Pipfile")), "scripts") if start == "pipenv run" else None
        table = _at(self._pyproject, *_SCRIPT_TABLES[start]) if start in _SCRIPT_TABLES else table
        return table if isinstance(table, dict) else {}

    # -- tox ---------------------------------------------------------------------------------------

    @property
    def _tox_file(self) -> str:
        return "tox.ini" if "tox.ini" in self.place.names else "pyproject.toml"

    @cached_property
    def _tox(self) -> configparser.ConfigParser:
        """The settings of tox as those of tox.ini; without sections if there are none."""
        parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        own = _at(self._pyproject, "tool", "tox")
        legacy = _at(own, "legacy_tox_ini")
        try:
            if "tox.ini" in self.place.names:
                parser.read_string(self.place.read("tox.ini"))
            elif isinstance(legacy, str):
                parser.read_string(legacy)
            else:
                table = read_toml(self.place.read("tox.toml")) if "tox.toml" in self.place.names else own
                parser.read_dict(_as_ini(table) if isinstance(table, dict) else {})
        except configparser.Error:
            parser.clear()
        if not any(name == "testenv" or name.startswith("testenv:") for name in parser.sections()):
            for name in parser.sections():
                parser.remove_section(name)
        return parser

    def _tox_commands(self, arguments: list[str]) -> list[ScriptCommand] | None:
        if not self._tox.sections():
            return None
        names = self._tox_environments(arguments)
        return [one for name in names for one in self._of_environment(name)]

    def _tox_environments(self, arguments: list[str]) -> list[str]:
        for at, word in enumerate(arguments):
            if word == "-e" and arguments[at + 1 :]:
                return arguments[at + 1].split(",")
            if word.startswith("-e") and word[2:]:
                return word[2:].split(",")
        tox = self._tox
        text = tox.get("tox", "env_list", fallback="") or tox.get("tox", "envlist", fallback="")
        names = [name.strip() for line in _expanded(text) for name in re.split(r"[,\s]+", line) if name.strip()]
        names = [name for name in names if not _NOT_TESTS.fullmatch(name)]
        return names or [""]

    def _of_environment(self, name: str) -> Iterator[ScriptCommand]:
        section = f"testenv:{name}" if self._tox.has_section(f"testenv:{name}") else "testenv"
        env = {}
        for line in self._tox_lines(section, ("set_env", "setenv"), name):
            key, _, value = line.partition("=")
            if re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
                env[key.strip()] = value.strip()
        folder = "".join(self._tox_lines(section, ("change_dir", "changedir"), name)[:1])
        is_moved = re.fullmatch(r"\w[\w./-]*", folder) is not None
        root = posixpath.relpath(".", folder) if is_moved else "."
        for key in ("commands_pre", "commands", "commands_post"):
            for line in self._tox_lines(section, (key,), name):
                plain = line.lstrip("-! ")
                # Paths of tests are those of the root in most files.
                if not is_moved or "./" in plain or _RUNNERS.search(plain):
                    yield env, plain
                else:
                    moved_env = {key: re.sub(r"(^|:)\./", rf"\1{root}/", value) for key, value in env.items()}
                    yield moved_env, f"cd {folder} && {plain}"

    def _tox_lines(self, section: str, keys: tuple[str, ...], environment: str) -> list[str]:
        """The lines of a setting that apply to an environment, with the values that it names."""
        places = [(one, key) for one in (section, "testenv") for key in keys if self._tox.has_option(one, key)]
        if not places:
            return []
        text = self._substituted(self._tox.get(*places[0]), 0).replace("\\\n", " ")
        lines = []
        factors = set(environment.split("-"))
        for line in text.splitlines():
            condition = _CONDITION.match(line.strip())
            if condition and environment:
                wanted_factors = set(re.findall(r"[\w.]+", condition[0]))
                if not wanted_factors & factors and "!" not in condition[0] and "{" not in condition[0]:
                    continue
            plain = line.strip()[condition.end() :] if condition else line.strip()
            lines += [plain] if plain else []
        return lines

    def _substituted(self, text: str, depth: int) -> str:
        def section_value(match: re.Match[str]) -> str:
            value = self._tox.get(match[1], match[2], fallback="") if self._tox.has_section(match[1]) else ""
            return self._substituted(value, depth + 1) if depth < _MAX_DEPTH else ""

        text = re.sub(r"\{\[([^\]]+)\](\w+)\}", section_value, text)
        text = re.sub(r"\{(?:tox_root|toxinidir)\}[/\\]?", "./", text)
        text = re.sub(r"\{posargs(?::([^{}]*))?\}|\[\]", lambda match: match[1] or "", text)
        text = re.sub(r"\{env:\w+(?::([^{}]*))?\}", lambda match: match[1] or "", text)
        text = re.sub(r"\{posargs(?::([^{}]*))?\}", lambda match: match[1] or "", text)
        return re.sub(r"\{(?:env_?python|env_python)\}|\{env_?bin_?dir\}/python", "python", text)

    # -- nox ---------------------------------------------------------------------------------------

    def _nox_commands(self, arguments: list[str]) -> list[ScriptCommand] | None:
        if "noxfile.py" not in self.place.names:
            return None
        tree = _parsed(self.place.read("noxfile.py"))
        sessions = _sessions(tree)
        names = [word for word in arguments if word in sessions] or _default_sessions(tree, sessions)
        return [one for name in names if name in sessions for one in _session_commands(sessions[name])]

    # -- invoke ------------------------------------------------------------------------------------

    @cached_property
    def _invoke_tasks(self) -> dict[str, ast.FunctionDef]:
        text = self.place.read("tasks.py")
        return _decorated(_parsed(text), "task") if re.search(r"^\s*(?:from|import) invoke\b", text, re.M) else {}


def _parsed(text: str) -> ast.Module:
    """The syntax tree of a file; empty if it cannot be read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _decorated(tree: ast.Module, word: str) -> dict[str, ast.FunctionDef]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in functions if any(word in ast.dump(one) for one in node.decorator_list)}


def _sessions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return _decorated(tree, "session")


def _invoked(task: ast.FunctionDef) -> list[str]:
    calls = [node for node in ast.walk(task) if isinstance(node, ast.Call) and _is_run(node)]
    return [_value(call.args[0]) for call in sorted(calls, key=lambda call: call.lineno)]


def _default_sessions(tree: ast.Module, sessions: Mapping[str, ast.FunctionDef]) -> list[str]:
    names = [
        name
        for name, node in sessions.items()
        if not any(
            "keyword(arg='default', value=Constant(value=False))" in ast.dump(one) for one in node.decorator_list
        )
    ]
    for node in tree.body:
        is_options = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "nox.options.sessions"
        if is_options and isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple):
            names = [str(one.value).partition("-")[0] for one in node.value.elts if isinstance(one, ast.Constant)]
    return [name for name in names if not _NOT_TESTS.fullmatch(name)]


def _session_commands(session: ast.FunctionDef) -> Iterator[ScriptCommand]:
    common_env: dict[str, str] = {}
    for node in ast.walk(session):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("session.env["):
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                common_env[str(target.slice.value)] = _value(node.value)
    calls = [node for node in ast.walk(session) if isinstance(node, ast.Call) and _is_run(node)]
    for call in sorted(calls, key=lambda call: call.lineno):
        words = [_value(one) for one in call.args if not isinstance(one, ast.Starred)]
        env = next((one.value for one in call.keywords if one.arg == "env"), None)
        own = dict[str, str]()
        if isinstance(env, ast.Dict):
            pairs = zip(env.keys, env.values, strict=True)
            own = {str(key.value): _value(value) for key, value in pairs if isinstance(key, ast.Constant)}
        yield {**common_env, **own}, shlex.join(words)


def _is_run(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("run", "run_always") and bool(call.args)


def _value(node: ast.expr) -> str:
    """The text of a literal; `$…` for what is known only when it runs."""
    return str(node.value) if isinstance(node, ast.Constant) else "$unknown"


def _script_commands(
    name: str, scripts: Mapping[str, Any], env: Mapping[str, str], above: tuple[str, ...]
) -> Iterator[ScriptCommand]:
    """The commands of a script and of the scripts that it names."""
    value = scripts.get(name)
    own = {**env, **_env_of(value)}
    if isinstance(value, dict):
        value = next((value[key] for key in _TEXT_KEYS if key in value), "")
    for one in value if isinstance(value, list) else [value]:
        inner = {**own, **_env_of(one)}
        text = (one.get("cmd") or one.get("ref") or one.get("shell")) if isinstance(one, dict) else one
        if isinstance(text, list):
            text = shlex.join(map(str, text))
        if not isinstance(text, str):
            continue
        text = re.sub(r"\{args(?::([^{}]*))?\}", lambda match: match[1] or "", text)
        first = text.split()[0] if text.split() else ""
        if first in scripts and first not in (*above, name) and len(above) < _MAX_DEPTH:
            yield from _script_commands(first, scripts, inner, (*above, name))
        else:
            yield inner, text.strip()


def _env_of(value: object) -> dict[str, str]:
    return _texts(value.get("env")) if isinstance(value, dict) else {}


def _texts(table: object) -> dict[str, str]:
    pairs = table.items() if isinstance(table, dict) else ()
    return {str(key): str(value) for key, value in pairs if isinstance(value, str | int | float)}


def _at(table: object, *keys: str) -> object:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def read_toml(text: str) -> dict[str, Any]:
    """The table of a file; empty if it cannot be read."""
    try:
        return parse_toml(text)
    except (ValueError, RecursionError):
        return {}


def _expanded(text: str) -> list[str]:
    """`py{310,312}-unit` as two names."""
    lines = [text]
    for _ in range(_MAX_DEPTH):
        found: list[str] = []
        for line in lines:
            match = re.search(r"([\w.-]*)\{([^{}]*)\}([\w.-]*)", line)
            if match is None:
                found.append(line)
                continue
            names = ",".join(f"{match[1]}{one.strip()}{match[3]}" for one in match[2].split(","))
            found.append(f"{line[: match.start()]}{names}{line[match.end() :]}")
        if found == lines:
            break
        lines = found
    return lines


def _as_ini(table: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The TOML settings of tox in the shape of tox.ini."""
    found: dict[str, dict[str, str]] = {"tox": {"env_list": " ".join(map(str, table.get("env_list") or ()))}}
    envs = table.get("env")
    env_tables = envs.items() if isinstance(envs, dict) else ()
    for name, env in (("testenv", table.get("env_run_base")), *((f"testenv:{name}", one) for name, one in env_tables)):
        if isinstance(env, dict):
            found[name] = {}
            for key in ("commands_pre", "commands", "commands_post"):
                commands = env.get(key)
                lines = [shlex.join(map(_word, one)) for one in commands if isinstance(one, list)] if commands else []
                found[name] |= {key: "\n".join(line for line in lines)} if lines else {}
            if isinstance(env.get("change_dir"), str):
                found[name]["change_dir"] = env["change_dir"]
            if variables := _texts(env.get("set_env")):
                found[name]["set_env"] = "\n".join(f"{key}={value}" for key, value in variables.items())
    return found


def _word(word: object) -> str:
    """`{replace = "posargs", default = ["tests"]}` is a table."""
    if isinstance(word, dict):
        default = word.get("default")
        return str(default[0]) if isinstance(default, list) and default else ""
    return str(word)
