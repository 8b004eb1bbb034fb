"""What the tests really imported: the test run itself reports it, however the test command starts it.

`import_origins` asks the interpreter before the tests run, as far as the command line names it. Scripts, `make`, `conda
run`, a `conftest.py` or settings with an absolute path may lead elsewhere. So each run of tests finds a small plugin on
PYTHONPATH, by the entry point `pytest11`: where PYTHONPATH is not passed on, pytest runs without it and does not fail.
unittest has no plugins, and those of pytest can be switched off: a `sitecustomize` there notices that tests run. It
imports the `sitecustomize` that it hides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from burnish.checks.import_origins import comes_from_tree, runs_tests, top_level_packages
from burnish.core.policy import CheckSpec

_FOLDER, _PLUGIN = "imports", "burnish_import_report"
_MOST_BYTES = 1024 * 1024
# These run inside the tests, on every Python from 3.8 on. Tests that tests start are about something else: no report.
_PLUGIN_TEXT = """
import json, os, sys

_OUTER = os.environ.setdefault("BURNISH_IMPORT_REPORT", str(os.getpid()))


def pytest_unconfigure(config):
    if _OUTER == str(os.getpid()) or hasattr(config, "workerinput"):
        write_report()


def write_report():
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) if "." not in name else None
        if isinstance(file, str):
            found[name] = os.path.realpath(file)
    try:
        with open(os.path.join(os.path.dirname(__file__), "%d.json" % os.getpid()), "w") as report:
            json.dump(found, report)
    except OSError:
        pass
"""
_SITE_TEXT = """
import os, sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Finder:
    # waits for the module of the results, which every runner of unittest uses
    def find_spec(self, name, path=None, target=None):
        if name == "_pytest.main":  # its plugins may be switched off
            _report_at_exit()
        if name != "unittest.result":
            return None
        sys.meta_path.remove(self)
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path)
        if spec and spec.loader:
            run = spec.loader.exec_module
            def exec_module(module):
                run(module)
                _watch(module.TestResult)
            spec.loader.exec_module = exec_module
        return spec


def _watch(results):
    start = results.startTest

    def startTest(self, test):
        results.startTest = start
        _report_at_exit()
        return start(self, test)

    results.startTest = startTest


def _report_at_exit():
    if os.environ.setdefault("BURNISH_IMPORT_REPORT", str(os.getpid())) == str(os.getpid()):
        import atexit
        atexit.register(_report)


def _report():
    sys.path.append(_HERE)
    from burnish_import_report import write_report
    write_report()


def _run_hidden_sitecustomize():
    from importlib._bootstrap import module_from_spec
    from importlib.machinery import PathFinder
    spec = PathFinder.find_spec("sitecustomize", [place for place in sys.path if os.path.abspath(place) != _HERE])
    if spec and spec.loader:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Finder())
_run_hidden_sitecustomize()
"""


def with_import_report(spec: CheckSpec, report_dir: Path, env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables with which a pytest below this check reports what it imported."""
    if spec.name == "origins" or not runs_tests(spec):
        return env
    folder = report_dir / _FOLDER
    metadata = folder / f"{_PLUGIN}-1.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{_PLUGIN}.py").write_text(_PLUGIN_TEXT)
    (folder / "sitecustomize.py").write_text(_SITE_TEXT)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_PLUGIN}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{_PLUGIN} = {_PLUGIN}\n")
    places = [*filter(None, [env.get("PYTHONPATH")]), str(folder)]
    return {**env, "PYTHONPATH": os.pathsep.join(places)}


def imported_elsewhere(report_dir: Path, tree: Path, cwd: str, seen_at: Path) -> str:
    """A package of the tree that the tests imported from another place; "" if there is none.

    `tree` are the files on the disk, which the tests may have seen at the path `seen_at`.
    """
    packages = {*_packages(tree), *_packages(tree / cwd)}
    roots = {str(root) for path in (tree, seen_at) for root in (path, path.resolve())}
    for imports in _reports(report_dir / _FOLDER):
        for name in sorted(packages.intersection(imports)):
            if not any(comes_from_tree(imports[name], root) for root in roots):
                return f"{name} is imported from {imports[name]}, not from the tree under test"
    return ""


def has_report(report_dir: Path) -> bool:
    return any(True for _ in _reports(report_dir / _FOLDER))


def import_hint(*, confined: bool) -> str:
    """What to do about tests that import the project from another place."""
    hint = "Let workspace.setup install the project in editable mode, and have the test command use that environment"
    return hint if confined else f"{hint}; or install bubblewrap: in a sandbox your own environment is used"


def _packages(folder: Path) -> tuple[str, ...]:
    found = (*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py"))
    return top_level_packages(path.relative_to(folder).as_posix() for path in found)


def _reports(folder: Path) -> Iterator[dict[str, str]]:
    """One for each process. Tests can write there, so anything may stand in them."""
    for file in sorted(folder.glob("*.json")):
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
                continue
            table = json.loads(file.read_text("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(table, dict):
            yield {name: place for name, place in table.items() if isinstance(place, str)}
