"""What holds for every real program, on samples of what it printed: an answer only if there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.agents.base import AbortsEarly, AgentFailure, AgentSettings
from burnish.agents.monitor import Spending, Watchdog
from burnish.agents.registry import AGENTS
from burnish.config.kinds import CLI_KINDS, NO_REVIEWERS
from burnish.core.agent import AgentReply
from testing.agent_samples import NAMES, request, spoken

NUMBER = "8f2c41d09b7e"
every = pytest.mark.parametrize("name", NAMES)
known = pytest.mark.parametrize("name", [name for name in CLI_KINDS if name in AGENTS])


def settings(name: str) -> AgentSettings:
    return AgentSettings(name="it", kind=name)


def judged(name: str, case: str) -> AgentReply | AgentFailure | None:
    """As the runner reads it: a program that would have gone on trying was ended."""
    agent, done = AGENTS[name], spoken(name, case)
    if done.ended != "enough":
        return agent.read(done)
    assert isinstance(agent, AbortsEarly)
    return agent.abort_reason(done.stdout, done.stderr)


@every
def test_its_answer_is_read(name: str) -> None:
    reply = AGENTS[name].read(spoken(name, "implement"))

    assert isinstance(reply, AgentReply), reply
    assert reply.text.endswith("All done.")
    assert reply.tokens > 0


@every
def test_its_review_is_read(name: str) -> None:
    reply = AGENTS[name].read(spoken(name, "review"))

    assert isinstance(reply, AgentReply), reply
    assert NUMBER in reply.text and '"approved"' in reply.text


@every
@pytest.mark.parametrize(("case", "retryable"), [("401", 0), ("404", 0), ("429", 1), ("500", 1), ("cut", 1)])
def test_a_failure_is_no_answer_and_tells_whether_to_try_again(name: str, case: str, retryable: int) -> None:
    answer = judged(name, case)

    assert isinstance(answer, AgentFailure), answer
    assert answer.retryable is bool(retryable), answer
    assert answer.what.startswith(name) and answer.hint


@every
@pytest.mark.parametrize("case", ["implement", "review"])
def test_nobody_is_given_up_who_works(name: str, case: str) -> None:
    agent, done = AGENTS[name], spoken(name, case)
    if isinstance(agent, AbortsEarly):
        size = len(done.stdout)
        for end in range(0, size + 1, max(1, size // 50)):
            assert agent.abort_reason(done.stdout[:end], done.stderr) is None


@pytest.mark.parametrize("name", [name for name in NAMES if spoken(name, "500").ended == "enough"])
def test_a_program_that_is_given_up_may_still_print_while_it_ends(name: str, tmp_path: Path) -> None:
    agent, done = AGENTS[name], spoken(name, "500")
    (tmp_path / "stdout").write_text(done.stdout)
    (tmp_path / "stderr").write_text(done.stderr)
    watchdog = Watchdog(agent, tmp_path, Spending(name, agent, tmp_path, None))

    assert watchdog.over(is_due=True) and watchdog.why
    # True for a further line would kill it at once
    assert not watchdog.over(is_due=False)


@every
def test_a_wrong_key_comes_with_a_remedy(name: str) -> None:
    answer = judged(name, "401")

    assert isinstance(answer, AgentFailure)
    assert any(word in answer.hint for word in ("login", "log in", "Set ")) and "burnish log" not in answer.hint


@every
@pytest.mark.parametrize("case", ["implement", "review"])
def test_an_answer_with_a_bad_exit_code_is_a_failure(name: str, case: str) -> None:
    for code, signal in ((1, None), (None, 15)):
        answer = AGENTS[name].read(spoken(name, case, exit_code=code, signal=signal))
        assert isinstance(answer, AgentFailure), answer


@every
@pytest.mark.parametrize("case", ["implement", "review"])
def test_output_cut_anywhere_is_a_failure_or_the_same_answer(name: str, case: str) -> None:
    whole = spoken(name, case)
    full = AGENTS[name].read(whole)
    assert isinstance(full, AgentReply)
    size = len(whole.stdout.rstrip())
    places = {*range(0, size, max(1, size // 200)), size - 1}
    for place in places:
        answer = AGENTS[name].read(replace(whole, stdout=whole.stdout[:place]))
        assert isinstance(answer, AgentFailure) or answer.text == full.text, (place, answer)
    assert isinstance(AGENTS[name].read(replace(whole, stdout="", files={})), AgentFailure)


@known
@pytest.mark.parametrize("read_only", [True, False])
def test_the_prompt_is_never_an_argument(name: str, read_only: bool) -> None:
    if read_only and name in NO_REVIEWERS:
        pytest.skip("an author only")
    prompt = "Do it, and do it well."
    asked = request(prompt=prompt, read_only=read_only, model="a-model")
    call = AGENTS[name].call(asked, settings(name))

    assert call.argv[0] == AGENTS[name].program
    assert not any(prompt in word for word in call.argv)
    assert call.stdin == prompt or any(str(asked.call_dir / "prompt.md") in word for word in call.argv)
    assert any("a-model" in word for word in call.argv)
    assert AGENTS[name].call(replace(asked, model=None), settings(name)).argv != call.argv


@pytest.mark.parametrize("name", [name for name in CLI_KINDS if name not in NO_REVIEWERS])
def test_reviewing_is_not_started_as_working_is(name: str) -> None:
    look, work = (AGENTS[name].call(request(read_only=flag), settings(name)) for flag in (True, False))

    assert (look.argv, look.env, look.files) != (work.argv, work.env, work.files)
