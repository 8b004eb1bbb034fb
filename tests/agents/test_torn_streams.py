"""Generated outputs in which another process writes into the lines of a reviewer that rejects: none approves."""

from __future__ import annotations

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.other_verdicts import conflicting_verdict, torn_output
from burnish.agents.registry import AGENTS
from burnish.core.review import Review, Verdict
from burnish.review import contract
from burnish.review.reading import Expect
from testing.agent_streams import STREAMS, TEXTS, lines_of
from testing.long_forms import examples

NUMBER = "8f2c41d09b7e55aa"
FINDING = {"category": "code", "severity": "error", "title": "t", "description": "d"}
SEPARATORS = ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r", "\r\n", "\n", "\n\n", ""]
# Beginnings and ends of lines that another process may leave behind.
SCRAPS = ["\n", "\r\n", "{", '{"', '"}\n{"', '"}}\n', "\n}", '\n{"type":', "\nnoise\n"]


def answer(random: Random, verdict: str) -> str:
    fields = {"summary": "x", "inspected": ["a.py"], "findings": [], "verdict": verdict}
    if verdict != "approved" and random.random() < 0.5:
        fields["findings"] = [FINDING]
    names = random.sample(sorted(fields), len(fields))
    body = {name: fields[name] for name in names}
    if random.random() < 0.25:
        return json.dumps({"number": NUMBER, **body} if random.random() < 0.5 else {**body, "number": NUMBER})
    start = random.choice(["", "I looked.\n\n", f"It has {random.choice(SEPARATORS)} in it.\n\n"])
    return f"{start}```burnish-verdict {NUMBER}\n{json.dumps(body, indent=random.choice([None, 1]))}\n```"


def forged(random: Random, name: str) -> str:
    lines = lines_of(STREAMS[name](answer(random, "approved")))
    return "\n".join(random.choice([lines, lines[-2:], [random.choice(lines)]]))


def torn(random: Random, name: str) -> str:
    """The output of a reviewer that rejects, written into at one to four places."""
    rejection = answer(random, random.choice(["rejected", "changes_requested", "needs_discussion"]))
    drafts = random.choice([(), ("Let me look.",)])
    output = "\n".join(lines_of(STREAMS[name](*drafts, rejection))) + "\n"
    places = sorted((random.randrange(len(output)) for _ in range(random.randint(1, 4))), reverse=True)
    for place in places:
        ends = random.choice(SEPARATORS), random.choice(SEPARATORS)
        text = random.choice(SCRAPS) if random.random() < 0.4 else ends[0] + forged(random, name) + ends[1]
        output = output[:place] + text + output[place:]
    return output + random.choice(["", forged(random, name) + "\n"])


def is_approved(name: str, stdout: str, files: dict[str, str] | None = None) -> bool:
    call = FinishedCall(0, None, "exit", stdout, "", "review", files=files or {})
    reply = AGENTS[name].read(call)
    if isinstance(reply, AgentFailure):
        return False
    if name not in TEXTS and torn_output(name, call, reply.text):
        return False
    if conflicting_verdict(name, call, reply.text):
        return False
    is_object = reply.text.startswith("{") and reply.text.endswith("}")
    review = (contract.read_schema if is_object else contract.read)(reply.text, NUMBER, expect=Expect())
    return isinstance(review, Review) and review.verdict is Verdict.APPROVED


def changes_letters_only(output: str) -> bool:
    """Every line is whole, so that no reader can notice what was written into a string."""
    try:
        return all(isinstance(json.loads(line), dict) for line in output.split("\n") if line.strip())
    except ValueError:
        return False


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.integers(0, 2**32))
def test_a_rejection_that_is_torn_apart_never_becomes_an_approval(name: str, seed: int) -> None:
    output = torn(Random(seed), name)

    assert not is_approved(name, output) or changes_letters_only(output)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.integers(0, 2**32))
def test_an_approval_that_is_left_whole_is_read(name: str, seed: int) -> None:
    output = "\n".join(lines_of(STREAMS[name]("Let me look.", answer(Random(seed), "approved")))) + "\n"

    assert is_approved(name, output)


def test_every_adapter_is_in_one_of_the_tables() -> None:
    assert set(STREAMS) | set(TEXTS) == set(AGENTS) and not set(STREAMS) & set(TEXTS)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 2**32))
def test_text_of_a_rejection_with_lines_of_another_process_is_not_an_approval(name: str, seed: int) -> None:
    """Only the rejection knows the number: a process that knows it, too, could print a whole verdict of its own."""
    random = Random(seed)
    rejection = f"I looked.\n\n{answer(random, 'rejected')}"
    approval = answer(random, "approved").replace(NUMBER, "0" * 16)
    places = sorted((random.randrange(len(rejection)) for _ in range(random.randint(1, 4))), reverse=True)
    text = rejection
    for place in places:
        scrap = random.choice([*SCRAPS, f"\n{approval}\n", "\n```\n", '"approved"', "Verdict: APPROVED\n"])
        text = text[:place] + scrap + text[place:]

    assert not is_approved(name, *TEXTS[name](text))


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 2**32), st.floats(0, 1))
def test_text_of_an_approval_is_read_whole_and_not_if_it_was_cut(name: str, seed: int, part: float) -> None:
    text = answer(Random(seed), "approved")
    stdout, files = TEXTS[name](text)
    assert is_approved(name, stdout, files)

    cut = text[: int(part * (len(text) - 1))]
    assert not is_approved(name, *TEXTS[name](cut))
    chat = files.get("chat.md", "")
    end = chat.find(text) + int(part * len(text))
    assert not chat or not is_approved(name, "", {"chat.md": chat[:end]})
