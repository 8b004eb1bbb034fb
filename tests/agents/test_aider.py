"""aider: exit code 0 for everything; its own words stand behind ">" in the history of the chat."""

from __future__ import annotations

import pytest

from burnish.agents.aider import AiderAgent
from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.core.agent import AgentReply
from testing.agent_samples import request

SETTINGS = AgentSettings("aider", "aider")
HEAD = "\n# aider chat started at 2026-11-15 21:36:42\n\n> Aider v0.86.2  \n\n#### Do it.  \n#### And well.  \n\n"
SUM = "\n> Tokens: 1.5k sent, 17 received. Cost: $0.0012 message, $0.0012 session.  \n> Applied edit to hello.txt  \n"


def read(chat: str, exit_code: int = 0, stdout: str = "", role: str = "review") -> AgentReply | AgentFailure:
    return AiderAgent().read(FinishedCall(exit_code, None, "exit", stdout, "", role=role, files={"chat.md": chat}))


def test_the_answer_is_what_the_model_said() -> None:
    reply = read(HEAD + "hello.txt\n```\nhello\n```\n\nAll done.\n" + SUM)

    assert isinstance(reply, AgentReply)
    assert reply.text == "hello.txt\n```\nhello\n```\n\nAll done."
    assert (reply.tokens, reply.cost_usd) == (1517, 0.0012)


def test_several_rounds_are_summed_and_no_words_are_lost() -> None:
    """aider writes its own further questions nowhere: after the first prompt, a heading is the model's."""
    asked = "\n> Tokens: 1.5k sent, 17 received. Cost: $0.0012 message, $0.0012 session.  \n> app.py  \n> Add it? y  \n"
    reply = read(HEAD + "May I see app.py?\n" + asked + "\nDone.\n" + SUM, role="implement")

    assert isinstance(reply, AgentReply) and reply.tokens == 3034
    assert reply.text.split() == "May I see app.py? Done.".split()


def test_the_final_message_of_a_reviewer_is_its_last_answer() -> None:
    draft = '```burnish-verdict 8f2c41d09b7e\n{"verdict": "approved"}\n```'
    added = "\n> Tokens: 1.5k sent, 17 received.  \n> app.py  \n> Add file to the chat? (Y)es/(N)o [Yes]: y  \n"
    reply = read(HEAD + draft + added + "\nWith app.py in view, it divides by zero.\n" + SUM)

    assert isinstance(reply, AgentReply) and reply.tokens == 3034
    assert reply.text == "With app.py in view, it divides by zero."
    assert reply.other_messages == reply.text_before == (draft,)


@pytest.mark.parametrize(
    "words",
    [
        "I reject this change.\n\n#### Details\n\nIt is wrong.",
        "I reject this change.\n\n#### Verdict  \n\nIt is wrong.",
        "#### Rejected\n\nIt is wrong.",
        "It is wrong:\n\n> x = 1\n\nis not right.",
        "> Rejected.\n\nIt is wrong.",
        "It is wrong:\n> this line  \n> and this line  \n\nis not right.",
    ],
)
def test_headings_and_quotes_of_the_answer_stay_in_it(words: str) -> None:
    reply = read(HEAD + words + "\n\n" + SUM)

    assert isinstance(reply, AgentReply) and reply.text == "\n".join(line.rstrip() for line in words.split("\n"))


def test_an_answer_after_the_last_count_was_cut_off() -> None:
    answer = read(HEAD + "Approved.\n" + SUM + "\nNo, I take that ba\n")
    assert isinstance(answer, AgentFailure) and answer.retryable


def test_a_prompt_that_is_too_long_is_reported_with_its_size() -> None:
    limit = "> Model openai/gpt-5 has hit a token limit!  \n> Token counts below are approximate.  \n>   \n"
    limit += "> Input tokens: ~5,310 of 4,096 -- possibly exhausted context window!  \n> Output tokens: ~0 of 0  \n"
    for chat in (HEAD + limit, HEAD + "May I see app.py?\n" + SUM + limit):
        answer = read(chat)
        assert isinstance(answer, AgentFailure) and not answer.retryable
        words = "Model openai/gpt-5 has hit a token limit. Input tokens: ~5,310 of 4,096 -- possibly exhausted"
        assert answer.what == f"aider failed: {words} context window."


def test_an_error_after_an_answer_is_a_failure() -> None:
    answer = read(HEAD + "May I see app.py?\n" + SUM + "> litellm.RateLimitError: slow down  \n")
    assert isinstance(answer, AgentFailure) and answer.retryable and "slow down" in answer.what


def test_errors_are_failures_whatever_the_exit_code() -> None:
    for said, retryable in (("AuthenticationError: 401 wrong key", False), ("RateLimitError: slow down", True)):
        answer = read(HEAD + f"> litellm.{said}  \n> Retrying in 0.2 seconds...  \n")
        assert isinstance(answer, AgentFailure) and answer.retryable is retryable


def test_what_was_not_counted_was_not_answered() -> None:
    assert isinstance(read(HEAD + "All do"), AgentFailure)
    assert isinstance(read(HEAD + SUM), AgentFailure)
    assert isinstance(read(HEAD.split("####")[0] + "All done.\n" + SUM), AgentFailure)
    assert isinstance(read("", stdout="All done."), AgentFailure)
    assert isinstance(read(HEAD + "All done.\n" + SUM, exit_code=1), AgentFailure)


def test_nothing_of_its_own_is_written_into_the_repository() -> None:
    call = AiderAgent().call(request(read_only=True), SETTINGS)

    for flag in ("--chat-history-file", "--input-history-file", "--config", "--env-file", "--load", "--message-file"):
        assert call.argv[call.argv.index(flag) + 1].startswith("/calls/1/")
    assert call.argv[call.argv.index("--map-tokens") + 1] == "0"
    assert call.env["GIT_CONFIG_KEY_0"] == "user.name"
    assert call.argv[call.argv.index("--chat-mode") + 1] == "ask" and "--dry-run" in call.argv


def test_what_the_repository_could_switch_on_is_switched_off() -> None:
    argv = AiderAgent().call(request(), SETTINGS).argv

    assert {"--no-auto-lint", "--no-auto-test", "--no-notifications", "--no-auto-commits"} <= set(argv)


def test_refused_again_and_again_it_is_not_waited_for() -> None:
    again = "litellm.RateLimitError: slow down\nTry later.\nRetrying in 0.2 seconds...\n"
    found = AiderAgent().abort_reason("Aider\n" + again * 5, "")

    assert found and found.retryable and "slow down" in found.what
    assert AiderAgent().abort_reason("Aider\n" + again * 4, "") is None
    assert AiderAgent().abort_reason("Aider\n" + again * 4 + "Tokens: 1k sent, 2 received.\n" + again, "") is None
