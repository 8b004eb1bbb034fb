"""Files that a check would load instead of what it means to load are found; other new files are left alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from burnish.agents.registry import PROJECT_FILES
from burnish.checks.guard.guard import guard
from burnish.checks.guard.shadowing import guarded_trees
from burnish.core.finding import Severity
from testing.edits import change_between

TEST = "def test_one():\n    assert True\n"
PYTEST_IN_PYPROJECT = "[tool.pytest.ini_options]\naddopts = '-q'\n"


def shadowing(
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    links: Mapping[str, str] | None = None,
    installed: Collection[str] = (),
    commands: Collection[str] = (),
) -> dict[str | None, str]:
    """File → title of each finding. `links`: path → target, new in the change."""
    targets = links or {}
    after = {**new, **targets}
    found = guard(
        change_between(old, after),
        comparisons=(),
        old_text=old.get,
        new_text=after.get,
        levels={"judge": "error"},
        agent_files=PROJECT_FILES,
        trees=guarded_trees(
            dict.fromkeys(old, ""), {**dict.fromkeys(new, ""), **targets}, installed_names=installed, commands=commands
        ),
    )
    assert {one.severity for one in found} <= {Severity.ERROR}
    return {one.file: one.title for one in found if one.rule == "guard/shadowing"}


NEW_FILES = [
    "lib/Test/More.pm",
    "t/lib/Test2/API.pm",
    "lib/TAP/Harness.pm",
    "pytest.py",
    "pytest/__init__.py",
    "_pytest/__init__.py",
    "os.py",
    "src/json.py",
    "tests/random.py",
    "os.cpython-311-x86_64-linux-gnu.so",
    "pytest.pyc",
    "sitecustomize.py",
    "usercustomize.py",
    "tests/sitecustomize.py",
    "coverage/__init__.py",
    "pygments/__init__.py",
    "packaging/__init__.py",
    "installed_one/__init__.py",
    "installed_one.abi3.so",
    "helper.egg-info/entry_points.txt",
    "tests/helper.egg-info/entry_points.txt",
    "helper-1.dist-info/entry_points.txt",
    "node_modules/.bin/jest",
    "packages/a/node_modules/jest/index.js",
    ".venv/bin/pytest",
    "env/pyvenv.cfg",
    "lib/python3.12/site-packages/x.py",
    "__pypackages__/3.12/lib/x.py",
    "__pycache__/app.cpython-312.pyc",
]


@pytest.mark.attacks("be loaded instead of what a check means", 1)
@pytest.mark.parametrize("path", NEW_FILES)
def test_a_new_file_that_shadows_what_a_test_run_loads_is_an_error(path: str) -> None:
    assert list(shadowing({}, {path: "x = 1\n"}, installed={"installed_one"})) == [path]


def test_shadowing_is_not_reported_where_the_level_is_off() -> None:
    found = guard(
        change_between({}, {"pytest.py": "x = 1\n"}),
        comparisons=(),
        old_text={}.get,
        new_text={"pytest.py": "x = 1\n"}.get,
        levels={"judge": "off"},
        agent_files=PROJECT_FILES,
        trees=guarded_trees({}, {"pytest.py": ""}),
    )
    assert found == ()


@pytest.mark.attacks("be loaded instead of what a check means", 1)
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("pytest", "fake"),
        ("pytest.py", "fake/__init__.py"),
        ("src/json", "../fake"),
        ("pytest", "other"),
        ("pytest", "/usr/share/fake"),
        ("pytest", "../fake"),
        (".venv", "fake"),
        ("node_modules", "fake"),
    ],
)
def test_a_link_shadows_as_what_it_leads_to_would(link: str, target: str) -> None:
    tree = {"fake/__init__.py": "x = 1\n", "fake/bin/pytest": "x\n"}
    links = {"other": "fake"} if target == "other" else {}
    found = shadowing(tree, tree, links={link: target, **links})
    assert list(found) == [link]


def test_a_link_that_leads_to_itself_or_nowhere_is_left_alone() -> None:
    assert shadowing({}, {"a.py": ""}, links={"x": ".", "y": "y", "z": "missing", "docs/w": "../z"}) == {}


@pytest.mark.attacks("be loaded instead of what a check means", 1)
@pytest.mark.parametrize(
    "path", ["tests/unit/json.py", "checks/deep/pytest/__init__.py", "a/pkg_tests/json.py", "json.py"]
)
def test_a_module_beside_tests_shadows_where_pytest_puts_their_folder_on_the_import_path(path: str) -> None:
    old = {
        "tests/unit/test_a.py": TEST,
        "checks/deep/test_b.py": TEST,
        # pytest inserts `a/pkg_tests`, the first folder that is not a package
        "a/pkg_tests/inner/__init__.py": "",
        "a/pkg_tests/inner/b_test.py": TEST,
    }
    assert list(shadowing(old, {**old, path: "x = 1\n"})) == [path]


def test_a_folder_of_tests_that_stops_to_be_a_package_makes_its_modules_shadow() -> None:
    old = {"tests/__init__.py": "", "tests/json.py": "x = 1\n", "tests/test_a.py": TEST}
    new = {path: text for path, text in old.items() if path != "tests/__init__.py"}
    assert shadowing(old, new) == {"tests/json.py": "tests/json.py shadows the module `json` of the standard library"}


def test_a_folder_that_a_check_names_is_on_the_import_path() -> None:
    old = {"web/app.py": "", "tools/run.py": ""}
    for path in ("web/json.py", "tools/json.py"):
        assert shadowing(old, {**old, path: ""}) == {}
        assert list(shadowing(old, {**old, path: ""}, commands=["cd web && python ../tools/run.py"])) == [path]


@pytest.mark.parametrize(
    "settings",
    [
        {"pytest.ini": "[pytest]\npythonpath = a lib\n"},
        {"pytest.toml": "[pytest]\npythonpath = ['./lib']\n"},
        {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [\n  "a",\n  "lib",\n]\n'},
    ],
)
def test_a_folder_of_the_setting_pythonpath_is_on_the_import_path(settings: dict[str, str]) -> None:
    old = {"lib/app.py": "", **settings}
    assert list(shadowing(old, {**old, "lib/json.py": ""})) == ["lib/json.py"]
    assert shadowing({"lib/app.py": ""}, {"lib/app.py": "", "lib/json.py": ""}) == {}


@pytest.mark.attacks("be loaded instead of what a check means", 1)
@pytest.mark.parametrize(
    ("kept", "path"),
    [
        ("app.py", "app/__init__.py"),
        ("app.py", "app.so"),
        ("app.py", "app.abi3.so"),
        ("app.py", "app.cpython-312-x86_64-linux-gnu.so"),
        ("pkg/inner/app.py", "pkg/inner/app/__init__.py"),
        ("app.so", "app/__init__.py"),
        ("pkg/__init__.py", "pkg/__init__.abi3.so"),
        ("src/app/__init__.py", "app/__init__.py"),
        ("src/app/__init__.py", "tests/app.py"),
        ("app.py", "tests/app/__init__.py"),
        ("lib/app.ts", "lib/app.js"),
        ("lib/app.tsx", "lib/app.js"),
        ("lib/app.ts", "lib/app.mjs"),
        ("lib/app.js", "lib/app"),
        ("lib/app.js", "lib/app.ts"),
        ("lib/app/index.js", "lib/app.js"),
        ("lib/app/index.ts", "lib/app.js"),
    ],
)
def test_a_new_file_that_wins_over_a_module_which_stays_is_an_error(kept: str, path: str) -> None:
    assert shadowing({kept: "a\n"}, {kept: "a\n", path: "b\n"}) == {path: f"{path} shadows {kept}"}
    assert shadowing({kept: "a\n"}, {path: "b\n"}) == {}, "moved, not shadowed"
    both = {kept: "a\n", path: "b\n"}
    assert shadowing(both, {**both, path: "c\n"}) == {}, "it was there before"


def test_a_linked_package_wins_over_a_module_which_stays() -> None:
    old = {"app.py": "a\n", "fake/__init__.py": ""}
    assert list(shadowing(old, old, links={"app": "fake"})) == ["app"]


@pytest.mark.attacks("be loaded instead of what a check means", 1)
@pytest.mark.parametrize(
    ("kept", "path"),
    [
        ("Makefile", "GNUmakefile"),
        ("Makefile", "makefile"),
        ("makefile", "GNUmakefile"),
        ("web/Makefile", "web/GNUmakefile"),
        ("pytest.ini", "pytest.toml"),
        ("pyproject.toml", "pytest.ini"),
        ("pyproject.toml", ".pytest.toml"),
        ("vite.config.ts", "vitest.config.ts"),
        (".cargo/config.toml", ".cargo/config"),
        (".mocharc.json", ".mocharc.cjs"),
        ("build.gradle.kts", "build.gradle"),
    ],
)
def test_a_settings_file_that_is_read_instead_of_one_which_stays_is_an_error(kept: str, path: str) -> None:
    old = {kept: PYTEST_IN_PYPROJECT if kept == "pyproject.toml" else "a\n"}
    assert shadowing(old, {**old, path: "b\n"}) == {path: f"{path} shadows {kept}"}
    assert shadowing(old, {path: "b\n"}) == {}, "moved, not shadowed"


def test_a_section_can_be_read_instead_of_one_that_stays_in_another_file() -> None:
    old = {"tox.ini": "[pytest]\naddopts = -q\n", "pyproject.toml": "[project]\nname = 'x'\n"}
    new = {**old, "pyproject.toml": old["pyproject.toml"] + PYTEST_IN_PYPROJECT}
    assert list(shadowing(old, new)) == ["pyproject.toml"]
    moved = {"tox.ini": "[tox]\n", "pyproject.toml": new["pyproject.toml"]}
    assert shadowing(old, moved) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"types.py": "a\n"}, {"types.py": "b\n"}),
        ({"queue.py": "a\n"}, {"queue/__init__.py": "a\n"}),
        ({}, {"app/os.py": "a\n"}),
        ({"tests/__init__.py": ""}, {"tests/__init__.py": "", "tests/random.py": "a\n"}),
        ({"tests/utils.py": ""}, {"tests/utils.py": "", "tests/sub/utils.py": ""}),
        ({}, {"test/__init__.py": ""}),
        ({}, {"email/readme.txt": "a\n"}),
        ({}, {"os.ts": "a\n", "json.md": "a\n"}),
        ({"os.py": "a\n"}, {}),
        ({"setup.py": "", "conftest.py": ""}, {"setup.py": "", "conftest.py": "", "tests/conftest.py": ""}),
        ({"app.py": ""}, {"app.py": "", "app.pyi": "", "app.pyc": "", "app/data.txt": ""}),
        ({"index.js": ""}, {"index.js": "", "index.mjs": "", "index.d.ts": "", "index.cjs": "", "index.json": ""}),
        ({"lib/app.js": ""}, {"lib/app.js": "", "lib/app/index.js": "", "lib/app.test.js": ""}),
        ({"Makefile": ""}, {"Makefile": "", "docs/GNUmakefile": ""}),
        ({"pyproject.toml": "[project]\n"}, {"pyproject.toml": "[project]\n", "pytest.ini": "[pytest]\n"}),
        ({}, {"test/fixtures/node_modules/x/index.js": ""}),
    ],
)  # fmt: skip
def test_files_that_shadow_nothing_new_are_left_alone(old: dict[str, str], new: dict[str, str]) -> None:
    assert shadowing(old, new) == {}


@pytest.mark.parametrize(
    ("makefile", "path", "found"),
    [
        ("check:\n\tpytest\n", "check", True),
        ("check:\n\tpytest\n", "check/notes.md", True),
        ("check: unit\n\nunit:\n\tpytest\n", "unit/notes.md", True),
        (".PHONY: check\ncheck:\n\tpytest\n", "check/notes.md", False),
        ("check:\n\tpytest\n\nlint:\n\truff\n", "lint/notes.md", False),
        ("check:\n\tpytest\n", "src/check", False),
    ],
)
def test_a_new_name_for_which_make_has_nothing_to_do_any_more_is_an_error(
    makefile: str, path: str, found: bool
) -> None:
    old = {"Makefile": makefile, "app.py": "x = 1\n"}
    assert bool(shadowing(old, {**old, path: "text\n"}, commands=("make check",))) is found
    assert not shadowing({**old, "check/old": "", "unit/old": ""}, {**old, "check/old": "", "unit/old": "", path: ""})


def test_modules_of_perl_beside_others_of_the_same_name_are_left_alone() -> None:
    old = {"lib/Test/More.pm": "1;\n", "lib/Test2/API.pm": "1;\n"}
    new = {**old, "lib/Test2/Event.pm": "1;\n", "lib/Test/Builder.pm": "1;\n", "lib/Test/Own.pm": "1;\n"}
    assert shadowing(old, new) == {}
