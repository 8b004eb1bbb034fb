"""Promise 5 for the streams of agents: an earlier draft never takes the place of the final message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.jsonlines import read_events
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply
from burnish.proc.text import read_text
from testing.agent_samples import NAMES, spoken
from testing.agent_streams import STREAMS, Events, lines_of
from testing.long_forms import examples

DRAFT = "The draft approves."
FINAL = "The final message rejects."
SEPARATORS = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\r\n", "\n"]
# one result at the end, against the last of many messages
RESULTS = ["claude", "qwen", "amp", "cursor", "acp", "llm"]


def read(name: str, stdout: str, role: str = "review") -> AgentReply | AgentFailure:
    return AGENTS[name].read(FinishedCall(0, None, "exit", stdout, "", role))


def stream(name: str, final: str = FINAL) -> str:
    return "".join(line + "\n" for line in lines_of(STREAMS[name](DRAFT, final)))


def test_every_agent_that_prints_events_is_tried_here() -> None:
    others = {"aider", "command", "scripted"}
    assert set(STREAMS) | others == set(AGENTS)


@pytest.mark.parametrize("separator", SEPARATORS, ids=[f"U+{ord(s[0]):04X}x{len(s)}" for s in SEPARATORS])
@pytest.mark.parametrize("name", STREAMS)
def test_a_final_message_that_quotes_a_line_separator_is_read_whole(name: str, separator: str) -> None:
    final = f"It rejects{separator}{{because{separator}of this."
    reply = read(name, stream(name, final))

    assert isinstance(reply, AgentReply) and reply.text == final


@pytest.mark.parametrize("name", STREAMS)
def test_windows_line_ends_and_plain_noise_do_no_harm(name: str) -> None:
    noisy = "Loaded cached credentials.\n" + stream(name).replace("\n", "\r\n\r\n") + "[INFO] bye\n[1, 2]\n\x1b[0m\n"
    reply = read(name, noisy)

    assert isinstance(reply, AgentReply) and reply.text == FINAL


def is_safe(answer: AgentReply | AgentFailure) -> bool:
    return isinstance(answer, AgentFailure) or answer.text == FINAL


def parts(name: str) -> tuple[str, str]:
    """The output up to the end of the draft, and the rest of it."""
    lines, others = (lines_of(STREAMS[name](DRAFT, final)) for final in (FINAL, "Another."))
    same = next(index for index, line in enumerate(lines) if line != others[index])
    return "".join(f"{line}\n" for line in lines[:same]), "".join(f"{line}\n" for line in lines[same:])


def shows_damage(text: str) -> bool:
    """A changed letter inside of a string leaves valid JSON: no reader can notice that."""
    try:
        return not all(isinstance(json.loads(line), dict) for line in text.split("\n") if line.strip())
    except ValueError:
        return True


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.floats(0, 1), st.integers(1, 60))
def test_cut_lines_never_let_a_draft_win(name: str, start: float, length: int) -> None:
    before, after = parts(name)
    at = int(start * (len(after) - 1))
    line_end = after.index("\n", at)
    cut_in_line = after[:at] + after[min(at + length, line_end) :]
    marked = f"{after[:at]}\n[burnish: {length:15} bytes left out here]\n{after[at + length :]}"

    for rest in filter(shows_damage, (cut_in_line, marked)):
        assert DRAFT not in getattr(read(name, before + rest), "text", "")


PIECES = ["x", "\n", "{", '{"', "}\n", '{"type":', '{"type": "result"', "\u2028", '"\n', "[burnish: 3 bytes left"]


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.floats(0, 1), st.lists(st.sampled_from(PIECES), min_size=1, max_size=3))
def test_what_a_child_writes_into_the_output_never_lets_a_draft_win(name: str, at: float, pieces: list[str]) -> None:
    before, after = parts(name)
    place = int(at * len(after))
    rest = after[:place] + "".join(pieces) + after[place:]

    assert not shows_damage(rest) or DRAFT not in getattr(read(name, before + rest), "text", "")


@pytest.mark.parametrize("name", STREAMS)
def test_the_cut_of_the_output_cap_never_lets_a_draft_win(name: str, tmp_path: Path) -> None:
    draft, *final = lines_of(STREAMS[name](DRAFT + "d" * 50, FINAL + "f" * 200))
    output = tmp_path / "stdout"
    output.write_text("\n".join([draft, *final, ""]))
    for limit in range(40, output.stat().st_size + 10, 7):
        answer = read(name, read_text(output, limit=limit))
        assert isinstance(answer, AgentFailure) or answer.text.startswith(FINAL), limit


@pytest.mark.parametrize("name", STREAMS)
def test_a_final_message_that_is_repeated_is_one_message(name: str) -> None:
    events = STREAMS[name](DRAFT, FINAL, FINAL)
    if name in RESULTS:
        events = [*events, events[-1]]
    reply = read(name, "\n".join(lines_of(events)))

    assert isinstance(reply, AgentReply) and reply.text == FINAL


def _item(kind: str, **item: object) -> dict[str, object]:
    return {"type": kind, "item": item}


# Behind an approving draft: the final message in a shape that the adapter does not know.
UNKNOWN_SHAPES: dict[str, tuple[str, dict[str, object]]] = {
    "codex, a list": ("codex", _item("item.completed", type="agent_message", content=[{"text": FINAL}])),
    "codex, text is a list": ("codex", _item("item.completed", type="agent_message", text=[FINAL])),
    "codex, updated": ("codex", _item("item.updated", type="agent_message", text=FINAL)),
    "codex, started": ("codex", _item("item.started", type="agent_message")),
    "codex, another item type": ("codex", _item("item.completed", type="assistant_message", text=FINAL)),
    "codex, an unknown item with text": ("codex", _item("item.completed", type="outcome", text=FINAL)),
    "codex, an item without type": ("codex", _item("item.completed", text=FINAL)),
    "codex, an item that is a list": ("codex", {"type": "item.completed", "item": [FINAL]}),
    "codex, another case": ("codex", _item("Item.Completed", type="Agent_Message", text=FINAL)),
    "gemini, a list": ("gemini", {"type": "message", "role": "assistant", "content": [FINAL]}),
    "gemini, role model": ("gemini", {"type": "message", "role": "model", "content": FINAL}),
    "gemini, no role": ("gemini", {"type": "message", "content": FINAL}),
    "gemini, no type": ("gemini", {"role": "assistant", "content": FINAL}),
    "opencode, an object": ("opencode", {"type": "text", "part": {"text": {"value": FINAL}}}),
    "opencode, no part": ("opencode", {"type": "text", "text": FINAL}),
    "opencode, a message": ("opencode", {"type": "message.updated", "part": {"type": "text", "text": FINAL}}),
    "copilot, a list": ("copilot", {"type": "assistant.message", "data": {"content": [FINAL]}}),
    "copilot, only pieces": ("copilot", {"type": "assistant.message_delta", "data": {"deltaContent": FINAL}}),
}


@pytest.mark.parametrize(("name", "event"), UNKNOWN_SHAPES.values(), ids=UNKNOWN_SHAPES.keys())
def test_a_message_of_unknown_shape_never_lets_the_one_before_it_win(name: str, event: dict[str, object]) -> None:
    *start, end = STREAMS[name](DRAFT)
    for events in ([*start, event, end], [*start, end, event], [*start, event]):
        assert isinstance(read(name, "\n".join(lines_of(events))), AgentFailure)
    if name != "gemini":  # its messages come in pieces, all of which count
        events = [*start, event, *STREAMS[name](FINAL)]
        assert getattr(read(name, "\n".join(lines_of(events))), "text", "") == FINAL


@pytest.mark.parametrize("name", ["claude", "qwen", "amp", "cursor"])
def test_a_turn_that_follows_the_result_must_have_a_result_of_its_own(name: str) -> None:
    later = STREAMS[name](FINAL)[-2]

    assert isinstance(read(name, "\n".join(lines_of([*STREAMS[name](DRAFT), later]))), AgentFailure)


GEMINI_ERROR: dict[str, object] = {"type": "error", "severity": "warning", "message": "Loop detected"}

# Events behind a draft that show that it is not the answer: what the program was doing failed or did not end.
UNFINISHED: dict[str, tuple[str, Events]] = {
    "codex, turn not completed": ("codex", [*STREAMS["codex"](DRAFT), {"type": "turn.started"}]),
    "codex, failed, then completed": (
        "codex",
        [*STREAMS["codex"](DRAFT)[:-1], {"type": "turn.failed"}, STREAMS["codex"](DRAFT)[-1]],
    ),
    "codex, failed after completion": ("codex", [*STREAMS["codex"](DRAFT), {"type": "turn.failed", "error": {}}]),
    "codex, message after completion": ("codex", [*STREAMS["codex"](FINAL), STREAMS["codex"](DRAFT)[1]]),
    "gemini, message after the result": ("gemini", [*STREAMS["gemini"](FINAL), STREAMS["gemini"](DRAFT)[-2]]),
    "gemini, tool after the result": ("gemini", [*STREAMS["gemini"](FINAL), *STREAMS["gemini"](DRAFT)[:-1]]),
    "gemini, two results": (
        "gemini",
        [*STREAMS["gemini"](DRAFT)[:-1], {"type": "result", "status": "error"}, STREAMS["gemini"](DRAFT)[-1]],
    ),
    "gemini, error after the result": ("gemini", [*STREAMS["gemini"](DRAFT), GEMINI_ERROR]),
    "gemini, error after a result that is repeated": (
        "gemini",
        [*STREAMS["gemini"](DRAFT), GEMINI_ERROR, STREAMS["gemini"](DRAFT)[-1]],
    ),
    "gemini, error before the result": (
        "gemini",
        [*STREAMS["gemini"](DRAFT)[:-1], GEMINI_ERROR, STREAMS["gemini"](DRAFT)[-1]],
    ),
    "gemini, error between two pieces": (
        "gemini",
        [*STREAMS["gemini"](DRAFT)[:-2], GEMINI_ERROR, *STREAMS["gemini"](DRAFT)[-2:]],
    ),
    "gemini, error without words": ("gemini", [*STREAMS["gemini"](DRAFT), {"type": "error"}]),
    "opencode, step not finished": ("opencode", [*STREAMS["opencode"](DRAFT), {"type": "step_start"}]),
    "copilot, cancelled": (
        "copilot",
        [*STREAMS["copilot"](DRAFT)[:-1], {"type": "abort", "data": {}}, STREAMS["copilot"](DRAFT)[-1]],
    ),
    "copilot, error without words": (
        "copilot",
        [STREAMS["copilot"](DRAFT)[0], {"type": "session.error"}, STREAMS["copilot"](DRAFT)[-1]],
    ),
    "copilot, message after the result": ("copilot", [*STREAMS["copilot"](FINAL), STREAMS["copilot"](DRAFT)[0]]),
    "copilot, two results": (
        "copilot",
        [STREAMS["copilot"](DRAFT)[0], {"type": "result", "exitCode": 1}, STREAMS["copilot"](DRAFT)[-1]],
    ),
}


@pytest.mark.parametrize(("name", "events"), UNFINISHED.values(), ids=UNFINISHED.keys())
def test_a_message_of_a_turn_that_failed_or_did_not_end_is_no_answer(name: str, events: Events) -> None:
    assert isinstance(read(name, "\n".join(lines_of(events))), AgentFailure)


def test_an_error_of_gemini_before_its_answer_or_of_an_author_does_not_take_the_answer_back() -> None:
    start, *rest = STREAMS["gemini"](FINAL)
    early, late = [start, GEMINI_ERROR, *rest], [start, *rest, GEMINI_ERROR]

    assert getattr(read("gemini", "\n".join(lines_of(early))), "text", "") == FINAL
    assert getattr(read("gemini", "\n".join(lines_of(late)), role="implement"), "text", "") == FINAL


def twice(line: str, key: str, other: object) -> list[str]:
    """The line with another value of a key before and behind its own."""
    value = json.dumps(json.loads(line)[key])
    own, more = f"{json.dumps(key)}: {value}", f"{json.dumps(key)}: {json.dumps(other)}"
    assert own in line
    return [line.replace(own, f"{more}, {own}"), line.replace(own, f"{own}, {more}")]


@pytest.mark.parametrize("name", STREAMS)
def test_an_event_that_gives_a_key_twice_is_no_answer(name: str) -> None:
    """Of such an event, each reader may take another value: an error and a success, two messages."""
    lines = lines_of(STREAMS[name](DRAFT, FINAL))
    whole = read(name, "\n".join(lines))
    assert isinstance(whole, AgentReply) and whole.text == FINAL

    for key in json.loads(lines[-1]):
        for line in twice(lines[-1], key, "other"):
            assert isinstance(read(name, "\n".join([*lines[:-1], line])), AgentFailure), line


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "result", "result": "a", "result": "b"}',
        '{"type": "message", "message": {"content": "a", "content": "b"}}',
        '{"type": "message", "content": [{"text": "a", "t\\u0065xt": "b"}]}',
    ],
)
def test_a_key_that_occurs_twice_at_any_depth_makes_its_line_unreadable(line: str) -> None:
    assert read_events(line).events == () and read_events(line).gaps == (0,)


@pytest.mark.parametrize("name", ["claude", "qwen", "amp", "cursor"])
def test_a_result_with_an_error_subtype_is_a_failure_whatever_its_flag_is(name: str) -> None:
    for subtype in ("error_max_turns", "error_during_execution", "Error"):
        result = {**STREAMS[name](DRAFT)[-1], "subtype": subtype, "is_error": False}
        assert isinstance(read(name, json.dumps(result)), AgentFailure)


APPROVAL, REJECTION = {"verdict": "approved", "number": "1"}, {"verdict": "rejected", "number": "1"}


@pytest.mark.parametrize(("name", "key"), [("claude", "structured_output"), ("qwen", "structured_result")])
@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (json.dumps(REJECTION), APPROVAL),
        (json.dumps(APPROVAL), REJECTION),
        ("So:\n```\n" + json.dumps(REJECTION) + "\n```", APPROVAL),
        ('{"verdic\\u0074": "rejected"}', APPROVAL),
        (json.dumps(APPROVAL), [REJECTION]),
        (json.dumps(APPROVAL), json.dumps(REJECTION)),
        ([REJECTION], APPROVAL),
    ],
)
def test_a_result_in_two_forms_that_disagree_is_no_answer(name: str, key: str, result: object, answer: object) -> None:
    event = {"type": "result", "subtype": "success", "result": result, key: answer}

    assert isinstance(read(name, json.dumps(event)), AgentFailure)


@pytest.mark.parametrize("name", RESULTS)
def test_a_reviewer_with_two_different_results_has_no_answer_and_an_author_reports_last(name: str) -> None:
    both = "\n".join(lines_of([STREAMS[name](FINAL)[-1], STREAMS[name](DRAFT)[-1]]))
    refused, taken = read(name, both), read(name, both, role="implement")

    assert isinstance(refused, AgentFailure) and "2 different results" in refused.what
    assert isinstance(taken, AgentReply) and taken.text == DRAFT


@pytest.mark.parametrize("name", [name for name in NAMES if name != "aider"])
def test_what_the_real_program_printed_is_still_read_with_separators_between(name: str) -> None:
    for case in ("implement", "review"):
        plain = AGENTS[name].read(spoken(name, case))
        told = spoken(name, case)
        noisy = AGENTS[name].read(spoken(name, case, stdout=told.stdout.replace("\n", "\r\n\u2028\n")))
        assert isinstance(plain, AgentReply) and isinstance(noisy, AgentReply) and plain.text == noisy.text


def test_aiders_answer_keeps_what_follows_a_separator() -> None:
    chat = "#### Review it.\nIt is wrong:\u2028> quoted\u2028and more.\n\n> Tokens: 10 sent, 5 received.\n"
    reply = AGENTS["aider"].read(FinishedCall(0, None, "exit", "", "", "review", files={"chat.md": chat}))

    assert isinstance(reply, AgentReply) and reply.text == "It is wrong:\u2028> quoted\u2028and more."


@given(st.text(max_size=200))
def test_no_text_raises_and_every_object_stands_on_one_line(text: str) -> None:
    found = read_events(text)

    assert len(found.events) <= text.count("\n") + 1
    assert all(0 <= gap <= len(found.events) for gap in found.gaps)
