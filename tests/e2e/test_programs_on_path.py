"""Tests that start the project's program by name start that of the tree, or the run stops before an agent is paid."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab
from tests.e2e.test_trees_under_test import virtual_environment

pytestmark = pytest.mark.usefixtures("lean_pytest")

MODULE = "def add(a, b):\n    return a + b\n\n\ndef main():\n    print(add(1, 2))\n"
PROJECT = {
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n[project.scripts]\ncalc = "calc:main"\n',
    "calc.py": MODULE,
    "cli.sh": "#!/bin/sh\necho $((1 + 2))\n",
    "test_calc.py": (
        "import subprocess\n\n\ndef test_add():\n    assert subprocess.check_output('calc').strip() == b'3'\n"
    ),
    ".gitignore": "__pycache__\n.venv\n",
}
BREAK = (
    'for name in ("calc.py", "cli.sh"):\n'
    '    p = pathlib.Path(name); p.write_text(p.read_text().replace("a + b", "a - b").replace("1 + 2", "1 - 2"))\n'
)
JUDGE = 'print(verdict("approved", "good", inspected=["calc.py", "cli.sh"]))'
PYTEST = f"{sys.executable} -m pytest -q"
SETTINGS = f"checks: {{test: '{PYTEST}', lint: null}}\nreview: {{agents: [judge], max_cycles: 1}}\n"


def make_lab(root: Path, *, confined: bool = False) -> Lab:
    lab = Lab.make(root, author=BREAK, judge=JUDGE, extra=SETTINGS, confined=confined)
    lab.repo.commit(PROJECT, "a project")
    (lab.repo.path / "cli.sh").chmod(0o755)
    lab.repo.git("commit", "-qam", "a program")
    (root / "bin").mkdir()
    lab.env["PATH"] = f"{root / 'bin'}:/usr/bin:/bin"
    return lab


def run(lab: Lab) -> str:
    lab.add()
    lab.burnish("run", code=None)
    return str(lab.task()["status"])


def write_program(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


def by_link(lab: Lab) -> None:
    """As `npm link` does it: two links."""
    package = lab.root / "lib/node_modules/calc"
    package.parent.mkdir(parents=True)
    package.symlink_to(lab.repo.path)
    (lab.root / "bin/calc").symlink_to("../lib/node_modules/calc/cli.sh")


def by_shell_script_of_pnpm(lab: Lab) -> None:
    package = lab.root / "bin/global/5/node_modules/calc"
    package.parent.mkdir(parents=True)
    package.symlink_to(lab.repo.path)
    text = '#!/bin/sh\nbasedir=$(dirname "$0")\nexec "$basedir/global/5/node_modules/calc/cli.sh" "$@"\n'
    write_program(lab.root / "bin/calc", text)


def by_wrapper(lab: Lab) -> None:
    write_program(lab.root / "bin/calc", f"#!/bin/sh\nexec {lab.repo.path}/cli.sh\n")


def by_editable_install(lab: Lab) -> None:
    """As `pipx install -e .` does it: an environment of its own, and a link to its program."""
    place = lab.root / "pipx/venvs/calc"
    virtual_environment(place, editable=lab.repo.path)
    record_install(place, {"url": lab.repo.path.as_uri(), "dir_info": {"editable": True}})
    (lab.root / "bin/calc").symlink_to(place / "bin/calc")


def record_install(place: Path, direct: dict[str, object]) -> None:
    (packages,) = place.glob("lib/python*/site-packages")
    metadata = packages / "calc-1.dist-info"
    metadata.mkdir()
    (metadata / "direct_url.json").write_text(json.dumps(direct))
    (metadata / "entry_points.txt").write_text("[console_scripts]\ncalc = calc:main\n")
    write_program(place / "bin/calc", f"#!{place}/bin/python\nimport calc\ncalc.main()\n")


@pytest.mark.representatives(1)
@pytest.mark.parametrize("way", [by_link, by_shell_script_of_pnpm, by_wrapper, by_editable_install])
def test_a_program_that_leads_to_the_checkout_stops_the_run_without_a_sandbox(
    tmp_path: Path, way: Callable[[Lab], None]
) -> None:
    lab = make_lab(tmp_path)
    way(lab)
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    note = lab.show()["note"]
    assert f"they start calc, which is {tmp_path}/bin/calc" in note
    assert "bubblewrap" in note and "`burnish retry 1`" in note


@pytest.mark.long
def test_a_program_that_leads_to_the_checkout_leads_to_the_tree_in_a_sandbox(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True)
    by_link(lab)
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert check["new"] == ["test_calc.py::test_add"]


@pytest.mark.long
@pytest.mark.parametrize("confined", [False, True], ids=["unconfined", "confined"])
def test_a_copy_that_was_installed_from_the_checkout_stops_the_run(tmp_path: Path, confined: bool) -> None:
    """As `pipx install .` does it."""
    if confined:
        needs_bubblewrap()
    lab = make_lab(tmp_path, confined=confined)
    place = lab.root / "pipx/venvs/calc"
    virtual_environment(place)
    (packages,) = place.glob("lib/python*/site-packages")
    shutil.copy(lab.repo.path / "calc.py", packages / "calc.py")
    record_install(place, {"url": lab.repo.path.as_uri(), "dir_info": {}})
    (lab.root / "bin/calc").symlink_to(place / "bin/calc")
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert f"it is a copy that was installed from {lab.repo.path}" in lab.show()["note"]


@pytest.mark.long
@pytest.mark.parametrize("confined", [False, True], ids=["unconfined", "confined"])
def test_a_program_that_cargo_installed_from_the_checkout_stops_the_run(tmp_path: Path, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    lab = make_lab(tmp_path, confined=confined)
    write_program(lab.root / "bin/calc", "#!/bin/sh\necho 3\n")
    (lab.root / ".crates.toml").write_text(f'[v1]\n"calc 0.1.0 (path+{lab.repo.path.as_uri()})" = ["calc"]\n')
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert "it was installed by cargo from your checkout" in lab.show()["note"]


@pytest.mark.long
def test_a_program_of_the_checkout_that_tests_do_not_start_stops_nothing(tmp_path: Path) -> None:
    lab = make_lab(tmp_path)
    by_link(lab)
    lab.repo.commit({"test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"}, "tests")
    lab.agent("robot", 'p = pathlib.Path("calc.py"); p.write_text(p.read_text() + "# better\\n")\n')
    assert run(lab) == "verified"


@pytest.mark.long
@pytest.mark.parametrize("install", ["cp cli.sh {}/calc", "ln -sf $PWD/cli.sh {}/calc"])
def test_a_program_that_the_test_command_installs_itself_is_that_of_the_tree(tmp_path: Path, install: str) -> None:
    lab = make_lab(tmp_path)
    by_wrapper(lab)
    lab.settle(SETTINGS.replace(PYTEST, f"rm -f {tmp_path}/bin/calc; {install.format(tmp_path / 'bin')} && {PYTEST}"))
    assert run(lab) == "blocked"


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("go"), reason="needs go")
def test_a_program_that_go_installed_stops_the_run_and_one_that_the_build_installs_does_not(tmp_path: Path) -> None:
    lab = make_lab(tmp_path)
    source = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(1 + 2) }\n'
    lab.repo.commit({"go.mod": "module example.com/calc\n\ngo 1.18\n", "cmd/calc/main.go": source}, "go")
    install = ["go", "install", "./cmd/calc"]
    variables = {"GOBIN": str(tmp_path / "bin"), "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-buildvcs=false"}
    subprocess.run(install, cwd=lab.repo.path, env={**os.environ, **variables}, check=True)
    lab.env["PATH"] += f":{Path(str(shutil.which('go'))).parent}"
    lab.agent("robot", 'p = pathlib.Path("cmd/calc/main.go"); p.write_text(p.read_text().replace("1 + 2", "1 - 2"))\n')
    assert run(lab) == "failed"
    assert "it was built from the Go module example.com/calc" in lab.show()["note"] and not lab.calls()
    isolation = f"isolation: {{env: {json.dumps(variables)}}}\n"
    lab.settle(SETTINGS.replace("lint: null", "lint: null, build: go install ./cmd/calc") + isolation)
    lab.agent("judge", JUDGE.replace('["calc.py", "cli.sh"]', '["cmd/calc/main.go"]'))
    number = lab.add()
    lab.burnish("run", number, code=None)
    assert lab.task(number)["status"] == "blocked"


MAKEFILE = "calc: {0}calc.c\n\tcc -o calc {0}calc.c\ntest: calc\n\ttest $$(./calc) = 3\n"
SOURCE = '#include <stdio.h>\nint main(void) { printf("%d\\n", 1 + 2); }\n'


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("confined", [False, True], ids=["unconfined", "confined"])
def test_a_build_file_that_names_the_checkout_does_not_hide_a_broken_change(tmp_path: Path, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    lab = make_lab(tmp_path, confined=confined)
    lab.repo.commit({"calc.c": SOURCE, "Makefile": MAKEFILE.format(f"{lab.repo.path}/"), ".gitignore": "calc\n"}, "C")
    lab.settle(SETTINGS.replace(PYTEST, "make test"))
    lab.agent("robot", 'p = pathlib.Path("calc.c"); p.write_text(p.read_text().replace("1 + 2", "1 - 2"))\n')
    lab.agent("judge", JUDGE.replace('["calc.py", "cli.sh"]', '["calc.c"]'))
    if confined:
        assert run(lab) == "blocked"
        return
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert f"Makefile names {lab.repo.path}/calc.c, which is in your checkout" in lab.show()["note"]


@pytest.mark.parametrize("variable", ["PYTHONPATH", "SOURCES"])
def test_a_variable_of_the_settings_that_names_the_checkout_stops_the_task(tmp_path: Path, variable: str) -> None:
    lab = make_lab(tmp_path, confined=False)
    test = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    lab.repo.commit({"src/calc.py": "def add(a, b):\n    return a + b\n", "tests/test_calc.py": test}, "Python")
    lab.settle(f"{SETTINGS}isolation: {{env: {{{variable}: '{lab.repo.path}/src'}}}}\n")
    lab.agent("robot", 'pathlib.Path("src/calc.py").write_text("def add(a, b):\\n    return a - b\\n")\n')
    lab.agent("judge", JUDGE.replace('["calc.py", "cli.sh"]', '["src/calc.py"]'))
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert f"isolation.env.{variable} names {lab.repo.path}/src, which is in your checkout" in lab.show()["note"]
