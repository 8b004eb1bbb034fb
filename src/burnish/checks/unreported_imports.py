"""Detects tests that did not report their imports, in an environment that leads to the user's checkout.

`import_report` covers every interpreter that reads PYTHONPATH. `python -I`, `python -E` and `env -i` disable that, and
scripts may do so out of sight. If an environment that the check can start has the project installed from the
checkout, such tests would test the checkout instead of the change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from burnish.checks.checkout_programs import direct_source, read_start
from burnish.checks.import_origins import runs_tests
from burnish.checks.import_report import has_report
from burnish.checks.placement import Placement
from burnish.checks.reachable_environments import (
    environments_named,
    environments_on_path,
    known_environments,
    script_texts,
)
from burnish.core.policy import CheckSpec

_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
# Options on lines that start an interpreter: `python -I -m pytest`, `$(PY) -I -m pytest`, ["python", "-I"]
_SWITCHED_OFF = re.compile(
    r"(?:python|pypy|executable)[\w.]*[\"')}]*,?\s+(?:[\"']?-[^\s\"',]+[\"']?,?\s+)*[\"']?-[A-Za-z]*[IE]"
    r"|(?<!\S)-[a-zA-Z]*[IE][A-Za-z]*\s+(?:-\S+\s+)*-m\s+\w+"
    r"|\benv\s+(?:-\S+\s+)*(?:-i|-|--ignore-environment)\s"
    r"|\bunset\s[^\n;&|]*\bPYTHONPATH\b|(?:-u\s*|--unset[= ])PYTHONPATH\b|\bPYTHONPATH=(?:\"\"|'')?(?=\s|$)"
)
# The project's own PYTHONPATH puts its sources first; tox and similar tools install the tree before the tests.
_EXPLAINS_SILENCE = re.compile(
    r"\bPYTHONPATH\s*[:?]?=\s*[^\s\"']|(?:^|[\s;&|@])(?:tox|nox|hatch|docker|podman|bazel|pants)(?=\s|$)", re.M
)
_PYTHON_TESTS_RAN = re.compile(
    r"^Ran \d+ tests? in |^=*\s*(?:\d+ \w+, )*\d+ (?:passed|failed|errors?)\b.* in [\d.]+s"
    r"|^(?:\S+ )?[.FEsxX]+ +\[ *\d+%\]$",
    re.M,
)
_POINTERS = ("*.pth", "*.egg-link", "__editable___*_finder.py")


def unreported_imports(spec: CheckSpec, place: Placement, report_dir: Path, env: Mapping[str, str], output: str) -> str:
    """Why the tests may have imported the checkout without a report; "" if impossible or unknown."""
    if place.checkout is None or place.wrap or spec.name == "origins" or not runs_tests(spec):
        return ""  # in a sandbox, paths of the checkout lead to the tree
    if not any((place.files / folder / name).exists() for folder in {"", spec.cwd} for name in _PYTHON_PROJECT):
        return ""
    if Path(os.path.realpath(env.get("HOME", "/"))).is_relative_to(place.checkout.resolve()):
        return ""  # the home is inside the checkout, so all environments are
    texts = {"its command": spec.words, **script_texts(place.files)}
    named_problem = next(_that_import(environments_named(texts.values(), env), place), "")
    reachable_problem = named_problem or next(
        _that_import(environments_on_path(env.get("PATH", ""), texts.values()), place), ""
    )
    switch = _switched_off(texts)
    if reachable_problem and switch:
        return f"{reachable_problem}, and {switch}"
    if has_report(report_dir) or any(map(_EXPLAINS_SILENCE.search, texts.values())):
        return ""
    if not named_problem and not _PYTHON_TESTS_RAN.search(output):
        return ""
    problem = reachable_problem or next(_that_import(known_environments(env), place), "")
    return f"{problem}, and the tests did not report what they imported" if problem else ""


def _switched_off(texts: Mapping[str, str]) -> str:
    """A message about a text that starts an interpreter without reports; "" if none does."""
    for name, text in texts.items():
        if found := _SWITCHED_OFF.search(text):
            return f"{name} disables PYTHONPATH (`{' '.join(found[0].split())}`), so that imports cannot be checked"
    return ""


def _that_import(environments: Iterable[Path], place: Placement) -> Iterator[str]:
    """Messages about environments with packages that were installed from the checkout."""
    assert place.checkout
    roots = tuple(sorted({str(place.checkout), str(place.checkout.resolve())}))
    for prefix in dict.fromkeys(environments):
        for base in (prefix, *_bases(prefix)):
            for pattern in _PACKAGES:
                for packages in _glob(base, pattern):
                    source = _source_in(packages, roots)
                    if source and not Path(source).is_relative_to(place.files.resolve()):
                        yield f"{prefix} has the project installed from {source}"


def _bases(prefix: Path) -> Iterator[Path]:
    """The base installation whose packages a virtual environment includes."""
    lines = (line.partition("=") for line in read_start(prefix / "pyvenv.cfg").splitlines())
    settings = {key.strip(): value.strip() for key, _, value in lines}
    if settings.get("include-system-site-packages") == "true" and settings.get("home"):
        yield Path(settings["home"]).parent


def _source_in(packages: Path, roots: tuple[str, ...]) -> str:
    """The path in the checkout that this folder of installed packages leads to; "" if none."""
    for record in _glob(packages, "*.dist-info/direct_url.json"):
        source, _ = direct_source(record)
        if source and any(source.is_relative_to(root) for root in roots):
            return str(source)
    for pattern in _POINTERS:
        for pointer in _glob(packages, pattern):
            text = read_start(pointer)
            for root in roots:
                if found := re.search(re.escape(root) + r"(?=/|[\s\"']|$)[^\s\"']*", text):
                    return found[0]
    for entry in _glob(packages, "*"):
        if entry.is_symlink() and any(Path(os.path.realpath(entry)).is_relative_to(root) for root in roots):
            return os.path.realpath(entry)
    return ""


def _glob(place: Path, pattern: str) -> list[Path]:
    try:
        return sorted(place.glob(pattern))
    except OSError:
        return []
