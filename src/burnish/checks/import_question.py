"""A query for the interpreter that runs the tests: where do the project's packages and programs come from?

Its text is passed to `python -c`, so it does not import burnish and runs on Python 3.8 and later. Arguments: the
folder of the check from the root of the tree, the names of the projects in the tree, then names of packages.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Must come first, so that a json.py of the project is not imported.
    sys.path[:] = [place for place in sys.path if place]

import importlib.util
import json
import os
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_SETTINGS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_IMPORTLIB = re.compile(r"import-mode[=\s\"',]+importlib")
# Third-party code; a change to it is not a change of this project.
_FOREIGN = re.compile(r"/(?:vendor(?:ed)?|third[-_]?party|fixtures?|examples?|tests?)(?:/|$)")
PYTHONPATH_SETTING = re.compile(r"^\s*pythonpath\s*=\s*(\[[^\]]*\]|.*(?:\n[ \t]+\S.*)*)", re.M)


def normal(name: str | None) -> str:
    return re.sub(r"[-_.]+", "-", name or "").lower()


def is_below(place: str, root: str) -> bool:
    return place == root or place.startswith(root + os.sep)


def origin(name: str) -> str | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    places = [spec.origin] if spec.origin and spec.has_location else list(spec.submodule_search_locations or ())
    return os.path.realpath(places[0]) if places else None


def origins(names: Sequence[str], first: Sequence[str] = ()) -> dict[str, str | None]:
    before = list(sys.path)
    sys.path[:0] = first
    importlib.invalidate_caches()
    found = {name: origin(name) for name in names}
    sys.path[:] = before
    return found


def installed_projects(root: str, projects: set[str]) -> dict[str, dict[str, Any]]:
    """The installed distributions of this project, for any layout."""
    found: dict[str, dict[str, Any]] = {}
    for dist in metadata.distributions():
        # An uninstall that was stopped leaves folders without metadata.
        try:
            name = normal(dist.metadata["Name"])
            direct = json.loads(dist.read_text("direct_url.json") or "{}")
        except (TypeError, KeyError, AttributeError, UnicodeDecodeError, OSError):
            continue
        except ValueError:
            direct = {}
        url = urlsplit(str(direct.get("url", "")))
        source = os.path.realpath(unquote(url.path)) if url.scheme == "file" and "dir_info" in direct else ""
        ours = source and is_below(source, root) and not _FOREIGN.search(source[len(root) :])
        if name and name not in found and (name in projects or ours):
            found[name] = describe(dist, direct, source)
    return found


def describe(dist: metadata.Distribution, direct: dict[str, Any], source: str) -> dict[str, Any]:
    location = os.path.realpath(str(dist.locate_file("")))
    editable = bool(direct.get("dir_info", {}).get("editable"))
    # Without RECORD it is metadata beside the sources, and `files` lists the sources.
    files = dist.files if dist.read_text("RECORD") and not editable else None
    heads = {str(path).split("/")[0] for path in files or ()}
    names = {re.sub(r"\.(?:py|[\w.-]+\.so|so|pyd)$", "", head) for head in heads}
    return {
        # An editable install uses its sources; other installs use their copied files.
        "place": source if editable else location,
        "scripts": any(point.group in ("console_scripts", "gui_scripts") for point in dist.entry_points),
        "names": sorted(name for name in names if name.isidentifier() and not name.startswith("__")),
    }


def pytest_settings(here: str) -> tuple[list[str], bool]:
    """Folders that pytest puts first on sys.path, and whether it does not change sys.path otherwise."""
    folders: list[str] = []
    leaves_alone = False
    for name in _SETTINGS:
        try:
            text = Path(here, name).read_text("utf-8", "replace")
        except OSError:
            continue
        leaves_alone = leaves_alone or _IMPORTLIB.search(text) is not None
        for value in PYTHONPATH_SETTING.findall(text):
            folders += [str(Path(here, word)) for word in re.split(r"[\s,\"'\[\]]+", value) if word]
    return folders, leaves_alone


def main() -> None:
    folder, projects, packages = sys.argv[1], set(sys.argv[2].split()), sys.argv[3:]
    here = str(Path.cwd())
    depth = len([part for part in folder.split("/") if part not in ("", ".")])
    root = os.path.realpath(str(Path(here, *[".."] * depth)))
    python_path = [str(Path(here, word)) for word in os.environ.get("PYTHONPATH", "").split(os.pathsep) if word]
    sys.path[:] = [place for place in sys.path if place != here or here in python_path]
    distributions = installed_projects(root, projects)
    names = sorted({*packages, *(name for one in distributions.values() for name in one["names"])})
    folders, leaves_alone = pytest_settings(here)
    answer = {
        "here": root,
        "alone": origins(names),
        "pytest": origins(names, folders),
        "first": origins(names, [here]),
        "importlib": leaves_alone,
        "installed": distributions,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
