"""Projects whose usual test command leaves tests out: a change that breaks these tests is not verified."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from burnish.adapters.checkout_files import files_of
from testing.lab import Lab

# Stand-ins that behave as the real programs do in these projects, which take seconds to start.
NPM = """
import json, subprocess
names = [word for word in sys.argv[1:] if word != "run" and not word.startswith("-")]
script = json.loads(pathlib.Path("package.json").read_text())["scripts"][names[0]]
sys.exit(subprocess.call(script, shell=True))
"""
MAVEN = """
def report(kind, name, passes):
    folder = pathlib.Path("target", kind)
    folder.mkdir(parents=True, exist_ok=True)
    failure = "" if passes else '<failure message="wrong"/>'
    (folder / f"TEST-{name}.xml").write_text(f'<testsuite name="{name}" tests="1" failures="{int(not passes)}">'
        f'<testcase name="adds" classname="{name}">{failure}</testcase></testsuite>')
report("surefire-reports", "CalcTest", True)
if "verify" in sys.argv:
    # As with the goal `integration-test` alone: failures do not change the exit code.
    report("failsafe-reports", "CalcIT", eval(pathlib.Path("Calc.java").read_text()) == 3)
"""
GRADLE = """
for task in sys.argv[1:]:
    if not task.startswith("-"):
        folder = pathlib.Path("build/test-results", task)
        folder.mkdir(parents=True, exist_ok=True)
        passes = task == "test" or eval(pathlib.Path("Calc.java").read_text()) == 3
        failure = "" if passes else '<failure message="wrong"/>'
        (folder / "TEST-C.xml").write_text(f'<testsuite name="C" tests="1" failures="{int(not passes)}">'
            f'<testcase name="{task}" classname="C">{failure}</testcase></testsuite>')
        sys.exit(1) if not passes else None
"""
RUBY = """
passes = "rspec" in sys.argv[0] or eval(pathlib.Path("lib/calc.rb").read_text()) == 3
print("1 runs, 1 assertions, %d failures, 0 errors, 0 skips" % (not passes))
sys.exit(not passes)
"""
FAILSAFE = "<build><plugins><plugin><artifactId>maven-failsafe-plugin</artifactId></plugin></plugins></build>"
SUITE = "plugins { id 'java' }\ntesting {\n    suites {\n        integrationTest(JvmTestSuite) { }\n    }\n}\n"
TEST = "def test_it():\n    assert True\n"
CHECKS_SUM = 'test "$(cat calc.txt)" = "1 + 2"\n'

# programs, files, and the file with the bug
PROJECTS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "Maven with failsafe": (
        {"mvn": MAVEN},
        {"pom.xml": f"<project>{FAILSAFE}</project>\n", "Calc.java": "1 + 2\n", "src/test/java/a/CalcIT.java": ""},
        "Calc.java",
    ),
    "Gradle with a test suite": (
        {"gradle": GRADLE},
        {"build.gradle": SUITE, "Calc.java": "1 + 2\n", "src/integrationTest/java/CalcTest.java": ""},
        "Calc.java",
    ),
    "Ruby with test and spec": (
        {"rspec": RUBY, "rake": RUBY},
        {
            "Rakefile": 'require "rake/testtask"\nRake::TestTask.new\n',
            "lib/calc.rb": "1 + 2\n",
            "test/calc_test.rb": "",
            "spec/other_spec.rb": "",
        },
        "lib/calc.rb",
    ),
    "a linter as npm test": (
        {"npm": NPM, "eslint": ""},
        {
            "package.json": json.dumps({"scripts": {"test": "eslint .", "test:unit": "sh unit.sh"}}),
            "unit.sh": CHECKS_SUM,
            "calc.txt": "1 + 2\n",
        },
        "calc.txt",
    ),
    "integration tests beside npm test": (
        {"npm": NPM},
        {
            "package.json": json.dumps({"scripts": {"test": "sh unit.sh", "test:integration": "sh whole.sh"}}),
            "unit.sh": "exit 0\n",
            "whole.sh": CHECKS_SUM,
            "calc.txt": "1 + 2\n",
        },
        "calc.txt",
    ),
    "committed code that make test generates": (
        {},
        {
            "test_sum.py": 'def test_sum():\n    assert eval(open("calc.py").read()) == 3\n',
            "Makefile": "test: generate\n\tpython3 -m pytest -q\ngenerate:\n\tcp template.txt calc.py\n",
            "template.txt": "1 + 2\n",
            "calc.py": "1 + 2\n",
        },
        "template.txt",
    ),
    "shell tests that nothing starts": (
        {},
        {"test_other.py": TEST, "tests/test_sum.sh": f"#!/bin/sh\n{CHECKS_SUM}", "calc.txt": "1 + 2\n"},
        "calc.txt",
    ),
    "shell tests that fail before any task": (
        {},
        {
            "tests/test_sum.sh": f"#!/bin/sh\n{CHECKS_SUM}",
            "tests/test_broken.sh": "#!/bin/sh\nexit 1\n",
            "tests/test_sound.sh": "#!/bin/sh\ntrue\n",
            "calc.txt": "1 + 2\n",
        },
        "calc.txt",
    ),
    "a script of tests below make": (
        {},
        {
            "test_other.py": TEST,
            "Makefile": "test: unit cli\nunit:\n\tpython3 -m pytest -q\ncli:\n\t@sh tests/cli.sh\n",
            "tests/cli.sh": CHECKS_SUM,
            "calc.txt": "1 + 2\n",
        },
        "calc.txt",
    ),
}


def make_lab(root: Path, programs: dict[str, str], files: dict[str, str], inspected_file: str) -> Lab:
    judge = f'print(verdict("approved", "good", inspected=["{inspected_file}"]))'
    lab = Lab.make(root, judge=judge, extra="checks: {}\nreview: {agents: [judge], max_cycles: 1}\n")
    folder = root / "bin"
    folder.mkdir()
    for program, text in programs.items():
        (folder / program).write_text(f"#!{sys.executable} -I\nimport pathlib, sys\n{text}")
        (folder / program).chmod(0o755)
    lab.env["PATH"] = f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    lab.repo.commit({**files, ".gitignore": "target\nbuild\n"}, "a project")
    return lab


def test_init_and_run_name_the_same_steps_of_a_service(tmp_path: Path) -> None:
    steps = "      - run: python3 -m pytest\n      - run: python3 smoke.py\n"
    files = {"test_calc.py": TEST, "smoke.py": "", ".circleci/config.yml": f"jobs:\n  test:\n    steps:\n{steps}"}
    lab = make_lab(tmp_path, {}, files, "test_calc.py")
    note = "Not run: `python3 smoke.py`: .circleci/config.yml runs it. To run it, add it to checks.extra."
    assert note in lab.burnish("init", "--force", "--dry-run", "--json").json["notes"]
    lab.agent("robot", 'pathlib.Path("NOTES").write_text("new")\n')
    assert note in (said := lab.burnish("run", lab.add(), code=None)).out + said.err


def test_a_run_with_configured_checks_names_the_tests_that_none_of_them_runs(tmp_path: Path) -> None:
    files = {"test_calc.py": TEST, "smoke.py": "", "Makefile": "smoke:\n\tpython3 smoke.py\n"}
    lab = make_lab(tmp_path, {}, files, "test_calc.py")
    text = (lab.repo.path / "burnish.yaml").read_text()
    lab.repo.commit({"burnish.yaml": text.replace("checks: {}", "checks: {test: python3 -m pytest -q}")}, "settings")
    lab.trust()
    lab.agent("robot", 'pathlib.Path("NOTES").write_text("new")\n')
    said = lab.burnish("run", lab.add(), code=None)
    assert "Not run: `make smoke`" in said.out + said.err
    extra = "checks: {test: python3 -m pytest -q, extra: {smoke: {command: make smoke}}}"
    lab.repo.commit({"burnish.yaml": text.replace("checks: {}", extra)}, "settings")
    lab.trust()
    said = lab.burnish("run", lab.add(), code=None)
    assert "Not run" not in said.out + said.err


def test_a_link_to_another_part_makes_its_tests_run_for_a_change_there(tmp_path: Path) -> None:
    scripts = {"scripts": {"test": "sh test.sh"}}
    files = {f"{name}/package.json": json.dumps({"name": name, **scripts}) for name in ("app", "lib", "other")}
    tests = {
        "lib/test.sh": "exit 0\n",
        "other/test.sh": "exit 0\n",
        "app/test.sh": CHECKS_SUM.replace("calc", "shared/calc"),
    }
    lab = make_lab(tmp_path, {"npm": NPM}, {**files, **tests, "lib/calc.txt": "1 + 2\n"}, "lib/calc.txt")
    (lab.repo.path / "app/shared").symlink_to("../lib")
    before = (lab.repo.path / "burnish.yaml").read_text()
    lab.burnish("init", "--force", "--no-try")
    written = (lab.repo.path / "burnish.yaml").read_text()
    assert "lib/**" in written.partition("cwd: app")[2].partition("cwd:")[0]
    # with the agents of the lab
    checks = written[written.index("checks:") :]
    lab.repo.commit({"burnish.yaml": before.replace("checks: {}\n", checks)}, "settings")
    lab.trust()
    lab.agent("robot", 'pathlib.Path("lib/calc.txt").write_text("1 - 2\\n")\n')
    number = lab.add()
    lab.burnish("run", number, code=None)
    assert lab.task(number)["status"] == "blocked", lab.show(number)


@pytest.mark.parametrize("name", PROJECTS)
def test_a_change_that_breaks_tests_beside_the_usual_ones_is_not_verified(name: str, tmp_path: Path) -> None:
    programs, files, broken_file = PROJECTS[name]
    lab = make_lab(tmp_path, programs, files, broken_file)
    for operator, status in (("-", "blocked"), ("+", "verified")):
        lab.agent("robot", f'pathlib.Path("{broken_file}").write_text("1 {operator} 2\\n# or so\\n")\n')
        if operator == "+":
            lab.agent("robot", 'pathlib.Path("NOTES").write_text("new")\n')
            lab.agent("judge", 'print(verdict("approved", "good", inspected=["NOTES"]))')
        number = lab.add()
        lab.burnish("run", number, code=None)
        assert lab.task(number)["status"] == status, lab.show(number)


def test_folders_with_the_name_of_a_build_are_parts_if_they_have_a_project(tmp_path: Path) -> None:
    files = {f"packages/{name}/package.json": json.dumps({"scripts": {"test": "x"}}) for name in ("a", "env", "dist")}
    settings = {".github/workflows/ci.yml": "", ".circleci/config.yml": ""}
    lab = make_lab(tmp_path, {}, {**files, **settings}, "")
    found = files_of(lab.repo.path)
    assert {*settings, "packages/a/package.json", "packages/env/package.json"} <= set(found)
    assert "packages/dist/package.json" not in found
