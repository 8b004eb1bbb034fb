"""An agent that cannot: asked again where that may help, then its fallback, and who did the work is on record."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from burnish.agents.runner import RetryPolicy
from testing.lab import APPROVE, AUTHOR, Lab

# Refuses as often as it is told, in a server's words, and leaves half a file behind; then does its work.
REFUSE = """
tries = pathlib.Path(LOG).with_name(f"{NAME}-{phase}")
tried = len(tries.read_text()) if tries.exists() else 0
tries.write_text("x" * (tried + 1))
if tried < TIMES:
    print(WORDS, file=sys.stderr)
    sys.exit(1)
"""
BUSY, LOCKED_OUT = "Error: 429 Too Many Requests", "Error: 401 invalid api key"


def refusing(words: str, times: int, then: str) -> str:
    return REFUSE.replace("WORDS", repr(words)).replace("TIMES", str(times)) + then


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number of tries, without the waiting."""
    monkeypatch.setattr("burnish.agents.runner.RetryPolicy", lambda: RetryPolicy(base_seconds=0.01))


def asked(lab: Lab) -> Counter[tuple[str, str]]:
    return Counter((call["agent"], call["phase"]) for call in lab.calls())


def with_fallback(tmp_path: Path, *, author: str, judge: str) -> Lab:
    lab = Lab.make(tmp_path, author=author, judge=judge)
    lab.agent("second", AUTHOR)
    lab.agent("third", APPROVE)
    text = lab.settings("")
    for name, other in (("robot", "second"), ("judge", "third")):
        text = text.replace(f"{name}.py']", f"{name}.py'], fallback: {other}, model: mine")
    lab.commit_settings(text)
    return lab


@pytest.mark.long
def test_who_is_only_busy_is_asked_again_until_it_can(tmp_path: Path) -> None:
    lab = with_fallback(tmp_path, author=refusing(BUSY, 2, AUTHOR), judge=refusing(BUSY, 1, APPROVE))
    lab.add()
    said = lab.burnish("run", "1").err
    assert lab.task()["status"] == "verified"
    assert asked(lab) == {("robot", "implement"): 3, ("judge", "review"): 2}
    assert not lab.events("phase.failed")
    assert "robot was rate limited, trying again in 0.02 s (3 of 4)" in said
    told = [event["data"] for event in lab.events("phase.progress")]
    assert [(one["phase"], one["agent"], one["attempt"], one["of"]) for one in told] == [
        ("implement", "robot", 2, 4),
        ("implement", "robot", 3, 4),
        ("review", "judge", 2, 4),
    ]


def test_who_is_locked_out_is_asked_once_and_the_record_says_who_did_the_work(tmp_path: Path) -> None:
    lab = with_fallback(tmp_path, author=refusing(LOCKED_OUT, 99, ""), judge=refusing(LOCKED_OUT, 99, ""))
    lab.add()
    said = lab.burnish("run", "1").err
    task = lab.task()
    assert (task["status"], task["agent"], task["model"]) == ("verified", "second", None)
    assert "robot gave up, second takes over: " in said and "judge gave up, third takes over: " in said
    assert [e["data"]["fallback"] for e in lab.events("phase.progress")] == ["second", "third"]
    assert set(asked(lab).values()) == {1} and len(asked(lab)) == 4
    (done,) = (e["data"] for e in lab.events("phase.finished") if e["data"]["phase"] == "implement")
    assert (done["agent"], done["model"]) == ("second", None)
    trailers = lab.repo.git("log", "-1", "--format=%(trailers:key=Burnish-Agent,valueonly)", task["branch"])
    assert trailers.strip() == "second"


def test_a_dead_reviewer_without_a_fallback_approves_nothing(tmp_path: Path) -> None:
    died = "print(verdict('approved', 'good'))\nsys.stdout.flush()\nos.kill(os.getpid(), 9)"
    lab = Lab.make(tmp_path, judge=died)
    lab.add()
    lab.burnish("run", "1", code=3)
    assert (lab.task()["status"], lab.task()["error"]) == ("failed", "AGENT_FAILED")


@pytest.mark.long
def test_a_script_can_play_the_same(tmp_path: Path) -> None:
    """The scripted agent refuses in the first cycle; what it says decides whether it is asked again."""
    lab = Lab.make(tmp_path, judge=APPROVE)
    steps = [{"on": "implement", "exit": 1, "stderr": "503 Service Unavailable\n"}]
    (lab.repo.path / "play.json").write_text(json.dumps(steps))
    text = lab.settings("").replace(
        "agents:\n", "agents:\n  played: {kind: scripted, script: play.json, fallback: robot}\n"
    )
    lab.commit_settings(text.replace("agent: robot", "agent: played"))
    lab.add()
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
    (tries,) = Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks/*/**/*implement*")
    assert len([one for one in tries.rglob("try-*") if one.name[4:].isdigit()]) == 5
