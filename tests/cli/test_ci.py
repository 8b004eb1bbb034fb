"""Reviews in CI: the output for other tools, the steps of the GitHub Action, and the hooks for pre-commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing.userrepo import UserRepo
from tests.cli.conftest import Person

ROOT = Path(__file__).parents[2]
BAD = "import os\n\n\ndef add(a, b):\n    return a + c\n"


def test_findings_are_printed_for_ci_and_written_beside(person: Person) -> None:
    person.repo.write({"app.py": BAD})
    argv = ["review", "--no-tests", "--agent", "static", "--format", "github", "-o", "out.sarif"]
    lines = person.types(*argv, code=1).splitlines()
    assert lines[0].startswith("::error title=F1 Undefined name `c`,file=app.py,line=5::")
    assert all(line.startswith("::") for line in lines) and "Verdict: CHANGES_REQUESTED" in person.err
    log = json.loads((person.repo.path / "out.sarif").read_text())
    assert len(log["runs"][0]["results"]) == len(lines)
    (person.repo.path / "out.sarif").unlink()
    again = json.loads(person.types("review", "--no-tests", "--agent", "static", "--format", "sarif", code=1))
    fingerprints = [[one["partialFingerprints"] for one in each["runs"][0]["results"]] for each in (log, again)]
    assert fingerprints[0] == fingerprints[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--format", "html"], "'html' is not a format of findings."),
        (["--format", "sarif", "--json"], "--format and --json cannot be combined."),
        (["-o", "out.txt"], "out.txt has no ending of a format."),
        (["1", "--format", "sarif"], "--format and -o belong to a review without a task."),
        (["1", "--from", "x", "--format", "sarif"], "--format and -o belong to a review without a task."),
    ],
)
def test_a_wrong_format_is_refused_before_a_review(person: Person, argv: list[str], words: str) -> None:
    person.types("add", "Divide")
    person.types("review", *argv, code=2)
    assert words in person.err


# -- the action -----------------------------------------------------------------------------------


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text()))


def step(name: str) -> dict[str, Any]:
    return next(one for one in action()["runs"]["steps"] if one["name"] == name)


class Runner:
    """A machine of GitHub Actions, as far as the steps need one."""

    def __init__(self, repo: UserRepo, temp: Path) -> None:
        self.repo, self.temp, self.output = repo, temp, temp / "output"
        programs = temp / "burnish" / "bin"
        programs.mkdir(parents=True)
        (programs / "burnish").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m burnish.cli "$@"\n')
        (programs / "burnish").chmod(0o755)

    def review(self, **values: str) -> subprocess.CompletedProcess[str]:
        self.output.write_text("")
        inputs = {name: one.get("default", "") for name, one in action()["inputs"].items()}
        env = {"RANGE": inputs["range"], "ARGS": inputs["args"], "SARIF": inputs["sarif"]}
        env |= {"FAIL_ON_FINDINGS": inputs["fail-on-findings"], "BASE": "", "HEAD": "HEAD"}
        env |= {"PULL": "", "TRUNK": "main"}
        assert env.keys() | {"BURNISH_HOME"} == step("Review")["env"].keys()
        places = {
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.output),
            "BURNISH_HOME": str(self.temp / "home"),
        }
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step("Review")["run"]],
            cwd=self.repo.path,
            env=os.environ | env | places | values,
            capture_output=True,
            text=True,
            timeout=120,
        )

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def runner(user_repo: UserRepo, tmp_path: Path) -> Runner:
    return Runner(user_repo, tmp_path / "runner")


@pytest.mark.slow
def test_the_action_reviews_a_pull_request_since_its_merge_base(runner: Runner) -> None:
    repo = runner.repo
    fork = repo.git("rev-parse", "HEAD").strip()
    base = repo.commit({"other.py": BAD}, "on the target meanwhile")
    repo.git("checkout", "-q", "-b", "topic", fork)
    head = repo.commit({"app.py": BAD}, "change")
    done = runner.review(BASE=base, HEAD=head)
    assert done.returncode == 1, done.stderr
    assert "::error title=F1 Undefined name" in done.stdout and "other.py" not in done.stdout
    assert runner.outputs == {"sarif": "burnish.sarif", "exit-code": "1"}
    assert json.loads((repo.path / "burnish.sarif").read_text())["version"] == "2.1.0"
    (repo.path / "burnish.sarif").unlink()
    assert runner.review(BASE=base, HEAD=head, FAIL_ON_FINDINGS="false").returncode == 0
    assert runner.outputs["exit-code"] == "1"


@pytest.mark.slow
def test_the_action_fetches_what_a_shallow_checkout_lacks(runner: Runner, tmp_path: Path) -> None:
    repo = runner.repo
    base = repo.git("rev-parse", "HEAD").strip()
    head = repo.commit({"app.py": "def add(a, b):\n    return b + a\n"}, "change")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.path}", str(clone)], check=True)
    runner.repo = UserRepo(clone)
    done = runner.review(BASE=base, HEAD=head)
    assert done.returncode == 0 and runner.outputs["exit-code"] == "0", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("before", ["0" * 40, "1234567890" * 4], ids=["new branch", "forced push"])
def test_the_action_reviews_a_branch_since_the_default_branch_if_the_commit_before_is_missing(
    runner: Runner, tmp_path: Path, before: str
) -> None:
    repo = runner.repo
    repo.git("branch", "-M", "main")
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit({"app.py": BAD}, "an error")
    head = repo.commit({"notes.txt": "x\n"}, "notes")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", "--branch=topic", f"file://{repo.path}", str(clone)], check=True)
    runner.repo = UserRepo(clone)
    done = runner.review(BASE=before, HEAD=head)
    assert done.returncode == 1 and "Undefined name `c`" in done.stdout, done.stderr


@pytest.mark.slow
def test_the_action_reviews_the_last_commit_of_a_shallow_checkout(runner: Runner, tmp_path: Path) -> None:
    head = runner.repo.commit({"app.py": BAD}, "an error")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{runner.repo.path}", str(clone)], check=True)
    runner.repo = UserRepo(clone)
    done = runner.review(HEAD=head)
    assert done.returncode == 1 and "Undefined name `c`" in done.stdout, done.stderr


def test_a_pull_request_whose_commit_cannot_be_fetched_fails_the_step_with_an_exit_code(runner: Runner) -> None:
    done = runner.review(BASE=runner.repo.git("rev-parse", "HEAD").strip(), HEAD="1234567890" * 4, PULL="7")
    assert done.returncode == 3 and "Check out with fetch-depth: 0." in done.stdout, done.stderr
    assert runner.outputs["exit-code"] == "3"


@pytest.mark.slow
def test_a_review_that_cannot_run_always_fails_the_step(runner: Runner) -> None:
    done = runner.review(RANGE="no-such...HEAD", FAIL_ON_FINDINGS="false")
    assert done.returncode not in (0, 1) and runner.outputs["exit-code"] == str(done.returncode)


def test_no_step_puts_a_value_of_the_event_into_its_script() -> None:
    steps = action()["runs"]["steps"]
    assert all("${{" not in one["run"] and one["shell"] == "bash" for one in steps)
    named = {name for one in steps for name in action()["inputs"] if f"inputs.{name}" in json.dumps(one["env"])}
    assert named == action()["inputs"].keys()


def test_the_install_step_installs_the_package_in_an_environment_of_its_own(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    script = f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/log\nmkdir -p "$4/bin"; cp "$0" "$4/bin/python"\n'
    (programs / "python3").write_text(script)
    (programs / "python3").chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "BURNISH_PACKAGE": "burnish==1"}
    words = ["bash", "-e", "-c", step("Install burnish")["run"]]
    subprocess.run(words, env=env, cwd=tmp_path, check=False, capture_output=True)
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0].endswith(f"-m venv {tmp_path}/burnish")
    assert lines[1].startswith(f"{tmp_path}/burnish/bin/python -I -m pip install") and lines[1].endswith(" burnish==1")


@pytest.mark.slow
def test_the_install_step_runs_no_module_of_the_checkout(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("venv", "pip", "ensurepip", "argparse"):
        (checkout / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (checkout / name / file).write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n")
    env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path / "runner"), "PIP_NO_INDEX": "1"}
    env |= {"BURNISH_PACKAGE": str(tmp_path / "no-such-package")}
    words = ["bash", "-e", "-c", step("Install burnish")["run"]]
    result = subprocess.run(words, env=env, cwd=checkout, check=False, capture_output=True, text=True, timeout=120)
    assert "no-such-package" in result.stderr, result.stderr
    assert not (tmp_path / "ran").exists()


# -- pre-commit -----------------------------------------------------------------------------------

needs_pre_commit = pytest.mark.skipif(
    find_spec("pre_commit") is None and os.environ.get("CI") != "true", reason="pre-commit is not installed"
)


def pre_commit(repo: UserRepo, *argv: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PRE_COMMIT_HOME": str(home), "BURNISH_HOME": str(home / "burnish")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    command = [sys.executable, "-m", "pre_commit", *argv]
    return subprocess.run(command, cwd=repo.path, env=env, capture_output=True, text=True, timeout=180)


@needs_pre_commit
@pytest.mark.slow
def test_the_hook_stops_a_commit_with_an_error_and_lets_a_good_one_pass(user_repo: UserRepo, tmp_path: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    # the programs of this environment instead of a new one, which takes a minute to install
    local = [{**hook, "language": "system"} for hook in hooks]
    user_repo.commit(
        {".pre-commit-config.yaml": yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]})}, "hooks"
    )
    user_repo.write({"app.py": BAD})
    user_repo.git("add", "app.py")
    done = pre_commit(user_repo, "run", "burnish-review", home=tmp_path / "pc")
    assert done.returncode == 1 and "Undefined name `c`" in done.stdout, done.stdout + done.stderr
    user_repo.write({"app.py": "def add(a, b):\n    return b + a\n"})
    user_repo.git("add", "app.py")
    done = pre_commit(user_repo, "run", "burnish-review", home=tmp_path / "pc")
    assert done.returncode == 0 and "Passed" in done.stdout, done.stdout + done.stderr


@needs_pre_commit
@pytest.mark.slow
def test_the_hook_before_a_push_reviews_the_pushed_commits_and_not_the_checkout(
    user_repo: UserRepo, tmp_path: Path
) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = [{**hook, "language": "system", "args": ["--no-tests"]} for hook in hooks]
    start = user_repo.commit(
        {".pre-commit-config.yaml": yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]})}, "hooks"
    )
    user_repo.commit({"app.py": BAD}, "an error")
    end = user_repo.commit({"notes.txt": "x\n"}, "notes")
    user_repo.git("checkout", "-q", "--detach", start)
    user_repo.write({"work.txt": "not committed\n"})
    argv = ["run", "burnish-review-branch", "--hook-stage", "pre-push"]
    done = pre_commit(user_repo, *argv, "--from-ref", start, "--to-ref", end, home=tmp_path / "pc")
    assert done.returncode == 1 and "Undefined name `c`" in done.stdout, done.stdout + done.stderr
    assert "work.txt" not in done.stdout


@needs_pre_commit
def test_pre_commit_accepts_the_definition_of_the_hooks(user_repo: UserRepo, tmp_path: Path) -> None:
    done = pre_commit(user_repo, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"), home=tmp_path)
    assert done.returncode == 0, done.stderr
