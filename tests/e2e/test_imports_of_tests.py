"""What the tests really imported decides, however the test command leads to another copy of the project."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testing.lab import Lab
from tests.e2e.test_trees_under_test import BREAK, CHECKS, GOOD, JUDGE, PROJECT, lab, make_lab, run, virtual_environment

__all__ = ["lab"]
PYTEST = f"{sys.executable} -m pytest -q"
# The folder named by a local file comes first, as a conftest.py with python-dotenv does it.
READS_ENV = "import pathlib, sys\nsys.path.insert(0, pathlib.Path('.env').read_text().strip().removeprefix('SRC='))\n"


def by_script(lab: Lab) -> str:
    lab.repo.commit({"run_tests.sh": f". {lab.root}/elsewhere/bin/activate\npytest -q\n"}, "a script")
    return CHECKS.replace("pytest -q", "sh run_tests.sh")


def by_script_without_plugins(lab: Lab) -> str:
    script = f"export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1\n. {lab.root}/elsewhere/bin/activate\npytest -q\n"
    lab.repo.commit({"run_tests.sh": script}, "a script")
    return CHECKS.replace("pytest -q", "sh run_tests.sh")


def by_wrapper(lab: Lab) -> str:
    """As `conda run -n calc` and `direnv exec .` do it."""
    program = lab.root / "programs" / "conda"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nshift 3\nPATH={lab.root}/elsewhere/bin:$PATH exec "$@"\n')
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    return CHECKS.replace("pytest -q", "conda run -n calc pytest -q")


def by_conftest(lab: Lab) -> str:
    lab.repo.commit({"tests/conftest.py": f"import sys\nsys.path.insert(0, '{lab.repo.path}/src')\n"}, "conftest")
    return CHECKS.replace("pytest -q", PYTEST)


def by_local_file(lab: Lab) -> str:
    lab.repo.commit({"tests/conftest.py": READS_ENV, ".gitignore": ".env\n__pycache__\n"}, "conftest")
    (lab.repo.path / ".env").write_text(f"SRC={lab.repo.path}/src\n")
    return CHECKS.replace("pytest -q", PYTEST) + "workspace: {copy: [.env]}\n"


def by_settings_of_the_tests(lab: Lab) -> str:
    lab.repo.commit({"tests/pytest.ini": f"[pytest]\npythonpath = {lab.repo.path}/src\n"}, "settings")
    return CHECKS.replace("pytest -q", f"{PYTEST} -c tests/pytest.ini tests")


def by_unittest_below_a_script(lab: Lab) -> str:
    test = (
        "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
    )
    script = f"{lab.root}/elsewhere/bin/python -m unittest discover -s tests\n"
    lab.repo.commit({"tests/test_calc.py": test, "run_tests.sh": script}, "a script")
    return CHECKS.replace("pytest -q", "sh run_tests.sh")


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "way",
    [
        by_unittest_below_a_script,
        by_script_without_plugins,
        by_script,
        by_wrapper,
        by_conftest,
        by_local_file,
        by_settings_of_the_tests,
    ],
)
def test_without_a_sandbox_tests_that_import_the_checkout_stop_the_run_before_an_agent_is_paid(
    tmp_path: Path, way: Callable[[Lab], str]
) -> None:
    lab = make_lab(tmp_path, confined=False)
    virtual_environment(tmp_path / "elsewhere", editable=lab.repo.path / "src")
    lab.settle(way(lab))
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    note = lab.show()["note"]
    assert f"calc is imported from {lab.repo.path}/src/calc/__init__.py" in note
    assert "Install the project in editable mode in workspace.setup" in note and "bubblewrap" in note


# Each switches off what reports the imports, below something that the test command does not show.
HIDDEN = {
    "isolated": ("sh run_tests.sh", {"run_tests.sh": "{env}/bin/python -I -m pytest -q\n"}),
    "ignoring variables": ("sh run_tests.sh", {"run_tests.sh": "exec {env}/bin/python3 -sE -m pytest -q tests\n"}),
    "empty environment": ("sh ci/test", {"ci/test": "#!/bin/sh\nenv -i {env}/bin/pytest -q\n"}),
    "unset": ("sh run_tests.sh", {"run_tests.sh": "unset PYTHONPATH\n. {env}/bin/activate\npytest -q\n"}),
    "make": ("make test", {"Makefile": "PY = {env}/bin/python\ntest:\n\t$(PY) -I -m pytest -q\n"}),
    "by home": ("make test", {"Makefile": "PY = $(HOME)/.virtualenvs/calc/bin/python\ntest:\n\t$(PY) -I -m pytest\n"}),
    "runner in Python": (
        f"{sys.executable} runtests.py",
        {"runtests.py": "import subprocess\nsubprocess.run(['{env}/bin/python', '-I', '-m', 'pytest'], check=True)\n"},
    ),
    "a name of conda": ("sh t.sh", {"t.sh": "conda run -n calc python -I -m pytest -q\n"}),
    # a program of the machine that clears the variables; no file of the project shows it
    "unknown wrapper": ("sh t.sh", {"t.sh": "clean pytest -q\n"}),
    # tox clears PYTHONPATH, and installs nothing where an environment of the same requirements exists
    "environments of tox in the home": ("tox run", {"tox.ini": "[tox]\nwork_dir = {env:HOME}/.virtualenvs\n"}),
    # reads PYTHONPATH, so that it reports
    "safe path": ("sh run_tests.sh", {"run_tests.sh": "{env}/bin/python -P -m pytest -q\n"}),
}


def in_environment_outside(tmp_path: Path, way: str) -> Lab:
    """The project is installed in editable mode in an environment of the user, which scripts start."""
    lab = make_lab(tmp_path, confined=False)
    place = Path(lab.env["HOME"]) / ".virtualenvs" / "calc"
    virtual_environment(place, editable=lab.repo.path / "src")
    programs = lab.root / "programs"
    programs.mkdir()
    for name, text in {
        "conda": f'shift 3; PATH={place}/bin:$PATH exec "$@"',
        "tox": f'exec env -i PATH={place}/bin:/usr/bin:/bin HOME="$HOME" pytest -q',
        "clean": f'exec env -i PATH={place}/bin:/usr/bin:/bin HOME="$HOME" "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    lab.env["PATH"] = f"{programs}:/usr/bin:/bin"
    command, files = HIDDEN[way]
    lab.repo.commit({name: text.replace("{env}", str(place)) for name, text in files.items()}, "scripts")
    lab.settle(CHECKS.replace("pytest -q", command))
    return lab


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("way", HIDDEN)
def test_imports_that_are_not_reported_stop_the_run_where_an_environment_leads_to_the_checkout(
    tmp_path: Path, way: str
) -> None:
    lab = in_environment_outside(tmp_path, way)
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    note = lab.show()["note"]
    assert f"{lab.repo.path}/src" in note and "bubblewrap" in note


# With the same environment of the user: these import the tree, and either report it or have a reason not to.
HARMLESS = {
    "the tree first": ("sh t.sh", {"t.sh": "{env}/bin/python -m pytest -q\n"}),
    "a path of its own": ("make test", {"Makefile": "test:\n\tPYTHONPATH=. {env}/bin/python -m pytest -q\n"}),
    "other languages": ("sh t.sh", {"t.sh": "test -e calc/__init__.py\n", "noxfile.py": "# pytest\n"}),
}


@pytest.mark.long
@pytest.mark.parametrize("way", HARMLESS)
def test_tests_that_import_the_tree_run_beside_an_environment_that_leads_to_the_checkout(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HIDDEN, way, HARMLESS[way])
    lab = in_environment_outside(tmp_path, way)
    (lab.repo.path / "src/calc/__init__.py").unlink()
    lab.repo.commit({"calc/__init__.py": PROJECT["src/calc/__init__.py"]}, "flat")
    packages = Path(lab.env["HOME"], ".virtualenvs/calc").glob("lib/python*/site-packages/__editable__*")
    next(packages).write_text(f"{lab.repo.path}\n")
    lab.agent("robot", GOOD.replace("src/calc", "calc"))
    lab.agent("judge", JUDGE.replace("src/calc", "calc"))
    # the way of "other languages" has an exit code alone
    lab.user_settings("checks: {uncountable: accept}\n")
    assert run(lab) == "verified", lab.show()["note"]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("command", ["{}/pytest -q --import-mode importlib", "PYTHONSAFEPATH=1 {}/python -m pytest -q"])
def test_a_copy_that_is_imported_instead_of_the_tree_stops_the_run(lab: Lab, command: str) -> None:
    (lab.repo.path / "src/calc/__init__.py").unlink()
    # a conftest.py at the root puts the tree first, but not with importlib
    conftest = {"conftest.py": ""} if "importlib" in command else {}
    lab.repo.commit({"calc/__init__.py": PROJECT["src/calc/__init__.py"], **conftest}, "flat")
    virtual_environment(lab.root / "elsewhere")
    (packages,) = (lab.root / "elsewhere").glob("lib/python*/site-packages")
    shutil.copytree(lab.repo.path / "calc", packages / "calc")
    lab.agent("robot", BREAK.replace("src/calc", "calc"))
    lab.settle(CHECKS.replace("pytest -q", command.format(lab.root / "elsewhere/bin")))
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()


@pytest.mark.long
@pytest.mark.parametrize("options", ["", " -n 2"], ids=["one process", "workers"])
def test_tests_that_import_the_tree_and_start_a_pytest_of_their_own_pass(lab: Lab, options: str) -> None:
    nested = (
        "import subprocess, sys\n\n\ndef test_nested(tmp_path):\n"
        "    (tmp_path / 'calc').mkdir()\n    (tmp_path / 'calc/__init__.py').write_text('')\n"
        "    (tmp_path / 'test_a.py').write_text('import calc\\ndef test_a(): assert \"tmp\" or calc\\n')\n"
        "    words = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider']\n"
        "    subprocess.run(words, cwd=tmp_path, check=True)\n"
    )
    settings = PROJECT["pyproject.toml"] + 'pythonpath = ["src"]\n'
    lab.repo.commit({"tests/test_nested.py": nested, "pyproject.toml": settings}, "nested")
    lab.settle(CHECKS.replace("pytest -q", PYTEST + options))
    lab.agent("robot", GOOD)
    lab.agent("judge", JUDGE)
    assert run(lab) == "verified"


# Each makes the tests import something else in the place of calc, as a conftest.py may do for code that needs hardware.
REPLACEMENTS = {
    "an object in sys.modules": {
        "tests/conftest.py": "import sys, types\nstub = types.ModuleType('calc')\nstub.add = lambda a, b: a + b\n"
        "sys.modules['calc'] = stub\n"
    },
    "a mock": {
        "tests/conftest.py": "import sys\nfrom unittest.mock import MagicMock\nstub = MagicMock()\n"
        "stub.add = lambda a, b: a + b\nsys.modules['calc'] = stub\n"
    },
    "a folder of stubs": {
        "tests/conftest.py": "import pathlib, sys\nsys.path.insert(0, str(pathlib.Path(__file__).parent / 'stubs'))\n",
        "tests/stubs/calc/__init__.py": "def add(a, b):\n    return a + b\n",
    },
    "an old build": {
        "tests/conftest.py": "import sys\nsys.path.insert(0, 'build/lib')\n",
        "build/lib/calc/__init__.py": "def add(a, b):\n    return a + b\n",
    },
}
OTHER_FILE = 'pathlib.Path("src/other.py").write_text("a = 1\\n")\n'


@pytest.mark.representatives(2)
@pytest.mark.parametrize("way", REPLACEMENTS)
def test_a_change_of_a_module_that_the_tests_replace_waits_for_a_person(tmp_path: Path, way: str) -> None:
    path = "[tool.pytest.ini_options]\npythonpath = 'src'\n"
    files = {"pyproject.toml": path, **REPLACEMENTS[way]}
    lab = make_lab(tmp_path, confined=False, extra=CHECKS.replace("pytest -q", PYTEST), files=files)
    assert run(lab) == "waiting_approval"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["status"] == "passed"
    assert check["uncountable"] == "test imports a replacement of src/calc/__init__.py instead of the file itself"
    branch = lab.task()["branch"]
    review = lab.burnish("review", f"main..{branch}", "--tests", "--json", code=None).json
    (state,) = [one["state"] for one in review["checks"] if one["name"] == "test"]
    assert state == "uncountable"


# A workspace: the package of one project is found before that of the same name in another one.
WORKSPACE = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = 'src packages/shapes/src'\n",
    "packages/shapes/pyproject.toml": "[project]\nname = 'shapes'\nversion = '1'\n",
    "packages/shapes/src/shapes/__init__.py": "def area(a, b):\n    return a * b\n",
    "tests/test_shapes.py": "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n",
}
NAMESPACE = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = '. src'\n",
    "src/acme/shapes/__init__.py": WORKSPACE["packages/shapes/src/shapes/__init__.py"],
    "tests/test_shapes.py": WORKSPACE["tests/test_shapes.py"].replace("from ", "from acme."),
}


@pytest.mark.parametrize(
    ("files", "edited", "copy"),
    [
        (WORKSPACE, "packages/shapes/src/shapes/__init__.py", "src/shapes/__init__.py"),
        (NAMESPACE, "src/acme/shapes/__init__.py", "acme/shapes/__init__.py"),
    ],
)
def test_a_change_that_puts_another_module_in_front_of_the_one_that_it_edits_waits(
    tmp_path: Path, files: dict[str, str], edited: str, copy: str
) -> None:
    lab = make_lab(tmp_path, confined=False, extra=CHECKS.replace("pytest -q", PYTEST), files=files)
    breaks = f'old = pathlib.Path("{edited}")\ntext = old.read_text()\nold.write_text(text.replace("*", "-"))\n'
    writes = f'new = pathlib.Path("{copy}")\nnew.parent.mkdir(parents=True)\nnew.write_text(text)\n'
    lab.agent("robot", breaks + writes)
    lab.agent("judge", JUDGE.replace("src/calc/__init__.py", "src"))
    assert run(lab) == "waiting_approval"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["uncountable"] == f"test imports a replacement of {edited} instead of the file itself"


def test_projects_of_one_repository_may_have_modules_of_one_name(tmp_path: Path) -> None:
    """Each check imports the module of its own project, before the change and after it."""
    files = {
        f"{name}/{path}": text
        for name in ("api", "web")
        for path, text in {
            "pyproject.toml": "[project]\nname = 'app'\nversion = '1'\n[tool.pytest.ini_options]\npythonpath = '.'\n",
            "app.py": "def area(a, b):\n    return a * b\n",
            "tests/test_app.py": "from app import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n",
        }.items()
    }
    checks = f"checks: {{test: {{run: {PYTEST}, cwd: api}}, lint: null}}\n"
    lab = make_lab(tmp_path, confined=False, extra=checks, files=files)
    lab.agent("robot", 'path = pathlib.Path("web/app.py")\npath.write_text(path.read_text() + "# more\\n")\n')
    lab.agent("judge", JUDGE.replace("src/calc/__init__.py", "web/app.py"))
    assert run(lab) == "verified"


@pytest.mark.parametrize("way", ["an object in sys.modules", "a folder of stubs"])
def test_a_change_beside_a_module_that_the_tests_replace_is_verified(tmp_path: Path, way: str) -> None:
    path = "[tool.pytest.ini_options]\npythonpath = 'src'\n"
    files = {"pyproject.toml": path, **REPLACEMENTS[way]}
    lab = make_lab(tmp_path, confined=False, extra=CHECKS.replace("pytest -q", PYTEST), files=files)
    lab.agent("robot", OTHER_FILE)
    lab.agent("judge", JUDGE.replace("src/calc/__init__.py", "src/other.py"))
    assert run(lab) == "verified"


def test_a_module_that_puts_an_object_of_its_own_into_its_place_is_tested(tmp_path: Path) -> None:
    own_class = "class Lazy:\n    def add(self, a, b):\n        return a + b\n"
    source = f"import sys\n\n\n{own_class}\n\nsys.modules[__name__] = Lazy()\n"
    files = {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = 'src'\n", "src/calc/__init__.py": source}
    lab = make_lab(tmp_path, confined=False, extra=CHECKS.replace("pytest -q", PYTEST), files=files)
    lab.agent("robot", GOOD)
    assert run(lab) == "verified"
