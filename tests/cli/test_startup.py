"""A reading command starts fast because it loads little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from testing.userrepo import UserRepo

HEAVY = {
    "agents",
    "asyncio",
    "jinja2",
    "markdown_it",
    "platformdirs",
    "psutil",
    "pydantic",
    "rich",
    "ruamel",
}
LOOK = """
import json, sys
from burnish.cli.main import main
code = main(json.loads(sys.argv[1]))
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def loaded(repo: UserRepo, *argv: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, json.dumps(argv)],
        cwd=repo.path,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    "argv",
    [
        ("status", "--json"),
        ("status",),
        ("list", "--json"),
        ("events", "--json"),
        ("inbox", "--all"),
        ("projects",),
        ("stats",),
        ("cost", "--json"),
    ],
)
def test_a_reading_command_loads_nothing_heavy(argv: tuple[str, ...], user_repo: UserRepo) -> None:
    modules = loaded(user_repo, *argv)
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    assert not {
        m for m in modules if m.startswith(("burnish.engine", "burnish.agents", "burnish.checks", "burnish.review"))
    }
    assert "sqlite3" in modules


@pytest.mark.parametrize("argv", [("status", "--json"), ("--version",)])
def test_what_scripts_poll_loads_no_library_and_no_types_that_it_does_not_show(
    argv: tuple[str, ...], user_repo: UserRepo
) -> None:
    modules = loaded(user_repo, *argv)
    assert not {"click", "shutil", "subprocess", "tempfile", "typer", "uuid"} & modules
    types = ("agent", "approval", "event", "finding", "history", "journal", "journal_events", "review")
    assert not {f"burnish.core.{name}" for name in types} & modules


def test_only_the_verb_that_was_typed_is_loaded(user_repo: UserRepo) -> None:
    verbs = {"burnish.cli.add", "burnish.cli.run", "burnish.cli.edit", "burnish.cli.log", "burnish.cli.show"}
    assert not loaded(user_repo, "status", "--json") & verbs


WITHOUT_WEB = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(("fastapi", "starlette", "uvicorn", "websockets")))
import burnish
from burnish.cli.main import main
for module in pkgutil.walk_packages(burnish.__path__, "burnish.", onerror=lambda name: None):
    if not module.name.startswith("burnish.web") and not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name and error.name.split(".")[0] in ("fastapi", "starlette", "uvicorn", "websockets"):
                sys.exit(f"{module.name} needs {error.name}")
sys.exit(main(["serve"]))
"""


@pytest.mark.slow
def test_without_the_packages_of_the_web_all_but_the_board_works(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "BURNISH_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", WITHOUT_WEB], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3
    what, hint = done.stderr.splitlines()
    assert what == "error: `burnish serve` needs packages that are not installed: fastapi, uvicorn, websockets."
    assert "burnish[serve]" in hint
