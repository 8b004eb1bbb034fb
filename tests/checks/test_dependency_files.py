"""Which files decide what is installed, and when an environment of the user's holds just that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.checks.dependency_files import dependency_paths, fingerprint, included_paths, named_paths
from burnish.checks.generated_files import (
    build_helpers,
    has_build_output,
    has_copied_packages,
    has_generated_packages,
    leaves_files,
    native_sources,
)
from burnish.checks.import_origins import read_origins, top_level_packages
from burnish.checks.installed import difference, environment_folders
from burnish.core.policy import CheckSpec

PYPROJECT = b'[project]\nname = "x"\ndependencies = ["click"]\n'


def test_examples_and_fixtures_decide_nothing() -> None:
    paths = ["pyproject.toml", "web/package.json", "examples/a/package.json", "tests/fixtures/setup.py", "src/a.py"]
    assert dependency_paths(paths) == ("pyproject.toml", "web/package.json")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (PYPROJECT + b"[tool.ruff]\nline-length = 99\n", True),
        (PYPROJECT.replace(b'name = "x"', b'name = "x"\ndescription = "y"'), True),
        (PYPROJECT.replace(b'name = "x"', b'name = "x"\nversion = "2"'), False),
        (PYPROJECT + b'[tool.scikit-build.cmake.define]\nFAST = "ON"\n', False),
        (PYPROJECT.replace(b"click", b"rich"), False),
        (PYPROJECT + b'[dependency-groups]\ndev = ["pytest"]\n', False),
        (b"not = [toml", False),
    ],
)
def test_only_what_pyproject_says_of_dependencies_counts(other: bytes, same: bool) -> None:
    assert (fingerprint({"pyproject.toml": PYPROJECT}) == fingerprint({"pyproject.toml": other})) is same


def test_the_install_scripts_of_a_package_count_and_the_others_do_not() -> None:
    def of(scripts: dict[str, str]) -> str:
        return fingerprint({"package.json": json.dumps({"name": "x", "scripts": scripts}).encode()})

    assert of({"test": "jest"}) == of({"test": "vitest"})
    assert of({"postinstall": "node a.js"}) != of({"postinstall": "node b.js"})


def environment(root: Path, *packages: str) -> Path:
    for package in packages:
        (root / f".venv/lib/python3.11/site-packages/{package}.dist-info").mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").touch()
    return root


LOCK = b"""
[[package]]
name = "click"
version = "8.1.7"
[[package]]
name = "x"
version = "1"
source = {editable = "."}
"""


@pytest.mark.parametrize(
    ("packages", "reason"),
    [
        (["click-8.1.7", "x-0.0.0", "pip-24.0"], ""),
        (["click-8.0.0"], "click 8.0.0 is installed, the lock file has 8.1.7"),
        (["pip-24.0"], "click is not installed"),
    ],
)
def test_a_virtual_environment_is_compared_with_the_lock_file(tmp_path: Path, packages: list[str], reason: str) -> None:
    environment(tmp_path, *packages)
    (folder,) = environment_folders(tmp_path, ["pyproject.toml", "uv.lock"])
    assert difference(tmp_path, folder, {"pyproject.toml": PYPROJECT, "uv.lock": LOCK}) == reason


def test_without_a_lock_file_nothing_says_that_an_environment_is_right(tmp_path: Path) -> None:
    environment(tmp_path, "click-8.1.7")
    (folder,) = environment_folders(tmp_path, [])
    assert "no lock file" in difference(tmp_path, folder, {"pyproject.toml": PYPROJECT})


def test_a_committed_environment_is_part_of_the_tree(tmp_path: Path) -> None:
    environment(tmp_path, "click-8.1.7")
    assert environment_folders(tmp_path, [".venv/bin/python", "setup.py"]) == ()


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        ({"node_modules/a": {"version": "1.0.0", "integrity": "x"}}, ""),
        ({"node_modules/a": {"version": "1.0.1", "integrity": "x"}}, "node_modules/a 1.0.1 is installed"),
        ({"node_modules/b": {"version": "1.0.0"}}, "node_modules/a is not installed"),
        (None, "npm's record of installed packages is missing"),
    ],
)
def test_node_modules_are_compared_with_what_npm_recorded(tmp_path: Path, installed: object, reason: str) -> None:
    lock = {"packages": {"": {}, "node_modules/a": {"version": "1.0.0", "integrity": "x"}}}
    lock["packages"]["node_modules/mac"] = {"version": "1", "optional": True}
    (tmp_path / "node_modules").mkdir()
    if installed is not None:
        (tmp_path / "node_modules/.package-lock.json").write_text(json.dumps({"packages": installed}))
    (folder,) = environment_folders(tmp_path, ["package.json"])
    found = difference(tmp_path, folder, {"package.json": b"{}", "package-lock.json": json.dumps(lock).encode()})
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_packages_are_found_at_the_root_and_below_src() -> None:
    paths = ["src/calc/__init__.py", "tool/__init__.py", "tests/__init__.py", "src/calc/sub/__init__.py", "x.py"]
    assert top_level_packages(paths) == ("calc", "tool")


@pytest.mark.parametrize(
    ("alone", "first", "words", "right"),
    [
        ("/repo/src/calc/__init__.py", "/repo/src/calc/__init__.py", "pytest -q", True),
        (None, "/repo/calc/__init__.py", "pytest -q", True),
        ("/home/u/repo/src/calc/__init__.py", "/home/u/repo/src/calc/__init__.py", "pytest", False),
        ("/repo/.venv/lib/python3/site-packages/calc/__init__.py", "/repo/calc/__init__.py", "pytest", False),
        ("/repo/.venv/lib/python3/site-packages/calc/__init__.py", "/repo/calc/__init__.py", "python -m pytest", True),
        ("/repository/calc/__init__.py", "/repository/calc/__init__.py", "python -m pytest", False),
    ],
)
def test_a_package_must_come_from_the_tree(alone: str | None, first: str, words: str, right: bool) -> None:
    answer = json.dumps({"here": "/repo", "alone": {"calc": alone}, "first": {"calc": first}})
    origins = read_origins(f"noise\n{answer}\n", CheckSpec("test", words), ["calc/__init__.py"])
    assert bool(origins.problem) is not right


@pytest.mark.parametrize(
    ("name", "text", "compiles"),
    [
        ("setup.py", "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('a', ['a.c'])])", True),
        ("pyproject.toml", '[build-system]\nbuild-backend = "maturin"', True),
        ("pyproject.toml", '[tool.setuptools]\next-modules = [{name = "a", sources = ["a.c"]}]', True),
        ("pyproject.toml", '[[tool.setuptools-rust.ext-modules]]\ntarget = "a._rust"', True),
        ("pyproject.toml", '[tool.poetry.build]\nscript = "build.py"', True),
        ("pyproject.toml", '[build-system]\nbuild-backend = "hatchling.build"', False),
        ("setup.py", "from setuptools import setup\nsetup()", False),
    ],
)
def test_native_sources_count_where_installing_compiles_them(name: str, text: str, compiles: bool) -> None:
    found = native_sources(["a.c", "src/lib.rs", "x.pyx", "a.py", "README.md"], {name: text.encode()})
    assert found == (("a.c", "src/lib.rs", "x.pyx") if compiles else ())


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("setup.py", 'run([executable, "tools/gen.py"])', ("tools/gen.py",)),
        ("setup.py", "from tools import gen\n", ("tools/gen.py",)),
        ("setup.py", "import tools.gen as g  # writes ops.h\n", ("tools/gen.py",)),
        ("CMakeLists.txt", "COMMAND python ${CMAKE_SOURCE_DIR}/tools/gen.py)", ("tools/gen.py",)),
        ("meson.build", "command: [py, files('tools/gen.py'), '@OUTPUT@']", ("tools/gen.py",)),
        ("tools/gen.py", 'open("ops.json")', ("data/ops.json",)),
        ("pyproject.toml", '[tool.poetry.build]\nscript = "tools/gen.py"', ("tools/gen.py",)),
        ("pyproject.toml", '[tool.ruff]\nexclude = ["tools/gen.py"]', ()),
        ("setup.py", 'long_description = open("README.md").read()', ()),
        ("src/a/tables.py", 'open("ops.json")', ()),
    ],
)
def test_files_that_the_build_names_are_inputs(file: str, text: str, found: tuple[str, ...]) -> None:
    paths = ["tools/gen.py", "data/ops.json", "src/a/__init__.py", "src/a/main.py", "README.md", "tests/test_a.py"]
    assert build_helpers({file: text.encode()}, paths) == found


@pytest.mark.parametrize(
    ("script", "leaves"),
    [
        ("husky", False),
        ("husky install", False),
        ("npx only-allow pnpm", False),
        ("npm run build", True),
        ("husky && tsc", True),
    ],
)
def test_install_scripts_leave_files_unless_they_only_install_git_hooks(script: str, leaves: bool) -> None:
    package = json.dumps({"scripts": {"prepare": script, "build": "tsc"}}).encode()
    assert leaves_files({"package.json": package}) == leaves


def test_a_generated_version_file_is_left_beside_the_sources() -> None:
    vcs = b'[tool.hatch.build.hooks.vcs]\nversion-file = "src/a/_version.py"\n'
    assert leaves_files({"pyproject.toml": vcs}) and not leaves_files({"pyproject.toml": b"[project]\nname = 'a'"})


def test_requirements_count_by_any_usual_name_with_what_they_include() -> None:
    paths = ["dev-requirements.txt", "test_requirements.in", "deps/base.txt", "deps/more.txt", "notes.txt"]
    assert dependency_paths(paths) == ("dev-requirements.txt", "test_requirements.in")
    contents = {"deps/base.txt": b"-r more.txt  # and more\nattrs\n"}
    assert included_paths(contents, paths) == ("deps/more.txt",)


BUILD_INPUTS = {
    "the version file of hatch": (
        {"pyproject.toml": '[tool.hatch.version]\npath = "src/calc/__about__.py"\n'},
        ["src/calc/__about__.py"],
    ),
    "the version file of pdm": (
        {"pyproject.toml": '[tool.pdm.version]\nsource = "file"\npath = "calc/__init__.py"\n'},
        ["calc/__init__.py"],
    ),
    "a build script of hatch": ({"pyproject.toml": "[tool.hatch.build.hooks.custom]\n"}, ["hatch_build.py"]),
    "dependencies in a file": (
        {
            "pyproject.toml": '[tool.setuptools.dynamic]\ndependencies = {file = ["deps.txt"]}\n'
            'readme = {file = "README.md"}\n'
        },
        ["deps.txt"],
    ),
    "a version in a module": (
        {"pyproject.toml": '[tool.setuptools.dynamic]\nversion = {attr = "calc.__version__"}\n'},
        ["calc/__init__.py"],
    ),
    "the module of flit": (
        {
            "pyproject.toml": '[build-system]\nbuild-backend = "flit_core.buildapi"\n'
            '[project]\nname = "calc"\ndynamic = ["version"]\n'
        },
        ["calc/__init__.py"],
    ),
    "setup.cfg": (
        {
            "setup.cfg": "[metadata]\nversion = attr: calc.__version__\n[options]\n"
            "install_requires = file: deps.txt\nscripts =\n    bin/calc\n"
        },
        ["bin/calc", "calc/__init__.py", "deps.txt"],
    ),
    "setup.py": (
        {
            "setup.py": "from setuptools import setup\n"
            'setup(name="calc", install_requires=open("deps.txt").read(), scripts=["bin/calc"])\n'
        },
        ["bin/calc", "deps.txt"],
    ),
    "a path in parts": (
        {"setup.py": 'v = open(os.path.join(here, "src", "calc", "__about__.py")).read()\n'},
        ["src/calc/__about__.py"],
    ),
    "a path of pathlib": (
        {"setup.py": 'v = (HERE / "src" / "calc" / "__about__.py").read_text()\n'},
        ["src/calc/__about__.py"],
    ),
    "a class map of composer": ({"composer.json": '{"autoload": {"classmap": ["lib/"]}}'}, ["lib/Calc.php"]),
}


@pytest.mark.parametrize(("contents", "expected"), BUILD_INPUTS.values(), ids=BUILD_INPUTS.keys())
def test_files_that_an_installation_reads_decide_what_is_installed(
    contents: dict[str, str], expected: list[str]
) -> None:
    paths = [
        *("calc/__init__.py", "calc/core.py", "src/calc/__about__.py", "deps.txt", "bin/calc", "hatch_build.py"),
        *("README.md", "lib/Calc.php", "lib/notes.txt", *contents),
    ]
    assert list(included_paths({name: text.encode() for name, text in contents.items()}, paths)) == expected


def test_only_the_version_and_the_classes_of_such_files_count() -> None:
    before, after = b'__version__ = "1"\n', b'__version__ = "1"\n\n\ndef add(): ...\n'
    assert fingerprint({"calc/__init__.py": before}) == fingerprint({"calc/__init__.py": after})
    assert fingerprint({"calc/__init__.py": before}) != fingerprint({"calc/__init__.py": b'__version__ = "2"\n'})
    one, same, other = (b"<?php\nclass %s {\n  %s\n}\n" % pair for pair in ((b"A", b""), (b"A", b"x();"), (b"B", b"")))
    assert fingerprint({"lib/a.php": one}) == fingerprint({"lib/a.php": same}) != fingerprint({"lib/a.php": other})


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pyproject.toml", b'[tool.setuptools.dynamic]\nversion = {attr = "calc.__version__"}\n'),
        ("setup.cfg", b"[metadata]\nversion = attr: calc.__version__\n"),
        (
            "pyproject.toml",
            b'[build-system]\nbuild-backend = "flit_core.buildapi"\n[project]\nname = "calc"\ndynamic = ["version"]\n',
        ),
    ],
)
def test_of_a_project_in_one_module_only_the_version_counts(name: str, settings: bytes) -> None:
    base = {name: settings, "calc.py": b'__version__ = "1"\n'}
    assert included_paths({name: settings}, base) == ("calc.py",)
    sound = {**base, "calc.py": b'__version__ = "1"\n\n\ndef add(): ...\n'}
    released = {**base, "calc.py": b'__version__ = "2"\n'}
    assert fingerprint(base) == fingerprint(sound) != fingerprint(released)


def test_all_of_a_module_counts_that_computes_its_version() -> None:
    settings = b'[tool.setuptools.dynamic]\nversion = {attr = "calc.__version__"}\n'
    before, after = b"parts = 1, 0\n__version__ = join(parts)\n", b"parts = 2, 0\n__version__ = join(parts)\n"
    contents = [{"pyproject.toml": settings, "calc.py": text} for text in (before, after)]
    assert fingerprint(contents[0]) != fingerprint(contents[1])


def test_files_that_a_set_up_command_names_are_found() -> None:
    paths = ["Makefile", "web/tools/boot.sh", "deps.txt", "other.txt"]
    assert named_paths("make deps && pip install -r deps.txt", paths) == ("Makefile", "deps.txt")
    assert named_paths("cd web && sh ./tools/boot.sh", paths) == ("web/tools/boot.sh",)


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("dist/a.js", True),
        ("src/calc/parser.py", True),
        ("bin/calc", True),
        ("src/calc/_version.py", False),
        ("package-lock.json", False),
        (".env", False),
        ("calc.egg-info/PKG-INFO", False),
        # pdm-backend, editable
        (".pdm-build/calc-1.0.dist-info/METADATA", False),
        (".pdm-build/_editable_impl_calc.pth", False),
        (".pdm-build/calc/table.py", True),
        ("vendor/bundle/a.rb", False),
        ("my-environment/lib/a.py", False),
    ],
)
def test_files_that_set_up_leaves_count_unless_they_are_installed_packages(
    tmp_path: Path, file: str, counts: bool
) -> None:
    (tmp_path / "my-environment").mkdir()
    (tmp_path / "my-environment" / "pyvenv.cfg").touch()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    assert has_build_output(tmp_path, {}) is counts


@pytest.mark.parametrize(("linked", "copied"), [(True, False), (False, True)])
def test_a_package_of_the_repository_is_a_copy_unless_it_is_linked(tmp_path: Path, linked: bool, copied: bool) -> None:
    packages = {"app/package.json": b'{"name": "app", "dependencies": {"lib": "file:../lib"}}'}
    packages["lib/package.json"] = b'{"name": "lib"}'
    for folder in ("app/node_modules", "lib"):
        (tmp_path / folder).mkdir(parents=True)
    if linked:
        (tmp_path / "app/node_modules/lib").symlink_to("../../lib")
    else:
        (tmp_path / "app/node_modules/lib").mkdir()
    assert has_copied_packages(tmp_path, packages) is copied


@pytest.mark.parametrize("name", ["env", ".conda"])
def test_a_prefix_of_conda_is_an_environment(tmp_path: Path, name: str) -> None:
    (tmp_path / name / "conda-meta").mkdir(parents=True)
    assert [folder.path for folder in environment_folders(tmp_path, ["environment.yml"])] == [name]


@pytest.mark.parametrize(
    ("file", "generated"),
    [
        ("node_modules/lib/index.js", False),
        ("node_modules/@scope/lib/index.js", False),
        ("node_modules/.bin/lib", False),
        ("node_modules/.cache/babel.json", False),
        ("node_modules/.package-lock.json", False),
        ("node_modules/.pnpm/lib@1.0.0/node_modules/lib/index.js", False),
        ("node_modules/.prisma/client/index.js", True),
        ("node_modules/.pnpm/lib@1.0.0/node_modules/.prisma/index.js", True),
        ("node_modules/client/index.js", True),
        ("node_modules/client.js", True),
        ("node_modules/not-recorded/package.json", True),
        ("other/node_modules/.prisma/client/index.js", False),
    ],
)
def test_files_in_node_modules_are_generated_if_no_package_manager_put_them_there(
    tmp_path: Path, file: str, generated: bool
) -> None:
    for name in ("lib", "@scope/lib"):
        (tmp_path / "node_modules" / name).mkdir(parents=True)
        (tmp_path / "node_modules" / name / "package.json").write_text("{}")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    record = {"packages": {"node_modules/lib": {}, "node_modules/@scope/lib": {}}}
    (tmp_path / "node_modules/.package-lock.json").write_text(json.dumps(record))
    assert has_generated_packages(tmp_path, {"package.json": b"{}"}) is generated


def test_patches_of_packages_decide_what_is_installed() -> None:
    paths = ["patches/lib+1.0.0.patch", ".yarn/patches/lib.patch", "fixes/a.patch", "patches/README.md"]
    assert dependency_paths(paths) == (".yarn/patches/lib.patch", "patches/lib+1.0.0.patch")
