"""One layer of settings each: a YAML file, a table in pyproject.toml, the environment, flags."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnish.bounded_yaml import MAX_DEPTH, bounded_parser, load_yaml, parser_errors
from burnish.errors import BadInput, BurnishError
from burnish.regular_files import open_below, parse_toml

PREFIX = "BURNISH__"
MAX_BYTES = 1_000_000
# Far more than an honest file has: to merge and validate ten thousand takes half a minute.
MAX_NODES = 3_000

Where = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place, and the place of each key."""

    name: str
    data: Mapping[str, Any]
    # the place of a key; those not listed are in the place of the key above them
    places: Mapping[Where, str] = field(default_factory=dict)
    # a file states a check or a role as a whole; a variable or a flag changes one part of it
    whole: bool = True

    def place(self, key: Where) -> str:
        for end in range(len(key), 0, -1):
            if found := self.places.get(key[:end]):
                return found
        # a group has no place of its own, but what is in it has
        inside = (place for where, place in self.places.items() if where[: len(key)] == key)
        return next(inside, self.name) if key else self.name

    def has(self, key: Where) -> bool:
        here: Any = self.data
        for part in key:
            keys: Any = range(len(here)) if isinstance(here, list) else here
            if not isinstance(here, Mapping | list) or part not in keys:
                return False
            here = here[part]  # type: ignore[index]
        return True


def read_text(path: Path, root: Path | None = None) -> str | None:
    """The file's text; None if there is no such file. With a `root`, nothing outside of it is read."""
    try:
        # O_NONBLOCK: opening a pipe must not wait for a writer
        handle = _open_inside(root, path) if root else os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "It is not a regular file")
            raw = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BurnishError(
            f"Cannot read {path}: {error.strerror}.", hint="Make it a file that you may read, or remove it."
        ) from None
    if len(raw) > MAX_BYTES:
        raise BadInput(f"{path} is larger than 1 MB.", hint="Settings are a short file; is this the right one?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text (byte {error.start}).", hint="Save it as UTF-8.") from None


def _open_inside(root: Path, path: Path) -> int:
    ground, target = root.resolve(), path.resolve()
    if not target.is_relative_to(ground):
        raise OSError(errno.EXDEV, "It leads out of the repository")
    return open_below(ground, target.relative_to(ground))


def yaml_layer(path: Path, name: str, root: Path | None = None) -> Layer | None:
    """A YAML file of settings; `name` is its name in messages."""
    text = read_text(path, root)
    return None if text is None else text_layer(text, name)


def text_layer(text: str, name: str) -> Layer:
    """The settings in the text of a YAML file."""
    layer = _parsed_layer(text, name)
    if isinstance(layer, BadInput):
        raise BadInput(layer.what, hint=layer.hint)
    return layer


@lru_cache(maxsize=32)
def _parsed_layer(text: str, name: str) -> Layer | BadInput:
    """Parsed once: one command reads the same file to see whether it is trusted and to use it, a server all day.

    A problem, too: to find one in a hostile file takes seconds.
    """
    try:
        data, lines = parse_yaml(text, name)
    except BadInput as problem:
        return problem.with_traceback(None)
    return Layer(name, data, {key: f"{name}:{line}" for key, line in lines.items()})


def parse_yaml(text: str, name: str) -> tuple[dict[str, Any], dict[Where, int]]:
    """The settings in a YAML text, and the line of each key."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = bounded_parser(MAX_NODES)
    try:
        with parser_errors():
            node = yaml.compose(text)
            lines = dict(_limited(_lines((), node, 0), name))
            data = yaml.constructor.construct_document(node) if node is not None else {}
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        what = str(error.problem or error.context or "it cannot be read").split(" with value")[0]
        raise BadInput(f"{name}{line} is not valid YAML: {what}.", hint="Correct that line.") from None
    except (YAMLError, ValueError) as error:
        first = (str(error).splitlines() or ["it cannot be read"])[0]
        raise BadInput(f"{name} is not valid YAML: {first}.", hint="Correct the file.") from None
    if data is None:
        return {}, {}
    if not isinstance(data, dict):
        raise BadInput(f"{name} holds no settings.", hint="Write lines like `agent: claude`.")
    _text_keys(data, name, lines, ())
    return data, lines


def _lines(path: Where, node: Any, depth: int) -> Iterator[tuple[Where, int]]:
    """Each key of a composed YAML node with its line."""
    if depth > MAX_DEPTH:
        raise ValueError("it is nested too deep")
    if node is None or isinstance(node.value, str):
        return
    for number, one in enumerate(node.value):
        if isinstance(one, tuple):
            key, value = one
            step = (*path, key.value if isinstance(key.value, str) else "?")
            yield step, key.start_mark.line + 1
        else:
            value, step = one, (*path, number)
            yield step, one.start_mark.line + 1
        yield from _lines(step, value, depth + 1)


def _limited(pairs: Iterator[tuple[Where, int]], name: str) -> Iterator[tuple[Where, int]]:
    for number, pair in enumerate(pairs):
        if number > MAX_NODES:
            raise BadInput(
                f"{name} has more than {MAX_NODES} entries.",
                hint="An alias counts as all entries of its anchor: use fewer.",
            )
        yield pair


def _text_keys(data: dict[Any, Any], name: str, lines: Mapping[Where, int], path: Where) -> None:
    for key, value in data.items():
        if not isinstance(key, str):
            line = f":{lines[path]}" if path in lines else ""
            raise BadInput(f"{name}{line} has a key that is not text: {key!r}.", hint="Put it in quotes.")
        if isinstance(value, dict):
            _text_keys(value, name, lines, (*path, key))


def pyproject_layer(path: Path, root: Path | None = None) -> Layer | None:
    """`[tool.burnish]`, if there is one."""
    text = read_text(path, root)
    if text is None or "burnish" not in text:
        return None
    try:
        tool = parse_toml(text).get("tool", {})
    except (ValueError, RecursionError) as error:
        if "tool.burnish" not in text:
            return None
        what = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise BadInput(f"{path.name} is not valid TOML: {what}.", hint="Correct that line.") from None
    if not isinstance(tool, dict) or "burnish" not in tool:
        return None
    name = f"{path.name} [tool.burnish]"
    if not isinstance(tool["burnish"], dict):
        raise BadInput(f"{name} is not a table.", hint="Write `[tool.burnish]` and settings below it.")
    _check_size(tool["burnish"], name)
    return Layer(name, tool["burnish"])


def _check_size(data: Any, name: str) -> None:
    """The limits of a YAML file; `a.a.a… = 1` nests as deep as the line is long."""
    level, nodes = [data], 0
    for _ in range(MAX_DEPTH + 1):
        children = [
            list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        ]
        level = [child for group in children for child in group]
        nodes += len(level)
        if nodes > MAX_NODES:
            raise BadInput(f"{name} has more than {MAX_NODES} entries.", hint="Settings are a short file.")
        if not level:
            return
    raise BadInput(f"{name} is nested too deep.", hint="Settings are a short file.")


def flag_layer(flags: Mapping[str, Any]) -> Layer:
    """The settings given on the command line: `{"review.max_cycles": 5}`; None means: not given."""
    data: dict[str, Any] = {}
    for name, value in flags.items():
        if value is not None:
            put(data, tuple(name.split(".")), value)
    return Layer("command line", data, whole=False)


def put(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        below = data.setdefault(part, {})
        if not isinstance(below, dict):
            below = data[part] = {}
        data = below
    data[path[-1]] = value


# -- environment ----------------------------------------------------------------------------------
# Settings from variables: `BURNISH__REVIEW__MAX_CYCLES=5`.


def env_layer(env: Mapping[str, str], below: Mapping[str, Any]) -> Layer:
    """The variables' layer; `below` is what it lies on, for names that a variable cannot spell."""
    data: dict[str, Any] = {}
    places: dict[Where, str] = {}
    for variable in sorted(name for name in env if name.startswith(PREFIX)):
        parts = variable.removeprefix(PREFIX).split("__")
        if not all(parts):
            raise BadInput(
                f"{variable} names no setting.",
                hint=f"Write it like {PREFIX}REVIEW__MAX_CYCLES.",
            )
        path = _spelled(parts, below)
        put(data, path, scalar(env[variable], variable))
        places[path] = variable
    return Layer("environment", data, places, whole=False)


def _spelled(parts: list[str], below: Mapping[str, Any]) -> tuple[str, ...]:
    """Lower case, or the way a name is written in the files: `MY_BOT` may mean `my-bot`."""
    path: list[str] = []
    here: Any = below
    for part in parts:
        names = here if isinstance(here, Mapping) else {}
        names_by_letters = {_folded(name): name for name in names}
        name = names_by_letters.get(_folded(part), part.lower())
        path.append(name)
        here = names.get(name)
    return tuple(path)


def _folded(name: str) -> str:
    return re.sub(r"[-.]", "_", name).lower()


def scalar(text: str, variable: str) -> Any:
    """A value as YAML would read it, but never a mapping or a comment by accident: `pytest -k "a: b" # x`."""
    from ruamel.yaml.error import YAMLError

    if not text.strip():
        return None
    if text.lstrip()[0] in "[{":
        return parse_yaml(f"value: {text}", variable)[0]["value"]
    try:
        value = load_yaml(text, most=MAX_NODES)
    except (YAMLError, ValueError):
        return text
    if isinstance(value, str):
        return value if text.lstrip()[0] in "'\"" else text
    return value if value is None or isinstance(value, bool | int | float) else text
