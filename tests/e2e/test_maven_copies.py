"""Two Maven projects in one repository: the tests of one use the sources of the other, or the run stops."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from burnish.checks.discover import decide, discover
from testing.bubblewrap import needs_bubblewrap
from testing.lab import Lab

# A stand-in that resolves dependencies as Maven does: outside of the reactor from the local repository.
MAVEN = f"""#!{sys.executable} -I
import os, pathlib, sys
repository = pathlib.Path(os.environ["HOME"], ".m2/repository/org/example/calc")
jar = repository / "1/calc-1.jar"
if "install" in sys.argv:
    jar.parent.mkdir(parents=True, exist_ok=True)
    jar.unlink(missing_ok=True)
    project = pathlib.Path(sys.argv[sys.argv.index("-f") + 1]).parent if "-f" in sys.argv else pathlib.Path()
    jar.write_text((project / "Calc.java").read_text())
    (repository / "maven-metadata-local.xml").write_text("<metadata/>")
    sys.exit()
source = jar if pathlib.Path.cwd().name == "app" else pathlib.Path("calc/Calc.java")
passes = eval(source.read_text()) == 3
folder = pathlib.Path("target/surefire-reports" if source is jar else "app/target/surefire-reports")
folder.mkdir(parents=True, exist_ok=True)
failure = "" if passes else '<failure message="wrong"/>'
(folder / "TEST-CalcTest.xml").write_text(f'''<testsuite name="CalcTest" tests="1" failures="{{int(not passes)}}">
<properties><property name="surefire.test.class.path" value="{{folder.parent}}/test-classes:{{source}}"/></properties>
<testcase name="adds" classname="CalcTest">{{failure}}</testcase></testsuite>''')
sys.exit(not passes)
"""
PROJECT = {
    "pom.xml": "<project><groupId>org.example</groupId><artifactId>root</artifactId><version>1</version></project>\n",
    "calc/pom.xml": (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><!-- a library --><parent><groupId>org.example</groupId>'
        "<artifactId>root</artifactId><version>1</version></parent>"
        "<artifactId>calc</artifactId></project>\n"
    ),
    "calc/Calc.java": "1 + 2\n",
    "app/pom.xml": (
        "<project><groupId>org.example</groupId><artifactId>app</artifactId><version>1</version><dependencies>"
        "<dependency><groupId>org.example</groupId><artifactId>calc</artifactId><version>1</version></dependency>"
        "</dependencies></project>\n"
    ),
    ".gitignore": "target\n",
}
BREAK = 'p = pathlib.Path("calc/Calc.java"); p.write_text("1 - 2\\n")\n'
CHANGE = 'p = pathlib.Path("calc/Calc.java"); p.write_text("2 + 1\\n")\n'
JUDGE = 'print(verdict("approved", "good", inspected=["calc/Calc.java"]))'


@pytest.fixture(params=[False, True], ids=["without a sandbox", "with a sandbox"])
def confined(request: pytest.FixtureRequest) -> bool:
    if request.param:
        needs_bubblewrap()
    return bool(request.param)


def make_lab(root: Path, *, test: str, confined: bool, setup: str = "", installed: bool = True) -> Lab:
    settings = f"checks: {{test: '{test}', lint: null}}\nreview: {{agents: [judge], max_cycles: 1}}\n"
    settings += f"workspace: {{setup: '{setup}'}}\n" if setup else ""
    lab = Lab.make(root, judge=JUDGE, extra=settings, confined=confined)
    lab.repo.commit(PROJECT, "two projects")
    program = root / "bin/mvn"
    program.parent.mkdir()
    program.write_text(MAVEN)
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    if installed:
        jar = Path(lab.env["HOME"]) / ".m2/repository/org/example/calc/1/calc-1.jar"
        jar.parent.mkdir(parents=True)
        jar.write_text(PROJECT["calc/Calc.java"])
        os.utime(jar, (1, 1))
    return lab


def run(lab: Lab, author: str) -> str:
    lab.agent("robot", author)
    number = lab.add()
    lab.burnish("run", number, code=None)
    return str(lab.task(number)["status"])


def test_an_installed_copy_of_a_module_stops_the_run(tmp_path: Path, confined: bool) -> None:
    lab = make_lab(tmp_path, test="cd app && mvn -q -B test", confined=confined)
    assert run(lab, BREAK) == "failed"
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    note = lab.show()["note"]
    assert "they use the installed copy of org.example:calc" in note and "mvn -pl app -am test" in note


@pytest.mark.slow
def test_modules_that_are_tested_together_use_the_tree(tmp_path: Path, confined: bool) -> None:
    lab = make_lab(tmp_path, test="mvn -q -B test", confined=confined)
    assert run(lab, BREAK) == "blocked"
    assert run(lab, CHANGE) == "verified"


@pytest.mark.slow
def test_a_copy_that_the_test_command_installs_is_that_of_the_tree(tmp_path: Path, confined: bool) -> None:
    test = "(cd calc && mvn -q -B install) && cd app && mvn -q -B test"
    lab = make_lab(tmp_path, test=test, confined=confined)
    assert run(lab, BREAK) == "blocked"
    assert run(lab, CHANGE) == "verified"


def test_the_command_that_init_finds_tests_the_sources_of_both_projects(tmp_path: Path, confined: bool) -> None:
    files = {name: text for name, text in PROJECT.items() if name != "pom.xml"} | {
        "app/src/test/java/CalcTest.java": ""
    }
    (check,) = decide(discover(files, files.get))
    lab = make_lab(tmp_path, test=f"cd {check.cwd} && {check.value}", confined=confined)
    assert run(lab, BREAK) == "blocked"
    assert run(lab, CHANGE) == "verified"


@pytest.mark.slow
@pytest.mark.parametrize("installs", [False, True])
def test_checks_in_the_workspace_may_install_the_module_themselves(tmp_path: Path, installs: bool) -> None:
    test = f"{'(cd calc && mvn -q -B install) && ' if installs else ''}cd app && mvn -q -B test"
    lab = make_lab(tmp_path, test=test, confined=False)
    lab.env["BURNISH__CHECKS__WHERE"] = "workspace"
    assert run(lab, CHANGE) == ("verified" if installs else "failed")


@pytest.mark.slow
@pytest.mark.parametrize("installed", [False, True])
def test_a_copy_that_set_up_installs_in_a_sandbox_is_made_again_for_each_change(
    tmp_path: Path, installed: bool
) -> None:
    needs_bubblewrap()
    setup = "cd calc && mvn -q -B install"
    lab = make_lab(tmp_path, test="cd app && mvn -q -B test", setup=setup, confined=True, installed=installed)
    assert run(lab, BREAK) == "blocked"
    assert run(lab, CHANGE) == "verified"
