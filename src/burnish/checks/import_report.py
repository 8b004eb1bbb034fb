"""What the tests imported, as reported by the test run itself.

`import_origins` queries the interpreter before the tests run, if the command line names it. Scripts, `make`, `conda
run`, a `conftest.py` or settings with an absolute path may use another one. So each test run finds a small plugin on
PYTHONPATH, through the entry point `pytest11`. If PYTHONPATH is not passed on, pytest runs without the plugin.
unittest has no plugins, and pytest's can be disabled. So a `sitecustomize` in the same folder detects test runs. It
imports the `sitecustomize` that it shadows.

A `conftest.py` may also put something else in the place of a module of the tree, in `sys.modules` or on the import
path. Tests of such a module test the replacement: `replaced_files` lists its files. It also lists files that the tests
did not import because the tree has another module of the same name in front of them.

Programs that the tests start in another folder may import other packages of the same name for good reason. They report
a package of the tree only if it is a copy installed from a folder (`pip install .`) or comes from the user's checkout.
Modules without a package, and those of namespace packages, are reported only if they come from the checkout.
"""

from __future__ import annotations

import filecmp
import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.checks.checkout_programs import direct_source, read_start
from burnish.checks.import_origins import comes_from_tree, runs_tests, top_level_packages
from burnish.checks.placement import Placement
from burnish.checks.python_environments import (
    environments_named,
    environments_on_path,
    known_environments,
    script_texts,
    shared_tox_environments,
)
from burnish.core.policy import CheckSpec
from burnish.folder_walk import FolderEntries, ReadFolder, read_folder, walk_folders

_FOLDER, _PLUGIN = "imports", "burnish_import_report"
_MAX_BYTES = 1024 * 1024
# Where nox and tox install the project. They do so in each run, from the tree.
_SESSION_COPY = re.compile(r"/\.(?:nox|tox)/[^/]+/lib/python[^/]+/site-packages/[^/]+/__init__\.py$")
_VERSION_FILE = re.compile(r"_?version\.pyi?")
# Lists the paths of the tree and of the checkout, then the packages of the tree.
_NAMES = "packages.txt"
# Lists the path of the tree, then the names at the top level of its folders of sources.
_SOURCES = "sources.txt"
_NO_SOURCE = re.compile(r"tests?|testing|docs?|examples?|conftest|setup|noxfile|tasks|test_\w+|\w+_test")
_MAX_REPLACED, _MAX_PATH, _MAX_MEMBERS = 100, 1000, 100
_STAND_INS = frozenset("test tests testing stub stubs fake fakes mock mocks build dist".split())
# These run inside the tests, on Python 3.8 and later. Test runs started by tests do not report.
_PLUGIN_TEXT = (
    f"STAND_INS = {set(_STAND_INS)}\n"
    + """
import json, os, sys

_OUTER = os.environ.setdefault("BURNISH_IMPORT_REPORT", str(os.getpid()))
os.environ.setdefault("BURNISH_IMPORT_PREFIX", sys.prefix)


def pytest_unconfigure(config):
    if _OUTER == str(os.getpid()) or hasattr(config, "workerinput"):
        write_report()


def modules():
    tree, checkout = places()[:2]
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):
            continue
        path = os.path.realpath(file)
        # below the top level: modules of namespace packages, if they come from the checkout
        if "." not in name or (is_below(path, checkout) and not is_below(path, tree)):
            found[name] = path
    return found


def replaced():
    # modules of the tree in whose place is an object without a file, or a file of tests or of a build, and the files
    # of those that the tree may have twice
    try:
        with open(os.path.join(os.path.dirname(__file__), "sources.txt")) as file:
            tree, *names = file.read().split("\\n")
    except OSError:
        return {}
    found = {}
    for name, module in list(sys.modules.items()):
        top = name.split(".")[0]
        # a module may put an object of its own into its place
        if top not in names or module is None or type(module).__module__.split(".")[0] == top:
            continue
        spec = getattr(module, "__spec__", None)
        file = getattr(module, "__file__", None) or getattr(spec, "origin", None)
        if not isinstance(file, str):
            if not getattr(module, "__path__", None) and not getattr(spec, "loader", None):
                found[name] = ""
        elif is_below(os.path.realpath(file), tree):
            path = os.path.realpath(file)[len(tree) + 1:]
            if names.count(top) > 1 or not STAND_INS.isdisjoint(path.split(os.sep)[:-1]):
                found[name] = path
    return found


def write_report(found=None):
    write_table("json", modules() if found is None else found)
    other = replaced() if found is None else {}
    if other:
        write_table("replaced", other)


def write_table(ending, table):
    try:
        with open(os.path.join(os.path.dirname(__file__), "%d.%s" % (os.getpid(), ending)), "w") as report:
            json.dump(table, report)
    except OSError:
        pass


def places():
    try:
        with open(os.path.join(os.path.dirname(__file__), "packages.txt")) as file:
            return file.read().split("\\n")
    except OSError:
        return ["", ""]


def write_child_report():
    tree, checkout, *names = places()
    elsewhere = {
        name: path
        for name, path in modules().items()
        if (is_below(path, checkout) and not is_below(path, tree)) or (name in names and is_copy(name, path))
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
)
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
    spec: CheckSpec,
    report_dir: Path,
    env: Mapping[str, str],
    place: Placement | None = None,
    read: ReadFolder = read_folder,
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
        names = sorted(_packages_at(place.files, spec.cwd, read))
        checkout = str(place.checkout.resolve()) if place.checkout else ""
        (folder / _NAMES).write_text("\n".join((str(place.path.resolve()), checkout, *names)))
        roots = [*_source_roots(spec.cwd), *_member_roots(place.files)]
        # a name that several roots have is there several times
        sources = sorted(name for root in dict.fromkeys(roots) for name in {*_source_names(place.files / root, read)})
        (folder / _SOURCES).write_text("\n".join((str(place.path.resolve()), *sources)))
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {_PLUGIN}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[pytest11]\n{_PLUGIN} = {_PLUGIN}\n")
    places = [*filter(None, [env.get("PYTHONPATH")]), str(folder)]
    return {**env, "PYTHONPATH": os.pathsep.join(places)}


def imported_elsewhere(
    report_dir: Path,
    tree: Path,
    cwd: str,
    mounted_at: Path,
    new_files: Path | None = None,
    checkout: Path | None = None,
) -> str:
    """A message about a package of the tree that the tests imported from elsewhere; "" if there is none.

    `tree` is the path on disk; the tests see the tree at `mounted_at`. `new_files` has what they wrote into it. Any
    module that they imported from `checkout` counts, if the tree has a file at the same place.
    """
    packages = _packages_at(tree, cwd)
    roots = {str(root) for path in (tree, mounted_at) for root in (path, path.resolve())}
    for imports in _reports(report_dir / _FOLDER):
        for name in sorted(packages.intersection(imports)):
            if any(comes_from_tree(imports[name], root) for root in roots):
                continue
            inside = (root for root in roots if imports[name].startswith(f"{root}/"))
            copies = (Path(new_files or tree, imports[name][len(root) + 1 :]) for root in inside)
            if not any(_SESSION_COPY.search(str(copy)) and _is_copy_of(copy.parent, tree, cwd) for copy in copies):
                return f"{name} is imported from {imports[name]}, not from the tree under test"
        if checkout and (found := _from_checkout(imports, tree, roots, checkout.resolve())):
            return f"{found[0]} is imported from {found[1]}, not from the tree under test"
    return ""


def _from_checkout(
    imports: Mapping[str, str], tree: Path, roots: Iterable[str], checkout: Path
) -> tuple[str, str] | None:
    """The first module, with its file, that comes from the checkout although the tree has a file at its place."""
    for name, path in sorted(imports.items()):
        if not comes_from_tree(path, str(checkout)) or any(path.startswith(f"{root}/") for root in roots):
            continue
        below = path[len(str(checkout)) + 1 :]
        if len(below) < _MAX_PATH and (tree / below).is_file():
            return name, path
    return None


@dataclass(frozen=True, slots=True)
class ReplacedFiles:
    """Files in whose place the tests imported something else; a package is a folder, with `/` at its end."""

    # an object without a file, or a file of tests or of a build
    by_stand_ins: tuple[str, ...] = ()
    # a file of the same name in another folder of sources
    by_others: tuple[str, ...] = ()


def replaced_files(report_dir: Path, tree: Path, cwd: str) -> ReplacedFiles:
    by_stand_ins: dict[str, None] = {}
    by_others: dict[str, None] = {}
    reports = list(_reports(report_dir / _FOLDER, "*.replaced"))
    members = _member_roots(tree) if reports else []
    places = {root: {*_source_names(tree / root, read_folder)} for root in members}
    for replacements in reports:
        for name, place in replacements.items():
            files = _module_files(tree, _source_roots(cwd), name)
            top = name.partition(".")[0]
            others = _module_files(tree, [root for root, names in places.items() if top in names], name)
            if place in files or place in others:
                by_others |= dict.fromkeys(file for file in (*files, *others) if file != place)
            elif not place or _STAND_INS.intersection(place.split("/")[:-1]):
                by_stand_ins |= dict.fromkeys(files)
    used = {place for replacements in reports for place in replacements.values()}
    return ReplacedFiles(_places(by_stand_ins), _places(file for file in by_others if file not in used))


def _module_files(tree: Path, roots: Iterable[str], name: str) -> list[str]:
    paths = (posixpath.join(root, name.replace(".", "/")) for root in roots)
    files = (file for path in paths for file in (f"{path}.py", f"{path}/__init__.py"))
    return [file for file in files if len(file) < _MAX_PATH and (tree / file).is_file()]


def _places(files: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file.removesuffix("__init__.py") for file in files))[:_MAX_REPLACED]


def _source_roots(cwd: str) -> list[str]:
    return [posixpath.join(folder, below) for folder in dict.fromkeys(("", cwd)) for below in ("", "src", "lib")]


def _member_roots(tree: Path) -> list[str]:
    """Where projects in folders of the tree have their sources."""
    members: list[str] = []
    level = [""]
    for _ in range(2):
        level = [posixpath.join(folder, name) for folder in level for name in _folders(f"{tree}/{folder}")]
        files = ((folder, f"{tree}/{folder}/{name}") for folder in level for name in _PYTHON_PROJECT)
        members += [folder for folder, file in files if os.path.exists(file)]  # noqa: PTH110 (many)
    found = [*dict.fromkeys(members)][:_MAX_MEMBERS]
    return [posixpath.join(member, below) for member in found for below in ("", "src", "lib")]


def _folders(folder: str) -> list[str]:
    found = read_folder(folder)
    return sorted(name for name in found.folders if name[0] != "." and name != "node_modules") if found else []


def _source_names(folder: Path, read: ReadFolder) -> Iterator[str]:
    """Names of modules and packages in a folder of sources, without those of tests."""
    found = read(str(folder)) or FolderEntries()
    for entry in (*found.folders, *found.files):
        name = entry.removesuffix(".py")
        if not name.isidentifier() or _NO_SOURCE.fullmatch(name):
            continue
        if name != entry or _has_source(folder / entry):
            yield name


def _has_source(folder: Path) -> bool:
    """Whether the folder has a module, or a folder in it is a package."""
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    return True  # most folders of a large tree end here
                names.append(entry.name)
    except OSError:
        return False
    return any((folder / name / "__init__.py").exists() for name in names)


def _is_copy_of(package: Path, tree: Path, cwd: str) -> bool:
    """True if each file of an installed package is a file of the tree, as after `session.install(".")` of nox."""
    sources = {Path(tree, folder, below, package.name) for folder in ("", cwd) for below in ("", "src")}
    return package.is_dir() and any(source.is_dir() and _has_only_files_of(source, package) for source in sources)


def _has_only_files_of(source: Path, package: Path) -> bool:
    for folder, folders, files in walk_folders(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            copy = Path(folder, name)
            original = source / copy.relative_to(package)
            same = original.is_file() and copy.is_file() and filecmp.cmp(original, copy, shallow=False)
            if not same and not _VERSION_FILE.fullmatch(name):
                return False
    return True


def has_report(report_dir: Path) -> bool:
    return any(True for _ in _reports(report_dir / _FOLDER))


def import_hint(*, is_confined: bool) -> str:
    """The hint for tests that import the project from elsewhere."""
    hint = "Install the project in editable mode in workspace.setup, and use that environment in the test command"
    return hint if is_confined else f"{hint}; or install bubblewrap, so that the sandbox can use your own environment"


def _packages_at(tree: Path, cwd: str, read: ReadFolder = read_folder) -> set[str]:
    """The packages at the root of the tree and in the folder of the check."""
    return {name for folder in dict.fromkeys((tree, tree / cwd)) for name in _packages(folder, read)}


def _packages(folder: Path, read: ReadFolder) -> tuple[str, ...]:
    inside = ((below, read(str(folder / below))) for below in ("", "src"))
    found = (posixpath.join(below, name, "__init__.py") for below, at in inside if at for name in at.folders)
    return top_level_packages(path for path in found if os.path.exists(f"{folder}/{path}"))  # noqa: PTH110 (many)


def _reports(folder: Path, pattern: str = "*.json") -> Iterator[dict[str, str]]:
    """One report per process. Tests can write there, so the content is not trusted."""
    for file in sorted(folder.glob(pattern)):
        try:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
                continue
            table = json.loads(file.read_text("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(table, dict):
            yield {name: place for name, place in table.items() if isinstance(place, str)}


# -- unreported imports ---------------------------------------------------------------------------
# Detects tests that did not report their imports, in an environment that leads to the user's checkout.
#
# `import_report` covers every interpreter that reads PYTHONPATH. `python -I`, `python -E` and `env -i` disable that,
# and scripts may do so out of sight. If an environment that the check can start has the project installed from the
# checkout, such tests would test the checkout instead of the change.

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
    if tox_problem := next(_that_import(shared_tox_environments(spec.words, texts.values(), env), place), ""):
        return f"{tox_problem}, and tox uses it again. Let tox keep its environments in the tree (`tox --workdir .tox`)"
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
