"""Any program is an agent: prompt in, reply out, and it sees only what it is meant to see."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.command import CommandAgent
from burnish.agents.failure import looks_transient
from burnish.core.agent import AgentReply
from burnish.errors import PhaseFailed


def test_the_prompt_is_on_stdin_and_the_reply_on_stdout(project) -> None:
    robot = project.robot("import sys; print('heard:', sys.stdin.read())")
    prompt = "Überlang: " + "x" * 300_000

    reply = project.runner(robot).call(project.request(prompt=prompt))

    assert reply.text == f"heard: {prompt}"
    assert Path(reply.transcript).read_text().strip() == reply.text
    assert "robot.py" in reply.command and "Überlang" not in reply.command


def test_what_stands_in_braces_is_filled_in_once(project) -> None:
    argv = ("echo", "{prompt_file}", "{workspace}", "{task}/{cycle}/{phase}", "{model}", "{other}", "{}")
    request = project.request(model="{task}")

    call = CommandAgent().call(request, AgentSettings("robot", "command", argv=argv))

    prompt, workspace = str(request.call_dir / "prompt.md"), str(request.cwd)
    assert call.argv == ("echo", prompt, workspace, "29/2/implement", "{task}", "{other}", "{}")


def test_the_prompt_file_is_there_and_private(project) -> None:
    robot = AgentSettings("robot", "command", argv=("cat", "{prompt_file}"))
    request = project.request(prompt="Read me.")

    assert project.runner(robot).call(request).text == "Read me."
    prompt = request.call_dir / "prompt.md"
    assert prompt.read_text() == "Read me."
    assert prompt.stat().st_mode & 0o777 == 0o600


def test_the_environment_is_exactly_the_listed_one(project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    given = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "LC_TIME": "de_DE",
        "TERM": "xterm",
        "TMPDIR": "/tmp",
        "HOME": "/home/me",
        "USER": "me",
        "LOGNAME": "me",
        "https_proxy": "http://proxy",
        "NO_PROXY": "localhost",
        "ROBOT_TOKEN": "listed",
    }
    secrets = (
        "AWS_SECRET_ACCESS_KEY",
        "BURNISH_TOKEN",
        "GITHUB_TOKEN",
        "GIT_DIR",
        "PYTHONPATH",
        "LD_PRELOAD_X",
    )
    for name, value in {**given, **dict.fromkeys(secrets, "secret")}.items():
        monkeypatch.setenv(name, value)
    robot = AgentSettings("robot", "command", argv=("env", "-0"), env=("ROBOT_TOKEN", "NOT_SET"))
    request = project.request(env={"TEST_DB": "test_29"})

    reply = project.runner(robot).call(request)

    seen = dict(pair.split("=", 1) for pair in reply.text.split("\0") if pair)
    assert seen == {
        **given,
        "TEST_DB": "test_29",
        "BURNISH_TASK": "29",
        "BURNISH_CYCLE": "2",
        "BURNISH_PHASE": "implement",
        "BURNISH_WORKSPACE": str(request.cwd),
    }


def test_the_projects_virtual_environment_comes_first(project) -> None:
    for place in ("workspace", "checkout"):
        (project.root / place / ".venv" / "bin").mkdir(parents=True)
    robot = project.robot("import os; print(os.environ['PATH'])")
    runner = project.runner(robot)

    path = runner.call(project.request()).text.split(":")
    reviewer_path = runner.call(project.request(read_only=True)).text.split(":")

    assert path[:2] == [str(project.root / place / ".venv" / "bin") for place in ("workspace", "checkout")]
    # a reviewer takes no program that the author of the change could have put there
    assert reviewer_path[0] == path[1] and path[0] not in reviewer_path


def test_a_workspace_cannot_put_its_own_program_in_the_agents_place(project) -> None:
    false = project.root / "workspace" / ".venv" / "bin" / "echo"
    false.parent.mkdir(parents=True)
    shutil.copy(shutil.which("false") or "", false)

    reply = project.runner(AgentSettings("robot", "command", argv=("echo", "real"))).call(project.request())

    assert reply.text == "real"


def test_a_relative_program_is_the_checkouts_own_and_stands_in_the_workspace(project) -> None:
    robot = project.robot("import os; print(os.getcwd())")

    assert project.runner(robot).call(project.request()).text == str(project.root / "workspace")


@pytest.mark.parametrize("argv", [("no-such-agent-anywhere",), ("tools/nothing",), ()])
def test_a_missing_program_is_said_with_what_to_do(project, argv: tuple[str, ...]) -> None:
    runner = project.runner(AgentSettings("robot", "command", argv=argv))

    with pytest.raises(PhaseFailed) as caught:
        runner.call(project.request())
    assert (caught.value.code, caught.value.retryable) == ("AGENT_MISSING", False)
    assert caught.value.hint


def test_silence_is_fine_for_work_and_a_failure_for_a_review() -> None:
    silent = FinishedCall(exit_code=0, signal=None, ended="exit", stdout=" \n", stderr="", role="implement")

    assert CommandAgent().read(silent) == AgentReply(text="(no output)")
    assert isinstance(CommandAgent().read(replace(silent, role="review")), AgentFailure)


@pytest.mark.parametrize(("code", "number"), [(1, None), (127, None), (None, 9)])
def test_an_agent_that_dies_is_a_failure_whatever_it_said(code: int | None, number: int | None) -> None:
    done = FinishedCall(code, number, "exit", stdout="verdict: approved", stderr="boom\n", role="review")

    answer = CommandAgent().read(done)

    assert isinstance(answer, AgentFailure)
    assert "boom" in answer.what and not answer.retryable


@pytest.mark.parametrize(
    ("said", "transient"),
    [
        ("Error: 429 Too Many Requests", True),
        ("overloaded_error: Overloaded", True),
        ("HTTP 503 Service Unavailable", True),
        ("getaddrinfo EAI_AGAIN api.example.com", True),
        ("Connection reset by peer", True),
        ("401 Unauthorized: rate limit information unavailable", False),
        ("429 insufficient_quota: check your billing", False),
        ("model gpt-9 not found", False),
        ("SyntaxError on line 4290", False),
        ("", False),
        ("429 long ago" + "." * 5000, False),
    ],
)
def test_only_few_words_mean_that_waiting_may_help(said: str, transient: bool) -> None:
    assert looks_transient("", said) is transient
