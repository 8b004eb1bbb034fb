"""Checks test the change, the whole change and nothing else: neither the checkout's code nor ignored files help."""

from __future__ import annotations

import inspect
import site
import sys
import venv
from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

BREAK = 'app = pathlib.Path("src/calc/__init__.py"); app.write_text(app.read_text().replace("a + b", "a - b"))\n'
GOOD = 'app = pathlib.Path("src/calc/__init__.py"); app.write_text(app.read_text() + "# better\\n")\n'
JUDGE = 'print(verdict("approved", "good", inspected=sys.argv[1:] or ["src/calc/__init__.py"]))'
CHECKS = "checks: {test: pytest -q, lint: null}\nreview: {agents: [judge], max_cycles: 1}\n"
PROJECT = {
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
    "src/calc/__init__.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    ".gitignore": ".venv\n__pycache__\n_version.py\n",
}


def virtual_environment(place: Path, *, editable: Path | None = None) -> None:
    """As `pip install -e . pytest` makes it, without the network: pytest is that of these tests."""
    venv.create(place, with_pip=False, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    if editable:
        (packages / "__editable__.calc.pth").write_text(f"{editable}\n")
    program = place / "bin" / "pytest"
    program.write_text(f"#!{place}/bin/python\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n")
    program.chmod(0o755)


@pytest.fixture(params=["confined", "unconfined"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    confined = request.param == "confined"
    if confined:
        needs_bubblewrap()
    return make_lab(tmp_path, confined=confined)


def make_lab(root: Path, *, confined: bool, extra: str = CHECKS, files: dict[str, str] | None = None) -> Lab:
    lab = Lab.make(root, author=BREAK, judge=JUDGE, extra=extra, confined=confined)
    lab.repo.commit({**PROJECT, **(files or {})}, "a project")
    return lab


def run(lab: Lab) -> str:
    lab.add()
    lab.burnish("run", code=None)
    return str(lab.task()["status"])


def set_up(lab: Lab, more: str = "true") -> str:
    """A set-up command that makes an environment with an editable install, wherever it stands."""
    maker = lab.root / "make_environment.py"
    # the source of the function: a sandbox need not show the folder of these tests
    imports = "import site\nimport venv\nfrom pathlib import Path\n"
    call = "virtual_environment(Path.cwd() / '.venv', editable=Path.cwd() / 'src')\n"
    header = "from __future__ import annotations\n"
    maker.write_text(header + imports + inspect.getsource(virtual_environment) + call)
    return f"{CHECKS}workspace: {{setup: '{sys.executable} {maker} && {more}'}}\n"


@pytest.mark.slow
def test_an_editable_install_in_the_checkout_does_not_hide_a_broken_change(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    assert run(lab) == "blocked"
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["status"], check["new"]) == ("failed", ["tests/test_calc.py::test_add"])


@pytest.mark.long
def test_a_good_change_passes_with_the_environment_of_the_checkout(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True)
    lab.agent("robot", GOOD)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    before = lab.repo.fingerprint()
    assert run(lab) == "verified"
    assert lab.repo.fingerprint() == before
    captured = next(event for event in lab.events() if event["type"] == "baseline.captured")
    assert captured["data"]["origins"] == {"calc": str(lab.repo.path / "src/calc/__init__.py")}


def test_an_environment_that_imports_something_else_is_refused_before_an_agent_is_paid(tmp_path: Path) -> None:
    lab = make_lab(tmp_path, confined=False)
    virtual_environment(tmp_path / "elsewhere", editable=lab.repo.path / "src")
    lab.env["PATH"] = f"{tmp_path / 'elsewhere' / 'bin'}:/usr/bin:/bin"
    assert run(lab) == "failed"
    task = lab.task()
    assert task["error"] == "CHECK_ERROR" and not lab.calls()
    assert "calc is imported from" in lab.show()["note"]


@pytest.mark.long
def test_a_copy_of_a_namespace_package_is_refused_before_an_agent_is_paid(lab: Lab) -> None:
    module, toml = "src/acme/calc/__init__.py", PROJECT["pyproject.toml"]
    test = PROJECT["tests/test_calc.py"].replace("from calc", "from acme.calc")
    (lab.repo.path / "src/calc/__init__.py").unlink()
    lab.repo.commit({"pyproject.toml": toml, module: PROJECT["src/calc/__init__.py"], "tests/test_calc.py": test}, "ns")
    packages = "$(echo .venv/lib/python*/site-packages)"
    metadata = f"{packages}/calc-1.dist-info"
    # as `pip install .` does it, without -e
    copy = f"rm {packages}/__editable__*; cp -r src/acme {packages}/; mkdir {metadata}"
    record = f"echo acme/calc/__init__.py,, > {metadata}/RECORD; echo Name: calc > {metadata}/METADATA"
    lab.settle(set_up(lab, f"{{ {copy}; {record}; }}"))
    lab.agent("robot", BREAK.replace("src/calc/__init__.py", module))
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert "acme is imported from" in lab.show()["note"]


@pytest.mark.long
def test_two_tasks_at_once_that_start_from_one_commit_are_checked_alike(lab: Lab) -> None:
    """Both ask where the packages come from at the same moment; one answer is enough, and no tree is laid twice."""
    module = "def two(a, b):\n    return a + b\n"
    lab.repo.commit({"src/calc/two.py": module}, "a second module")
    if lab.env.get("BURNISH__SANDBOX__MODE") == "off":
        lab.settle(set_up(lab))
    else:
        virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    lab.agent(
        "robot", f"if task == '1':\n    {BREAK}else:\n    pathlib.Path('src/calc/two.py').write_text('# two\\n')\n"
    )
    lab.agent("judge", JUDGE.replace('["src/calc/__init__.py"]', '["src/calc/__init__.py", "src/calc/two.py"]'))
    for _ in range(2):
        lab.add()
    lab.burnish("run", "--all", "-j", "2", code=None)
    assert [lab.task(number)["status"] for number in (1, 2)] == ["blocked", "verified"]


@pytest.mark.long
def test_the_proof_is_made_for_a_check_of_any_name_that_runs_tests(tmp_path: Path) -> None:
    extra = CHECKS.replace("test: pytest -q", "test: null, extra: {unit: pytest -q}")
    lab = make_lab(tmp_path, confined=False, extra=extra)
    virtual_environment(tmp_path / "elsewhere", editable=lab.repo.path / "src")
    lab.env["PATH"] = f"{tmp_path / 'elsewhere' / 'bin'}:/usr/bin:/bin"
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()


@pytest.mark.long
def test_set_up_is_run_once_for_all_tasks_and_its_generated_files_are_there(lab: Lab) -> None:
    uses = "from calc._version import V\n\n\ndef test_version():\n    assert V == 1\n"
    lab.repo.commit({"tests/test_version.py": uses}, "a generated module")
    lab.settle(set_up(lab, 'echo V = 1 > src/calc/_version.py; echo "set up" >&2'))
    lab.agent("robot", GOOD)
    notes = []
    for number in ("1", "2"):
        lab.add()
        notes.append(lab.burnish("run", number).err)
    assert [note.count("Setting up the environment") for note in notes] == [1, 0]
    assert [task["status"] for task in lab.burnish("status", "--json").json["tasks"]] == ["verified", "verified"]


@pytest.mark.slow
def test_without_a_sandbox_an_author_gets_a_copy_of_the_environment_and_tests_its_own_change(tmp_path: Path) -> None:
    """Set-up does not run again in the workspace of each task."""
    lab = make_lab(tmp_path, confined=False)
    setups, results = tmp_path / "setups", tmp_path / "results"
    lab.settle(set_up(lab, f"echo x >> {setups}"))
    tries = "import subprocess\nran = subprocess.run(['.venv/bin/pytest', '-q'], check=False)\n"
    tries += f"with open({str(results)!r}, 'a') as file: file.write(f'{{ran.returncode}} ')\n"
    lab.agent("robot", BREAK + tries + BREAK.replace('"a + b", "a - b"', '"a - b", "a + b"') + GOOD + tries)
    for number in ("1", "2"):
        lab.add()
        lab.burnish("run", number)
    assert results.read_text() == "1 0 1 0 " and setups.read_text() == "x\n"


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("forgery", ["runner", "byte code", "settings"])
def test_ignored_files_of_the_author_do_not_help(lab: Lab, forgery: str) -> None:
    lab.settle(set_up(lab))
    forged = {
        "runner": 'fake = pathlib.Path(".venv/bin/pytest"); fake.parent.mkdir(parents=True, exist_ok=True)\n'
        'fake.unlink(missing_ok=True); fake.write_text("#!/bin/sh\\nexit 0\\n"); fake.chmod(0o755)\n',
        "byte code": "import py_compile\nold = pathlib.Path('/dev/shm/old.py' if 0 else 'src/calc/old.py')\n"
        "old.write_text('def add(a, b):\\n    return a + b\\n')\n"
        "py_compile.compile(str(old), cfile=f'src/calc/__pycache__/__init__.{sys.implementation.cache_tag}.pyc',"
        " invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\nold.unlink()\n",
        "settings": 'place = pathlib.Path(".venv/lib"); place.mkdir(parents=True, exist_ok=True)\n'
        'for one in place.glob("python*/site-packages"):\n'
        '    (one / "sitecustomize.py").write_text("import os; os._exit(0)\\n")\n',
    }
    lab.agent("robot", BREAK + forged[forgery])
    assert run(lab) == "blocked"


@pytest.mark.slow
@pytest.mark.representatives(1)
def test_git_works_inside_a_check(lab: Lab) -> None:
    asks = (
        "import subprocess\n\n\ndef git(*words):\n    return subprocess.check_output(['git', *words], text=True)\n\n\n"
    )
    asks += "def test_git():\n    assert 'src/calc/__init__.py' in git('ls-files').split()\n"
    asks += (
        "    assert git('log', '-1', '--format=%H').strip()\n    assert git('status', '--porcelain', '-uno') == ''\n"
    )
    lab.settle(set_up(lab))
    lab.repo.commit({"tests/test_git.py": asks}, "asks git")
    lab.agent("robot", GOOD)
    assert run(lab) == "verified"


@pytest.mark.long
def test_a_build_step_runs_on_each_tree_and_its_result_is_tested(lab: Lab) -> None:
    reads = "from pathlib import Path\n\n\ndef test_built():\n    assert 'a + b' in Path('built.txt').read_text()\n"
    lab.repo.commit({"tests/test_built.py": reads}, "tests what was built")
    build = set_up(lab).replace("checks: {", "checks: {build: cp src/calc/__init__.py built.txt, ")
    lab.settle(build.replace("test: pytest -q", "test: pytest -q tests/test_built.py"))
    assert run(lab) == "blocked"


@pytest.mark.long
def test_an_author_tests_its_own_change_with_the_environment_of_the_checkout(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    tries = 'import subprocess\nout = subprocess.run(["pytest", "-q"], capture_output=True, text=True).stdout\n'
    lab.agent("robot", f"{BREAK}{tries}print('the author', 'fails' if 'FAILED' in out else 'passes')\n")
    run(lab)
    assert "the author fails" in lab.burnish("log", "1").out


@pytest.mark.long
def test_a_reviewer_named_by_a_relative_path_is_the_checkouts_own(lab: Lab) -> None:
    judge = f"#!{sys.executable}\n" + (lab.root / "judge.py").read_text()
    lab.repo.commit({"tools/judge.py": judge}, "a judge")
    settings = lab.settings(CHECKS).replace(f"-I, -S, '{lab.root}/judge.py'", "tools/judge.py")
    lab.commit_settings(settings.replace("test: pytest -q", "test: null"))
    lab.agent("robot", 'pathlib.Path("tools/judge.py").write_text("print(1)\\n")\n')
    lab.add()
    lab.burnish("run", code=None)
    assert [call["phase"] for call in lab.calls()] == ["implement", "review"], "the author's file never ran"


@pytest.mark.slow
def test_a_review_of_uncommitted_work_tests_that_work(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True, extra=CHECKS.replace("[judge]", "[static]"))
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    lab.repo.write({"src/calc/__init__.py": "def add(a, b):\n    return a - b\n"})
    review = lab.burnish("review", "--json", code=1).json
    assert [check["new"] for check in review["checks"] if check["name"] == "test"] == [["tests/test_calc.py::test_add"]]


@pytest.mark.long
def test_what_init_tries_is_the_baseline_of_the_first_run_and_doctor_shows_its_imports(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = make_lab(tmp_path, confined=True)
    virtual_environment(lab.repo.path / ".venv", editable=lab.repo.path / "src")
    lab.burnish("init", "--try")
    module = str(lab.repo.path / "src/calc/__init__.py")
    sign = next(sign for sign in lab.burnish("doctor", "--json", code=None).json if sign["name"] == "imports")
    assert (sign["state"], sign["details"]) == ("ok", {"calc": module})
    assert f"calc from {module}".replace(" ", "") in "".join(lab.burnish("doctor", code=None).out.split())
    lab.add()
    assert "running the checks on the base" not in lab.burnish("run", code=None).err
    (check,) = lab.show()["cycles"][0]["checks"]
    assert (check["baseline"], check["new"]) == (True, ["tests/test_calc.py::test_add"])


@pytest.mark.long
@pytest.mark.parametrize("environment", ["none", "made"])
def test_without_a_sandbox_checks_run_side_by_side_unless_an_environment_holds_its_path(
    tmp_path: Path, environment: str
) -> None:
    lab = Lab.make(tmp_path, judge='print(verdict("approved", "good"))')
    marks = tmp_path / "marks"
    marks.mkdir()
    # each test waits until another one runs, or for three seconds
    meets = (
        "import os, pathlib, time\nmarks, met = pathlib.Path(os.environ['MARKS']), False\n"
        "(marks / str(os.getpid())).touch()\n"
        "for _ in range(60):\n    met = met or len(list(marks.iterdir())) > 1\n    time.sleep(0.05)\n"
        "(marks / str(os.getpid())).unlink()\n"
        "open(os.environ['MET'], 'a').write('met\\n' if met else 'alone\\n')\n"
    )
    lab.repo.commit({"check.py": meets}, "a check that waits for another")
    variables = f"isolation: {{env: {{MARKS: '{marks}', MET: '{tmp_path / 'met'}'}}}}\n"
    setup = "workspace: {setup: 'mkdir -p .venv'}\n" if environment == "made" else ""
    checks = "checks: {test: python3 check.py, lint: null}\nreview: {agents: [judge], max_cycles: 1}\n"
    lab.settle(checks + variables + setup)
    lab.add("one")
    lab.add("two")
    told = lab.burnish("run", "--all", "-j", "2").err
    assert ("one task at a time" in told) == (environment == "made")
    # on the base it runs once, alone
    assert sorted((tmp_path / "met").read_text().split()) == (["alone"] * 3 if setup else ["alone", "met", "met"])


def flat_lab(root: Path, test: str) -> Lab:
    """A flat package without dependencies, and a copy of it that is installed where the programs on PATH look."""
    lab = Lab.make(root, author=BREAK.replace("src/calc", "calc"), judge=JUDGE, extra=CHECKS.replace("pytest -q", test))
    code = PROJECT["src/calc/__init__.py"]
    lab.repo.commit({**{p: t for p, t in PROJECT.items() if "src/" not in p}, "calc/__init__.py": code}, "flat")
    virtual_environment(root / "elsewhere")
    (packages,) = (root / "elsewhere").glob("lib/python*/site-packages")
    (packages / "calc").mkdir()
    (packages / "calc" / "__init__.py").write_text(code)
    lab.env["PATH"] = f"{root / 'elsewhere' / 'bin'}:/usr/bin:/bin"
    return lab


@pytest.mark.long
def test_the_hint_for_a_flat_package_without_dependencies_helps(tmp_path: Path) -> None:
    lab = flat_lab(tmp_path, "pytest -q")
    lab.add()
    told = " ".join(lab.burnish("run", code=None).out.split())
    assert "calc is imported from" in told and "python -m pytest" in told
    assert "burnish init" not in told, "it would write no set-up here"
    lab.settle(CHECKS.replace("pytest -q", "python -m pytest -q"))
    lab.burnish("retry", "1", code=None)
    assert lab.task()["status"] == "blocked"
    assert lab.show()["cycles"][0]["checks"][0]["new"] == ["tests/test_calc.py::test_add"]


@pytest.mark.long
@pytest.mark.parametrize("way", ["command", "settings"])
def test_a_python_path_that_leads_to_the_checkout_is_refused_and_a_relative_one_is_used(
    tmp_path: Path, way: str
) -> None:
    def settings(path: str) -> str:
        if way == "settings":
            return f"{CHECKS}isolation: {{env: {{PYTHONPATH: {path}}}}}\n"
        return CHECKS.replace("pytest -q", f"PYTHONPATH={path} pytest -q")

    lab = flat_lab(tmp_path, "pytest -q")
    lab.settle(settings(str(lab.repo.path)))
    assert run(lab) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    lab.settle(settings("."))
    lab.burnish("retry", "1", code=None)
    assert lab.task()["status"] == "blocked"
