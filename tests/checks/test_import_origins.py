"""Where the tests import the project from, asked of real interpreters with real installs."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from burnish.checks.import_origins import project_names, question, read_origins, top_level_packages
from burnish.core.policy import CheckSpec

LAYOUTS = {
    "namespace": "src/acme/calc/__init__.py",
    "module": "src/calc.py",
    "other folder": "lib/calc/__init__.py",
    "flat module": "calc.py",
}


class Project:
    """A tree and an environment beside it, as pip would leave them; nothing is downloaded."""

    def __init__(self, root: Path, file: str) -> None:
        self.tree, self.file = root / "tree", file
        self.environment = root / "environment"
        self.write(file, "def add(a, b):\n    return a + b\n")
        venv.create(self.environment, with_pip=False, symlinks=True)
        (self.packages,) = self.environment.glob("lib/python*/site-packages")

    def write(self, name: str, text: str = "") -> None:
        (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / name).write_text(text)

    @property
    def paths(self) -> list[str]:
        return [str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if path.is_file()]

    def install(self, source: Path, *, editable: bool, scripts: bool = False) -> None:
        """What `pip install SOURCE` leaves: metadata, and a copy or a path to the sources."""
        metadata = self.packages / "calc-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: calc\nVersion: 1\n")
        direct = {"url": source.as_uri(), "dir_info": {"editable": True} if editable else {}}
        (metadata / "direct_url.json").write_text(json.dumps(direct))
        if scripts:
            (metadata / "entry_points.txt").write_text("[console_scripts]\ncalc = calc:main\n")
        root, _, below = self.file.partition("/") if self.file.startswith(("src/", "lib/")) else ("", "", self.file)
        if editable:
            (self.packages / "calc.pth").write_text(f"{source / root}\n")
            (metadata / "RECORD").write_text("calc.pth,,\ncalc-1.dist-info/METADATA,,\n")
            return
        (self.packages / below).parent.mkdir(parents=True, exist_ok=True)
        (self.packages / below).write_text((self.tree / self.file).read_text())
        (metadata / "RECORD").write_text(f"{below},,\ncalc-1.dist-info/METADATA,,\n")

    def problem(self, command: str, *, cwd: str = "") -> str:
        spec = CheckSpec("test", command.replace("BIN", str(self.environment / "bin")), cwd=cwd)
        words = question(spec, ["calc"], top_level_packages(self.paths))
        env = {"PATH": f"{self.environment / 'bin'}:/usr/bin:/bin"}
        done = subprocess.run(words, cwd=self.tree / cwd, env=env, capture_output=True, text=True, check=True)
        return read_origins(done.stdout, spec, self.paths).problem


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_of_the_project_in_the_environment_is_noticed_in_every_layout(tmp_path: Path, layout: str) -> None:
    project = Project(tmp_path, LAYOUTS[layout])
    project.install(project.tree, editable=False)
    assert "site-packages" in project.problem("pytest -q")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_editable_install_of_the_tree_is_right_and_one_of_another_checkout_is_not(
    tmp_path: Path, layout: str
) -> None:
    project = Project(tmp_path, LAYOUTS[layout])
    project.install(project.tree, editable=True)
    assert project.problem("pytest -q") == ""
    other = Project(tmp_path / "other", LAYOUTS[layout])
    project = Project(tmp_path / "again", LAYOUTS[layout])
    project.install(other.tree, editable=True)
    assert str(other.tree) in project.problem("pytest -q")


@pytest.mark.parametrize(
    ("command", "right"),
    [
        ("python -m pytest -q", True),
        ("python -W error -m pytest", True),
        ("coverage run -m pytest", True),
        ('pytest -q -m "not slow"', False),
        ("python -P -m pytest", False),
        ("pytest -q", False),
    ],
)
def test_only_a_command_that_puts_the_tree_first_imports_it_beside_a_copy(
    tmp_path: Path, command: str, right: bool
) -> None:
    project = Project(tmp_path, "calc/__init__.py")
    project.install(project.tree, editable=False)
    assert (project.problem(command) == "") is right


def test_programs_of_a_copy_are_not_those_of_the_tree(tmp_path: Path) -> None:
    project = Project(tmp_path, "calc/__init__.py")
    project.install(project.tree, editable=False, scripts=True)
    assert "calc is installed from" in project.problem("python -m pytest -q")


@pytest.mark.parametrize(
    ("files", "right"),
    [
        ({"conftest.py": ""}, True),
        ({"tests/__init__.py": ""}, True),
        ({"conftest.py": "", "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n"}, False),
        ({"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n'}, True),
        ({"tests/test_calc.py": ""}, False),
    ],
)
def test_the_settings_of_pytest_decide_whether_the_tree_comes_first(
    tmp_path: Path, files: dict[str, str], right: bool
) -> None:
    project = Project(tmp_path, "calc/__init__.py")
    project.install(project.tree, editable=False)
    for name, text in files.items():
        project.write(name, text)
    assert (project.problem("pytest -q") == "") is right


@pytest.mark.parametrize("command", ["BIN/python -m pytest", "BIN/pytest -q", ". BIN/activate && pytest -q"])
def test_the_interpreter_that_the_command_names_is_asked(tmp_path: Path, command: str) -> None:
    project = Project(tmp_path, "src/calc/__init__.py")
    other = Project(tmp_path / "other", "src/calc/__init__.py")
    other.install(other.tree, editable=True)
    (other.environment / "bin" / "pytest").write_text(f"#!{other.environment / 'bin' / 'python'}\n")
    (other.environment / "bin" / "pytest").chmod(0o755)
    assert "is imported from" in project.problem(command.replace("BIN", str(other.environment / "bin")))


def test_a_check_in_a_folder_is_asked_there_and_may_import_the_rest_of_the_tree(tmp_path: Path) -> None:
    project = Project(tmp_path, "src/calc/__init__.py")
    project.write("api/test_api.py")
    project.install(project.tree, editable=True)
    assert project.problem("pytest -q", cwd="api") == ""


def test_an_install_that_was_broken_off_does_not_hide_a_copy(tmp_path: Path) -> None:
    project = Project(tmp_path, "calc/__init__.py")
    project.install(project.tree, editable=False)
    (project.packages / "~dna-3.dist-info").mkdir()
    assert "site-packages" in project.problem("pytest -q")


def test_a_command_of_python_tests_without_an_answer_proves_nothing() -> None:
    tests, script = CheckSpec("test", "pytest -q"), CheckSpec("test", "make test")
    assert "does not tell where it imports" in read_origins("Traceback\n", tests, [], error="it crashed").problem
    assert not read_origins("", tests, []).problem
    assert not read_origins("Traceback\n", script, [], error="it crashed").problem


def test_the_interpreter_of_these_tests_can_be_asked_without_anything_installed(tmp_path: Path) -> None:
    project = Project(tmp_path, "calc.py")
    assert project.problem(f"{sys.executable} -m pytest") == ""


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", '[project]\nname = "My_Calc"\n'),
        ("api/pyproject.toml", '[tool.poetry]\nname = "my.calc"\n'),
        ("setup.py", "setup(\n    name='my-calc',\n)\n"),
        ("setup.cfg", "[metadata]\nname = my-calc\n"),
    ],
)
def test_the_name_of_a_project_is_read_where_it_is_declared(file: str, text: str) -> None:
    assert project_names({file: text.encode(), "package.json": b'{"name": "web"}'}) == ("my-calc",)
