"""The names that a test run can import are listed from the disk: environments, PATH, and what commands name."""

from __future__ import annotations

import json
from pathlib import Path

from burnish.checks.python_environments import environment_modules


def install(prefix: Path, *names: str) -> Path:
    place = prefix / "lib" / "python3.12" / "site-packages"
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        (place / name).mkdir() if "." not in name else (place / name).touch()
    return place


def test_the_names_in_a_virtual_environment_are_listed(tmp_path: Path) -> None:
    names = ("attr", "six.py", "_cffi.abi3.so", "x-1.0.dist-info", "__editable__app.pth", "__pycache__", "tests")
    install(tmp_path / ".venv", *names)
    assert environment_modules([tmp_path], path="", home=tmp_path / "home") == {"attr", "six", "_cffi"}


def test_environments_of_set_up_of_tox_of_the_path_and_of_the_user_are_listed(tmp_path: Path) -> None:
    install(tmp_path / "layer" / ".venv", "made")
    install(tmp_path / "checkout" / ".tox" / "py312", "by_tox")
    install(tmp_path / "system", "on_path")
    install(tmp_path / "home" / ".local", "of_user")
    install(tmp_path / "home" / "envs" / "calc", "named")
    install(tmp_path / "pipx", "beside_interpreter")
    program = tmp_path / "system" / "bin" / "pytest"
    program.parent.mkdir()
    program.write_text(f"#!{tmp_path}/pipx/bin/python -I\n")
    program.chmod(0o755)
    found = environment_modules(
        [tmp_path / "checkout", tmp_path / "layer"],
        path=str(program.parent),
        home=tmp_path / "home",
        commands=["~/envs/calc/bin/pytest -q"],
    )
    assert found == {"made", "by_tox", "on_path", "of_user", "named", "beside_interpreter"}


def test_a_copy_of_the_project_itself_is_not_an_installed_package(tmp_path: Path) -> None:
    place = install(tmp_path / ".venv", "app", "other")
    info = place / "app-1.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_text(json.dumps({"url": "file:///x", "dir_info": {}}))
    (info / "RECORD").write_text("app/__init__.py,,\napp-1.dist-info/RECORD,,\n")
    assert environment_modules([tmp_path], path="", home=tmp_path / "home") == {"other"}
