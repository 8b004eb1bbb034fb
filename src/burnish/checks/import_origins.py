"""Where the project's own Python packages come from: the proof that tests import the tree under test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from burnish.core.policy import CheckSpec

# Asked of the interpreter that runs the tests. Names come as arguments: nothing of the project is imported by it.
_QUESTION = """
import sys
sys.path[:] = [place for place in sys.path if place]  # first, so that a json.py of the project is not imported
import importlib.util, json, os
here = os.getcwd()
def origin(name):
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    places = [spec.origin] if spec.origin and spec.has_location else list(spec.submodule_search_locations or ())
    return os.path.realpath(places[0]) if places else None
sys.path[:] = [place for place in sys.path if place != here]
alone = {name: origin(name) for name in sys.argv[1:]}
sys.path.insert(0, here)
importlib.invalidate_caches()
first = {name: origin(name) for name in sys.argv[1:]}
print(json.dumps({"here": os.path.realpath(here), "alone": alone, "first": first}))
"""
_SKIPPED = frozenset("test tests testing docs doc examples example scripts benchmarks bench tools build dist".split())
_NAME = re.compile(r"[A-Za-z_]\w*")
_ENVIRONMENTS = re.compile(r"(?:^|/)(?:\.venv|venv|env|site-packages|dist-packages)(?:/|$)")
MOST_PACKAGES = 20


@dataclass(frozen=True, slots=True)
class Origins:
    """Where each top-level package was found, and what is wrong with that."""

    packages: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def top_level_packages(paths: Iterable[str]) -> tuple[str, ...]:
    """Names of the packages that the tree itself holds, at its root or below `src`."""
    found: dict[str, None] = {}
    for path in sorted(paths):
        parts = PurePosixPath(path).parts
        if parts[:1] == ("src",):
            parts = parts[1:]
        if len(parts) == 2 and parts[1] == "__init__.py" and parts[0] not in _SKIPPED and _NAME.fullmatch(parts[0]):
            found[parts[0]] = None
    return tuple(found)[:MOST_PACKAGES]


def question(packages: Sequence[str], python: str = "python") -> tuple[str, ...]:
    """The command that answers where these packages come from."""
    return (python, "-c", _QUESTION, *packages)


def read_origins(stdout: str, spec: CheckSpec, paths: Iterable[str]) -> Origins:
    """The answer, judged for one test command. Printed noise around the JSON is ignored."""
    line = next((line for line in reversed(stdout.split("\n")) if line.startswith('{"here"')), "")
    try:
        answer = json.loads(line)
    except ValueError:
        return Origins()
    here, cwd_first = str(answer["here"]), _cwd_first(spec, paths)
    found: list[tuple[str, str]] = []
    for name, alone in answer["alone"].items():
        first = answer["first"].get(name)
        origin = first if cwd_first or alone is None else alone
        if origin is None:
            continue
        found.append((name, origin))
        if not _is_under(origin, here):
            return Origins(tuple(found), f"{name} is imported from {origin}, not from the tree under test")
    return Origins(tuple(found))


def _cwd_first(spec: CheckSpec, paths: Iterable[str]) -> bool:
    """Does pytest put the root of the tree first on sys.path? `python -m` does, and so does a conftest.py there."""
    return re.search(r"(?:^|\s)-m\s", spec.words) is not None or "conftest.py" in paths


def _is_under(origin: str, here: str) -> bool:
    if not origin.startswith(f"{here}/"):
        return False
    return _ENVIRONMENTS.search(origin[len(here) + 1 :]) is None
