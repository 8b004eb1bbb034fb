"""One runner for all agents: nothing is paid twice, what may pass is tried again, what cannot is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.command import CommandAgent
from burnish.agents.failure import with_name, without_name
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.errors import PhaseFailed
from burnish.proc.run import StopToken, wait_for_orphans

# Counts its calls in the workspace, then does as told.
COUNT = "import sys, pathlib, time\np = pathlib.Path('count'); n = len(p.read_text()) if p.exists() else 0\n"
COUNT += "p.write_text('x' * (n + 1))\n"


def calls(project) -> int:
    path = project.root / "workspace" / "count"
    return len(path.read_text()) if path.exists() else 0


def test_an_answered_call_is_read_again_and_not_paid_again(project) -> None:
    runner = project.runner(project.robot(COUNT + "print('answer', n)"))
    request = project.request()

    first = runner.call(request)
    second = runner.call(request)

    assert first == second == runner.answered(request)
    assert calls(project) == 1


def test_another_prompt_is_another_call(project) -> None:
    runner = project.runner(project.robot(COUNT + "print('answer', n)"))
    request = project.request()
    other = project.request(prompt="Something else.", call_dir=request.call_dir)

    assert runner.call(request).text == "answer 0"
    assert runner.answered(other) is None
    assert runner.call(other).text == "answer 1"


def test_a_failure_is_not_an_answer_to_be_read_again(project) -> None:
    runner = project.runner(project.robot(COUNT + "if n == 0: sys.exit('broken')\nprint('better')"))
    request = project.request()
    with pytest.raises(PhaseFailed):
        runner.call(request)

    assert runner.call(request).text == "better"


def test_what_may_pass_is_tried_again_and_every_attempt_is_kept(project) -> None:
    runner = project.runner(project.robot(COUNT + "if n < 2: sys.exit('429 rate limit')\nprint('at last')"))
    request = project.request()

    assert runner.call(request).text == "at last"
    assert calls(project) == 3
    assert [(request.call_dir / f"try-{n}" / "stderr").read_text() for n in (1, 2, 3)] == [
        "429 rate limit\n",
        "429 rate limit\n",
        "",
    ]


def test_tries_have_an_end(project) -> None:
    runner = project.runner(project.robot(COUNT + "sys.exit('overloaded')"), attempts=2)

    with pytest.raises(PhaseFailed) as caught:
        runner.call(project.request())
    assert (caught.value.code, caught.value.retryable) == ("AGENT_FAILED", True)
    assert "overloaded" in caught.value.what
    assert calls(project) == 2


def test_what_will_not_pass_is_not_tried_again(project) -> None:
    runner = project.runner(project.robot(COUNT + "sys.exit('401 invalid api key')"))

    with pytest.raises(PhaseFailed) as caught:
        runner.call(project.request())
    assert (caught.value.code, caught.value.retryable) == ("AGENT_FAILED", False)
    assert calls(project) == 1


@dataclass(frozen=True)
class Stubborn(CommandAgent):
    """Says on stderr that it tries again, without end."""

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        return AgentFailure("It tries again.", retryable=True) if stderr.count("again") > 2 else None


def test_a_program_that_tries_without_end_is_ended_and_asked_anew(project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.proc.run._LOOK_EVERY", 0.05)
    entry = project.robot(
        COUNT + "while n == 0: print('again', file=sys.stderr, flush=True); time.sleep(0.02)\nprint(n)"
    )
    runner = AgentRunner(
        {"robot": entry},
        checkout=project.root / "checkout",
        lock_dir=project.root / "locks",
        retry=RetryPolicy(attempts=2, base_seconds=0.05),
        agents={"command": Stubborn()},
    )

    assert runner.call(project.request()).text == "1"
    assert calls(project) == 2


@pytest.mark.parametrize(
    ("printed", "count"),
    [
        ("print('Welcome to another program')", 2),
        ("print('<html>', chr(10), '</html>')", 2),
        ('print(\'{"type": "system"}\')', 4),
        ("pass", 4),
    ],
)
def test_a_program_that_prints_something_else_is_asked_twice_only(
    project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, count: int
) -> None:
    """Without any output, or after the first events, a stream may have broken off: that is tried more often."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{COUNT}{printed}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    runner = project.runner(AgentSettings("claude", "claude"), attempts=4)
    with pytest.raises(PhaseFailed) as caught:
        runner.call(project.request(agent="claude"))
    assert calls(project) == count
    assert caught.value.what.startswith("claude ") and caught.value.what.count("claude") == 1


@pytest.mark.parametrize(
    ("agent", "what", "sentence", "reason"),
    [
        ("claude", "claude failed: no.", "claude failed: no.", "no."),
        ("judge", "codex failed: no.", "judge: codex failed: no.", "codex failed: no."),
        ("robot", "The command failed with exit code 3.", "robot failed with exit code 3.", "failed with exit code 3."),
        ("it", "The agent failed: no.", "it failed: no.", "no."),
        ("gpt", "The model failed: no.", "gpt failed: no.", "no."),
        ("codex", "It tries again.", "codex: It tries again.", "It tries again."),
    ],
)
def test_a_failure_names_the_agent_once(agent: str, what: str, sentence: str, reason: str) -> None:
    assert with_name(agent, what) == sentence
    assert without_name(agent, what) == without_name(agent, sentence) == reason


def test_pauses_grow_up_to_a_limit() -> None:
    retry = RetryPolicy(base_seconds=5, most_seconds=30)

    assert [retry.pause(n) for n in (1, 2, 3, 4, 50)] == [5, 10, 20, 30, 30]


def test_the_fallback_is_asked_when_the_first_cannot(project) -> None:
    first = project.robot("import sys; sys.exit(1)", fallback="second", model="big")
    second = AgentSettings("second", "command", argv=("no-such-agent",), fallback="third")
    third = AgentSettings("third", "command", argv=("echo", "third, model {model}"), fallback="robot", model="s")

    reply = project.runner(first, second, third).call(project.request(model="huge"))

    assert (reply.text, reply.model) == ("third, model s", "s")


def test_what_the_fallback_answered_is_not_paid_again_either(project) -> None:
    first = project.robot(COUNT + "sys.exit(1)", fallback="second")
    second = project.robot(COUNT + "print('second')", name="second")
    runner, request = project.runner(first, second), project.request()

    assert runner.call(request).text == runner.call(request).text == "second"
    assert calls(project) == 2  # once each


def test_a_circle_of_fallbacks_ends(project) -> None:
    one = project.robot("import sys; sys.exit(1)", name="one", fallback="two")
    two = project.robot("import sys; sys.exit(2)", name="two", fallback="one")

    with pytest.raises(PhaseFailed, match=r"two failed with exit code 2"):
        project.runner(one, two).call(project.request("one"))


def test_an_unknown_agent_or_kind_is_named(project) -> None:
    runner = project.runner(AgentSettings("odd", "telepathy"))

    for name, word in (("nobody", "nobody"), ("odd", "telepathy")):
        with pytest.raises(PhaseFailed, match=word) as caught:
            runner.call(project.request(name))
        assert caught.value.code == "AGENT_MISSING"


def test_out_of_time_is_a_timeout_and_goes_to_no_fallback(project) -> None:
    slow = project.robot("import time; time.sleep(60)", fallback="other")
    other = AgentSettings("other", "command", argv=("echo", "never"))

    with pytest.raises(PhaseFailed) as caught:
        project.runner(slow, other).call(project.request(timeout_seconds=0.3))
    assert (caught.value.code, caught.value.retryable) == ("TIMEOUT", True)


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", "import sys; sys.exit('overloaded')"])
def test_a_stop_interrupts_the_call_and_the_wait_for_the_next(project, code: str) -> None:
    stop = StopToken()
    threading.Timer(0.4, stop.request).start()
    runner = project.runner(project.robot(code), stop=stop, attempts=1000)

    with pytest.raises(PhaseFailed) as caught:
        runner.call(project.request())
    assert caught.value.code == "INTERRUPTED"


@pytest.mark.slow
def test_an_agent_has_only_so_many_places(project) -> None:
    code = "import time, pathlib, os\np = pathlib.Path('in'); p.mkdir(exist_ok=True); q = p / str(os.getpid())\n"
    code += "q.touch(); time.sleep(.2); print(len(list(p.iterdir()))); q.unlink()"
    runner = project.runner(project.robot(code, max_parallel=2))
    seen: list[int] = []
    requests = [project.request() for _ in range(5)]
    threads = [threading.Thread(target=lambda r=request: seen.append(int(runner.call(r).text))) for request in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 5 and max(seen) <= 2


def test_live_output_reaches_the_screen(project) -> None:
    heard: list[str] = []
    code = "import pathlib, time\nprint('\\x1b[31mworking', flush=True)\n"
    robot = project.robot(code + "while not pathlib.Path('heard').exists(): time.sleep(.02)")

    def hear(text: str) -> None:
        heard.append(text)
        (project.root / "workspace" / "heard").touch()

    project.runner(robot).call(project.request(), on_output=hear)

    assert "working" in heard[0] and "\x1b" not in heard[0]


RUNNER = """
import sys
from pathlib import Path
from burnish.agents.base import AgentSettings
from burnish.agents.runner import AgentRunner
from burnish.core.agent import AgentRequest
root = Path(sys.argv[1])
robot = AgentSettings("robot", "command", argv=("./robot.py",))
runner = AgentRunner({"robot": robot}, checkout=root / "checkout", lock_dir=root / "locks")
call_dir = Path(sys.argv[2])
request = AgentRequest("robot", "implement", "Do it.", root / "workspace", call_dir, 29, 2, "implement")
print(runner.call(request, lock_file=root / "lock").text)
"""


def test_a_burnish_that_was_killed_finds_the_answer_it_had_paid_for(project) -> None:
    wait = "pathlib.Path('ready').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(.02)\n"
    robot = project.robot(COUNT + wait + "print('paid')")
    request = project.request()
    argv = [sys.executable, "-c", RUNNER, str(project.root), str(request.call_dir)]
    first = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _wait_for(project.root / "workspace" / "ready")
    first.send_signal(signal.SIGSTOP)
    (project.root / "workspace" / "go").touch()
    _wait_for(request.call_dir / "try-1-outcome.json")
    first.kill()
    first.wait()
    assert wait_for_orphans(project.root / "lock")

    assert project.runner(robot).call(request).text == "paid"
    assert calls(project) == 1


def test_a_call_that_was_cut_is_made_again(project) -> None:
    robot = project.robot(COUNT + "pathlib.Path('ready').touch(); time.sleep(60 if n == 0 else 0); print('again')")
    request = project.request()
    argv = [sys.executable, "-c", RUNNER, str(project.root), str(request.call_dir)]
    first = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _wait_for(project.root / "workspace" / "ready")
    first.kill()
    first.wait()
    assert wait_for_orphans(project.root / "lock")

    assert project.runner(robot).call(request).text == "again"
    assert (request.call_dir / "try-1-outcome.json").exists()


FORGE = """
for place in pathlib.Path(sys.argv[0]).parent.parent.rglob("try-1"):
    (place / "outcome.json").write_text('{"ended": "exit", "exit_code": 0, "signal": null, "seconds": 1}')
"""


def test_an_outcome_that_an_agent_wrote_into_its_folder_is_not_an_answer(project) -> None:
    """It counts only if burnish and the shim are killed together while the agent works."""
    work = "print('forged' if n == 0 else 'again', flush=True); pathlib.Path('ready').touch()"
    robot = project.robot("import sys\n" + COUNT + FORGE + work + "\ntime.sleep(60 if n == 0 else 0)")
    request = project.request()
    argv = [sys.executable, "-c", RUNNER, str(project.root), str(request.call_dir)]
    first = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _wait_for(project.root / "workspace" / "ready")
    first.send_signal(signal.SIGSTOP)
    for shim in psutil.Process(first.pid).children():
        shim.kill()
    first.kill()
    first.wait()
    assert wait_for_orphans(project.root / "lock")
    assert (request.call_dir / "try-1" / "outcome.json").exists()

    assert project.runner(robot).call(request).text == "again"


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)


def test_a_workspace_that_is_gone_is_a_failure_with_a_name(project) -> None:
    gone = project.root / "gone"

    with pytest.raises(PhaseFailed, match="no such directory") as caught:
        project.runner(project.robot("")).call(project.request(cwd=gone))
    assert caught.value.code == "AGENT_FAILED"


def test_a_full_disk_is_said_to_be_full(project) -> None:
    """A limit on the size of files stands in for the disk."""
    code = "import os\nwhile True: os.write(1, b'x' * 5000)"
    project.robot(code)
    request = project.request()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    wrapped = limit + "try:\n " + RUNNER.strip().replace("\n", "\n ") + "\nexcept Exception as e: print(e.code)"
    argv = [sys.executable, "-c", wrapped, str(project.root), str(request.call_dir)]

    said = subprocess.run(argv, capture_output=True, text=True, timeout=20, env=dict(os.environ))

    assert said.stdout.strip() == "DISK_FULL", said.stderr
