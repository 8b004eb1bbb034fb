"""Which runner a command starts, and what the real programs report when burnish starts them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.checks.environment import check_environment
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.checks.runners import MAY_RUN_MORE, STOPS_EARLY, known_command, prepare
from burnish.core.check import CheckReport, CheckStatus, compare
from burnish.core.policy import CheckSpec

HERE = Path("/out/report")
ENV = {"PATH": "/nowhere"}


def started(command: str | tuple[str, ...], root: Path | None = None) -> str:
    argv = prepare(CheckSpec("test", command), report_dir=HERE, env=ENV, root=root).argv
    return argv[2] if argv[0] == "/bin/sh" else " ".join(argv)


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -q", "pytest"),
        ("cd backend && uv run --group dev pytest", "pytest"),
        ("python3 -W error -m unittest discover -s tests", "unittest"),
        ("python manage.py test", "Django"),
        ("go test ./...", "go test"),
        ("cargo +nightly test --workspace", "cargo test"),
        ("cargo nextest run", "cargo nextest"),
        ("npx --no-install jest", "jest"),
        ("nyc --reporter lcov mocha --recursive", "mocha"),
        ("c8 --all node --test", "node --test"),
        ("CI=1 npx cross-env NODE_ENV=test jest", "jest"),
        ("CI=true react-scripts test", "jest"),
        ("pnpm exec vitest run", "vitest"),
        ("node_modules/.bin/mocha test/*.js", "mocha"),
        ("node --import tsx --test", "node --test"),
        ("./gradlew test", "Gradle"),
        ("mvn -q -B -f ../calc/pom.xml install -DskipTests && mvn -q -B test", "Maven"),
        (("pytest", "a b"), "pytest"),
    ],
)
def test_a_plain_call_is_known(command: str | tuple[str, ...], runner: str) -> None:
    known = known_command(command, None)
    assert known and known.runner.name == runner


@pytest.mark.parametrize(
    "command",
    [
        *("make test", "sh run.sh", "npm test", "pytest && ruff check", "pytest | tee log", "pytest; true", "(pytest)"),
        *(
            "cargo build",
            "go vet ./...",
            "node server.js",
            "mvn clean",
            "mvn -q install && mvn -q test",
            "vitest watch",
            "echo `pytest`",
            "pytest $ARGS",
        ),
    ],
)
def test_any_other_command_is_not(command: str) -> None:
    assert known_command(command, None) is None
    assert prepare(CheckSpec("test", command), report_dir=HERE, env=ENV).may_hide == MAY_RUN_MORE


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        ("go test ./...", "go test -json ./..."),
        ("go test -json ./...", "go test -json ./..."),
        ("cargo test --workspace -- --nocapture", "cargo test --no-fail-fast --workspace -- --nocapture"),
        ("npx jest src", "npx jest --json --outputFile=/out/report/burnish-tests.json src"),
        (
            "vitest run",
            "vitest run --reporter=default --reporter=json --outputFile.json=/out/report/burnish-tests.json",
        ),
        ("mocha 'a b.js' *.js", "mocha 'a b.js' *.js"),
        ("./gradlew :app:test", "./gradlew --continue :app:test"),
        (
            "node --test src/",
            "node --test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap"
            " --test-reporter-destination=/out/report/burnish-tests.tap --test src/",
        ),
        ("node --test --test-reporter=dot", "node --test --test-reporter=dot"),
    ],
)
def test_a_known_runner_gets_the_option_that_makes_it_report(command: str, becomes: str) -> None:
    assert started(command) == becomes


@pytest.mark.parametrize(
    "command",
    [
        "pytest -x",
        "pytest -vx",
        "pytest --maxfail=1",
        "go test -failfast ./...",
        "jest --bail",
        "python -m unittest -f",
    ],
)
def test_a_run_that_stops_at_the_first_failure_is_known_to_be_incomplete(command: str) -> None:
    assert prepare(CheckSpec("test", command), report_dir=HERE, env=ENV).may_hide == STOPS_EARLY


@pytest.mark.parametrize(
    ("command", "name", "text"),
    [
        ("mocha", ".mocharc.json", '{"bail": true}'),
        ("mocha", ".mocharc.yml", "bail: true\n"),
        ("npm test", "package.json", '{"scripts": {"test": "jest"}, "jest": {"bail": 1}}'),
        ("cd web && jest", "web/jest.config.js", "module.exports = {\n  bail: 1,\n};\n"),
        ("vitest run", "vitest.config.ts", "export default {test: {bail: 3}}\n"),
        ("mvn test", "pom.xml", "<skipAfterFailureCount>1</skipAfterFailureCount>"),
        ("gradle test", "build.gradle.kts", "tasks.test { failFast = true }\n"),
    ],
)
def test_a_command_whose_settings_make_it_stop_early_may_hide_failures(
    tmp_path: Path, command: str, name: str, text: str
) -> None:
    """An old failure, at which the run ends, would hide a new one."""
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    spec = CheckSpec("test", command)
    off = text.replace("true", "false").replace("1", "0").replace("3", "0")
    for content, expected in ((text, STOPS_EARLY), (off, "")):
        file.write_text(content)
        assert prepare(spec, report_dir=HERE, env=ENV, root=tmp_path).may_hide == expected


@pytest.mark.parametrize("command", ["pytest -rx", "pytest -k x -p no:xdist", "go test ./..."])
def test_other_options_are_not_taken_for_that(command: str) -> None:
    assert prepare(CheckSpec("test", command), report_dir=HERE, env=ENV).may_hide == ""


@pytest.mark.parametrize(
    ("script", "command", "becomes"),
    [
        ("jest", "npm test", "npm test -- --json --outputFile=/out/report/burnish-tests.json"),
        ("jest --ci", "yarn test", "yarn test --json --outputFile=/out/report/burnish-tests.json"),
        ("jest", "pnpm test", "pnpm run test --json --outputFile=/out/report/burnish-tests.json"),
        ("jest", "pnpm --silent t", "pnpm --silent run test --json --outputFile=/out/report/burnish-tests.json"),
        ("jest", "pnpm run test", "pnpm run test --json --outputFile=/out/report/burnish-tests.json"),
        ("mocha", "pnpm test", "pnpm test"),
        ("mocha", "npm run test", "npm run test"),
        ("node --test test/", "npm test", "npm test"),
    ],
)
def test_a_script_of_package_json_is_known_by_what_it_starts(
    tmp_path: Path, script: str, command: str, becomes: str
) -> None:
    (tmp_path / "package.json").write_text(f'{{"scripts": {{"test": "{script}"}}}}')
    assert started(command, tmp_path) == becomes
    assert known_command(command, tmp_path)


@pytest.mark.parametrize("script", ["npm run lint && jest", "jest; true", "npm run unit", "tsc"])
def test_a_script_that_does_more_is_not_known(tmp_path: Path, script: str) -> None:
    (tmp_path / "package.json").write_text(f'{{"scripts": {{"test": "{script}"}}}}')
    assert known_command("npm test", tmp_path) is None


def test_a_script_with_another_one_before_it_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"pretest": "tsc", "test": "jest"}}')
    assert known_command("npm test", tmp_path) is None


@pytest.mark.parametrize(
    "command",
    [
        *("npm test --workspaces", "npm test -ws", "npm --workspace=a test", "npm test -w a -w b --if-present"),
        *("pnpm -r test", "pnpm --recursive test", "pnpm --filter=a test", "yarn --cwd a test", "npm --prefix a test"),
    ],
)
def test_scripts_of_other_packages_are_not_known_by_that_of_the_root(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest"}}')
    assert known_command(command, tmp_path) is None
    assert known_command("npm test -- -w 2", tmp_path)


# The real programs, where they are installed: one old failure, then a new one beside it.


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def run_in(tree: Path, files: dict[str, str], command: str) -> CheckReport:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = check_environment(os.environ, roots=(tree,))
    spec = CheckSpec("test", command, timeout_seconds=120)
    (report,) = run_checks([spec], place=Placement.plain(tree), out_dir=tree.parent / f"out-{tree.name}", env=env)
    return report


def new_failures(root: Path, files: dict[str, str], edit: tuple[str, str, str], command: str) -> list[str]:
    name, old, new = edit
    before, after = root / "before", root / "after"
    base = run_in(before, files, command)
    now = run_in(after, {**files, name: files[name].replace(old, new)}, command)
    assert base.status is now.status is CheckStatus.FAILED, (base, now)
    comparison = compare(now, base)
    assert comparison.uncountable == "" and len(comparison.old) == 1, comparison
    assert now.counts and base.counts and now.counts.total == base.counts.total
    return [failure.name for failure in comparison.new]


def test_unittest(tmp_path: Path) -> None:
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self): self.fail('old')\n    def test_b(self): pass\n"
    )
    edit = ("test_x.py", "pass", "self.fail('new')")
    assert new_failures(tmp_path, {"test_x.py": tests}, edit, f"{sys.executable} -m unittest") == ["test_x.T.test_b"]


def test_node(tmp_path: Path) -> None:
    needs("node")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < 20:
        pytest.skip("node is older than 20")
    tests = (
        "const test = require('node:test'); const assert = require('node:assert');\n"
        "test.describe('math', () => {\n"
        "  test.it('old', () => assert.equal(1, 2)); test.it('fine', () => assert.equal(1, 1));\n});\n"
    )
    package = '{"scripts": {"test": "node --test"}}'
    files = {"a.test.js": tests, "package.json": package}
    edit = ("a.test.js", "equal(1, 1)", "equal(1, 3)")
    assert new_failures(tmp_path / "plain", files, edit, "node --test") == ["math > fine"]


@pytest.mark.slow
def test_the_packages_of_a_workspace_do_not_replace_the_reports_of_each_other(tmp_path: Path) -> None:
    needs("npm")
    test = "const test = require('node:test'); const assert = require('node:assert');\n"
    files = {
        "package.json": '{"name": "all", "workspaces": ["a", "b"], "scripts": {"test": "node --test"}}',
        "a/package.json": '{"name": "a", "version": "1.0.0", "scripts": {"test": "node --test"}}',
        "b/package.json": '{"name": "b", "version": "1.0.0", "scripts": {"test": "node --test"}}',
        "a/a.test.js": f"{test}test('fine', () => assert.equal(1, 1));\n",
        "b/b.test.js": f"{test}test('old', () => assert.equal(1, 2));\ntest('other', () => assert.equal(1, 1));\n",
    }
    base = run_in(tmp_path / "before", files, "npm test --workspaces")
    files["a/a.test.js"] = files["a/a.test.js"].replace("1, 1", "1, 3")
    comparison = compare(run_in(tmp_path / "after", files, "npm test --workspaces"), base)
    assert [failure.name for failure in comparison.new] == ["fine"]
    assert [failure.name for failure in comparison.old] == ["old"]


@pytest.mark.slow
def test_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchains = sorted((Path(pwd.getpwuid(os.getuid()).pw_dir) / ".rustup" / "toolchains").glob("*/bin"))
    if toolchains:
        # the program on the PATH looks for its toolchain in the home, which is another one here
        monkeypatch.setenv("PATH", f"{toolchains[0]}:{os.environ['PATH']}")
    needs("cargo")
    files = {
        "Cargo.toml": '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": '#[test]\nfn old() { panic!("old") }\n',
        # another binary, which cargo leaves out after the first failure unless it is told not to
        "tests/it.rs": "#[test]\nfn fine() { assert_eq!(1, 1) }\n",
    }
    edit = ("tests/it.rs", "(1, 1)", "(1, 2)")
    assert new_failures(tmp_path, files, edit, "cargo test --offline") == ["it (tests/it.rs) fine"]


@pytest.mark.slow
def test_go(tmp_path: Path) -> None:
    needs("go")
    files = {
        "go.mod": "module example.org/sample\n\ngo 1.18\n",
        "a/a_test.go": 'package a\n\nimport "testing"\n\nfunc TestOld(t *testing.T) { t.Fatal("old") }\n',
        "b/b_test.go": 'package b\n\nimport "testing"\n\nfunc TestFine(t *testing.T) {}\n',
    }
    edit = ("b/b_test.go", "{}", '{ t.Fatal("new") }')
    assert new_failures(tmp_path, files, edit, "go test ./...") == ["example.org/sample/b.TestFine"]
    printed = (tmp_path / "out-after" / "test" / "stdout").read_text()
    assert "--- FAIL: TestFine" in printed and '"Action"' not in printed, "people read text"


POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sample</groupId>
  <artifactId>sample</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.11.4</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>
    </plugins>
  </build>
</project>
"""


@pytest.mark.long
def test_maven(tmp_path: Path) -> None:
    needs("mvn")
    # the user's own repository: tests have another home, and nothing is downloaded
    downloads = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".m2" / "repository"
    wanted = ("org/apache/maven/plugins/maven-surefire-plugin/3.2.5", "org/junit/jupiter/junit-jupiter/5.11.4")
    missing = [name for name in wanted if not (downloads / name).is_dir()]
    if missing:
        pytest.skip(f"needs {missing[0]} in the local Maven repository")
    head = "import static org.junit.jupiter.api.Assertions.*;\nimport org.junit.jupiter.api.Test;\n"
    files = {
        "pom.xml": POM,
        "src/main/java/Calc.java": "class Calc { static int add(int a, int b) { return a + b; } }\n",
        "src/test/java/CalcTest.java": f"{head}class CalcTest {{\n  @Test void old() {{ fail(); }}\n"
        "  @Test void adds() { assertEquals(3, Calc.add(1, 2)); }\n}\n",
    }
    edit = ("src/main/java/Calc.java", "a + b", "a - b")
    command = f"mvn -o -q -B -Dmaven.repo.local={downloads} test"
    assert new_failures(tmp_path, files, edit, command) == ["CalcTest.adds"]


def test_reports_of_maven_and_gradle_count_only_if_this_run_wrote_them(tmp_path: Path) -> None:
    stale = '<testsuite><testcase classname="A" name="stale"><failure/></testcase></testsuite>'
    fresh = '<testsuite><testcase classname="A" name="fresh"><failure/></testcase></testsuite>'
    place = "target/surefire-reports"
    mvnw = f"#!/bin/sh\necho '{fresh}' > {place}/TEST-B.xml\nexit 1\n"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "mvnw").touch(0o755)
    files = {f"{place}/TEST-A.xml": stale, "pom.xml": "<project/>", "mvnw": mvnw}
    report = run_in(tmp_path / "tree", files, "./mvnw -q test")
    assert [failure.name for failure in report.failures] == ["A.fresh"] and not report.partial
    several = run_in(tmp_path / "tree", {**files, "pom.xml": "<project><modules/></project>"}, "./mvnw -q test")
    assert several.failures and several.partial


def test_failed_integration_tests_of_maven_count_and_may_be_hidden_by_failed_unit_tests(tmp_path: Path) -> None:
    failure = '<testsuite><testcase classname="AIT" name="adds"><failure/></testcase></testsuite>'
    place = "target/failsafe-reports"
    # the goal `integration-test` without `verify`: the build succeeds
    mvnw = f"#!/bin/sh\nmkdir -p {place}\necho '{failure}' > {place}/TEST-AIT.xml\n"
    (tmp_path / "mvnw").touch(0o755)
    files = {"pom.xml": "<plugin>maven-failsafe-plugin</plugin>", "mvnw": mvnw}
    report = run_in(tmp_path, files, "./mvnw -q verify")
    assert [one.name for one in report.failures] == ["AIT.adds"]
    assert report.partial == "Maven skips its integration tests after a failed test"
    assert not run_in(tmp_path, files, "./mvnw -q test").partial


def test_a_test_that_ends_the_process_of_maven_hides_the_tests_after_it(tmp_path: Path) -> None:
    """As surefire reports `System.exit` in a test: the classes after it have no report."""
    failure = '<testsuite><testcase classname="A" name="old"><failure/></testcase></testsuite>'
    prints = "echo '[ERROR] The forked VM terminated without properly saying goodbye. VM crash or System.exit called?'"
    mvnw = f"#!/bin/sh\nmkdir -p target/surefire-reports\necho '{failure}' > target/surefire-reports/TEST-A.xml\n"
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "mvnw").touch(0o755)
    for more, is_partial in ((f"{prints}\n", True), ("", False)):
        files = {"pom.xml": "<project/>", "mvnw": f"{mvnw}{more}exit 1\n"}
        report = run_in(tmp_path / "tree", files, "./mvnw -q test")
        assert [failure.name for failure in report.failures] == ["A.old"] and bool(report.partial) == is_partial


@pytest.mark.slow
@pytest.mark.parametrize("options", ["-x", "-x --color=yes", "--maxfail=1 --color=yes -qq"])
def test_settings_of_pytest_that_make_it_stop_early_are_noticed(tmp_path: Path, options: str) -> None:
    tests = "def test_a():\n    pass\n\n\ndef test_old():\n    assert 0\n\n\ndef test_z():\n    pass\n"
    files = {"test_a.py": tests, "pytest.ini": f"[pytest]\naddopts = {options}\n"}
    report = run_in(tmp_path / "tree", files, f"{sys.executable} -m pytest")
    assert [failure.name for failure in report.failures] == ["test_a.py::test_old"] and report.partial
