"""What the tests imported, as reported by the test run itself.

`import_origins` queries the interpreter before the tests run, if the command line names it. Scripts, `make`, `conda
run`, a `conftest.py` or settings with an absolute path may use another one. So each test run finds a small plugin on
PYTHONPATH, through the entry point `pytest11`. If PYTHONPATH is not passed on, pytest runs without the plugin.
unittest has no plugins, and pytest's can be disabled. So a `sitecustomize` in the same folder detects test runs. It
imports the `sitecustomize` that it shadows.

Programs that the tests start in another folder may import other packages of the same name for good reason. They report
a package of the tree only if it is a copy installed from a folder (`pip install .`) or comes from the user's checkout.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from burnish.checks.import_origins import comes_from_tree, runs_tests, top_level_packages
from burnish.checks.placement import Placement
from burnish.core.policy import CheckSpec

_FOLDER, _PLUGIN = "imports", "burnish_import_report"
_MOST_BYTES = 1024 * 1024
# Lists the paths of the tree and of the checkout, then the packages of the tree.
_NAMES = "packages.txt"
# These run inside the tests, on Python 3.8 and later. Test runs started by tests do not report.
_PLUGIN_TEXT = """
import json, os, sys

_OUTER = os.environ.setdefault("BURNISH_IMPORT_REPORT", str(os.getpid()))
os.environ.setdefault("BURNISH_IMPORT_PREFIX", sys.prefix)


def pytest_unconfigure(config):
    if _OUTER == str(os.getpid()) or hasattr(config, "workerinput"):
        write_report()


def modules():
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) if "." not in name else None
        if isinstance(file, str):
            found[name] = os.path.realpath(file)
    return found


def write_report(found=None):
    found = modules() if found is None else found
    try:
        with open(os.path.join(os.path.dirname(__file__), "%d.json" % os.getpid()), "w") as report:
            json.dump(found, report)
    except OSError:
        pass


def write_child_report():
    try:
        with open(os.path.join(os.path.dirname(__file__), "packages.txt")) as file:
            tree, checkout, *names = file.read().split("\\n")
    except OSError:
        return
    found = modules()
    elsewhere = {
        name: found[name]
        for name in names
        if name in found
        and (is_below(found[name], checkout) and not is_below(found[name], tree) or is_copy(name, found[name]))
    }
    if elsewhere:
        write_report(elsewhere)


def is_below(path, folder):
    return bool(folder) and path.startswith(folder + os.sep)


def is_copy(name, path):
    # of the environment of the tests, and installed from a folder
    packages = os.path.dirname(os.path.dirname(path))
    own = is_below(path, os.path.realpath(sys.prefix)) and os.path.basename(packages) == "site-packages"
    if not own or sys.prefix != os.environ.get("BURNISH_IMPORT_PREFIX"):
        return False
    from importlib.metadata import distributions
    for one in distributions(path=[packages]):
        origin = json.loads(one.read_text("direct_url.json") or "{}")
        folder = origin.get("dir_info")
        if isinstance(folder, dict) and not folder.get("editable"):
            if any(file.parts[0] == name for file in one.files or ()):
                return True
    return False
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
    os.environ.setdefault("BURNISH_IMPORT_PREFIX", sys.prefix)
    if os.environ.setdefault("BURNISH_IMPORT_REPORT", str(os.getpid())) == str(os.getpid()):
        import atexit
        atexit.register(_report)


def _report():
    sys.path.append(_HERE)
    from burnish_import_report import write_report
    write_report()


def _report_child():
    sys.path.append(_HERE)
    try:
        from burnish_import_report import write_child_report
        write_child_report()
    except Exception:
        pass  # must not change how the program ends


def _run_hidden_sitecustomize():
    from importlib._bootstrap import module_from_spec
    from importlib.machinery import PathFinder
    spec = PathFinder.find_spec("sitecustomize", [place for place in sys.path if os.path.abspath(place) != _HERE])
    if spec and spec.loader:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Finder())
if os.environ.get("BURNISH_IMPORT_REPORT", str(os.getpid())) != str(os.getpid()):
    import atexit
    atexit.register(_report_child)
_run_hidden_sitecustomize()
"""


def with_import_report(
    spec: CheckSpec, report_dir: Path, env: Mapping[str, str], place: Placement | None = None
) -> Mapping[str, str]:
    """Environment variables that make test runs of this check report what they imported."""
    if spec.name == "origins" or not runs_tests(spec):
        return env
    folder = report_dir / _FOLDER
    metadata = folder / f"{_PLUGIN}-1.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{_PLUGIN}.py").write_text(_PLUGIN_TEXT)
    (folder / "sitecustomize.py").write_text(_SITE_TEXT)
    if place:
        names = sorted({*_packages(place.files), *_packages(place.files / spec.cwd)})
        checkout = str(place.checkout.resolve()) if place.checkout else ""
        (folder / _NAMES).write_text("\n".join((str(place.path.resolve()), checkout, *names)))
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_PLUGIN}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{_PLUGIN} = {_PLUGIN}\n")
    places = [*filter(None, [env.get("PYTHONPATH")]), str(folder)]
    return {**env, "PYTHONPATH": os.pathsep.join(places)}


def imported_elsewhere(report_dir: Path, tree: Path, cwd: str, seen_at: Path) -> str:
    """A message about a package of the tree that the tests imported from elsewhere; "" if there is none.


    `tree` is the path on disk; the tests see the tree at `seen_at`.
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


def import_hint(*, is_confined: bool) -> str:
    """The hint for tests that import the project from elsewhere."""
    hint = "Install the project in editable mode in workspace.setup, and use that environment in the test command"
    return hint if is_confined else f"{hint}; or install bubblewrap, so that the sandbox can use your own environment"


def _packages(folder: Path) -> tuple[str, ...]:
    found = (*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py"))
    return top_level_packages(path.relative_to(folder).as_posix() for path in found)


def _reports(folder: Path) -> Iterator[dict[str, str]]:
    """One report per process. Tests can write there, so the content is not trusted."""
    for file in sorted(folder.glob("*.json")):
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
                continue
            table = json.loads(file.read_text("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(table, dict):
            yield {name: place for name, place in table.items() if isinstance(place, str)}
