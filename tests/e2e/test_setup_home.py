"""In a sandbox, what set-up installs into its home directory is there for the checks, and only for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

PROJECT = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "cli.sh": "#!/bin/sh\necho $((1 + 2))\n",
    "test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
    "test_cli.py": "import subprocess\n\n\ndef test_cli():\n    assert subprocess.check_output('calc') == b'3\\n'\n",
    "runner.py": f"#!{sys.executable}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n",
    ".gitignore": "__pycache__\n",
}
EDIT = 'p = pathlib.Path("{0}"); p.write_text(p.read_text().replace("{1}", "{2}"))\n'
JUDGE = 'print(verdict("approved", "good", inspected=["calc.py", "cli.sh"]))'
PYTEST = f"{sys.executable} -m pytest -q"
INSTALL = 'mkdir -p "$HOME/.local/bin" && install -m 755 {} "$HOME/.local/bin/{}"'


def make_lab(root: Path, *, test: str, setup: str, own_programs: bool) -> Lab:
    needs_bubblewrap()
    settings = f"checks: {{test: '{test}', lint: null}}\nworkspace: {{setup: '{setup}'}}\n"
    lab = Lab.make(root, judge=JUDGE, extra=settings + "review: {agents: [judge], max_cycles: 1}\n", confined=True)
    lab.repo.commit(PROJECT, "a project")
    programs = Path(lab.env["HOME"]) / ".local/bin"
    if own_programs:
        programs.mkdir(parents=True)
        (programs / "other").write_text("#!/bin/sh\n")
    lab.env["PATH"] = f"{programs}:/usr/bin:/bin"
    return lab


def run(lab: Lab, author: str) -> str:
    lab.agent("robot", author)
    number = lab.add()
    lab.burnish("run", number, code=None)
    return str(lab.task(number)["status"])


@pytest.fixture(params=[False, True], ids=["empty home", "home with programs"])
def own_programs(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.slow
@pytest.mark.representatives(1)
def test_a_program_that_set_up_installs_into_its_home_runs_the_tests(tmp_path: Path, own_programs: bool) -> None:
    setup = f"echo x >> {tmp_path}/count && " + INSTALL.format("runner.py", "run-tests")
    lab = make_lab(tmp_path, test="run-tests -q test_calc.py", setup=setup, own_programs=own_programs)
    lab.env["PATH"] = f"{Path(sys.executable).parent}:{lab.env['PATH']}"
    assert run(lab, EDIT.format("calc.py", "a + b", "a - b")) == "blocked"
    assert run(lab, EDIT.format("calc.py", "a + b", "b + a")) == "verified"
    assert (tmp_path / "count").read_text() == "x\n"
    assert not (Path(lab.env["HOME"]) / ".local/bin/run-tests").exists()


@pytest.mark.long
def test_a_program_that_set_up_builds_from_the_sources_is_built_again_for_each_change(
    tmp_path: Path, own_programs: bool
) -> None:
    """As `go install` and `cargo install --path` do it."""
    lab = make_lab(tmp_path, test=PYTEST, setup=INSTALL.format("cli.sh", "calc"), own_programs=own_programs)
    if own_programs:
        # the user's own was installed from the checkout, some time ago
        programs = Path(lab.env["HOME"]) / ".local/bin"
        (programs / "calc").write_text("#!/bin/sh\necho 3\n")
        (programs / "calc").chmod(0o755)
        record = f'[v1]\n"calc 0.1.0 (path+{lab.repo.path.as_uri()})" = ["calc"]\n'
        (programs.parent / ".crates.toml").write_text(record)
    assert run(lab, EDIT.format("cli.sh", "1 + 2", "1 - 2")) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new"] == ["test_cli.py::test_cli"]
    assert run(lab, EDIT.format("cli.sh", "1 + 2", "2 + 1")) == "verified"


def test_settings_with_credentials_that_set_up_writes_into_its_home_stay_hidden_from_checks(tmp_path: Path) -> None:
    setup = 'echo //registry/:_authToken=abc > "$HOME/.npmrc" && mkdir -p "$HOME/.tool" && echo 1 > "$HOME/.tool/data"'
    test = 'test ! -e "$HOME/.npmrc" && test -e "$HOME/.tool/data" && echo more > "$HOME/.tool/data" && ' + PYTEST
    lab = make_lab(tmp_path, test=test, setup=setup, own_programs=False)
    lab.repo.commit({"test_cli.py": "def test_nothing():\n    pass\n"}, "tests")
    assert run(lab, EDIT.format("calc.py", "a + b", "b + a")) == "verified"
    (home,) = Path(lab.env["BURNISH_HOME"]).glob("environments/*/.*.home")
    assert (home / ".tool/data").read_text() == "1\n"
    lab.burnish("clean", "--environments")
    assert not home.exists()
