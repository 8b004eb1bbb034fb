"""What each real program must do, and must not: trials against a model whose every move is written here."""

from __future__ import annotations

import json
import re
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

from burnish.core.review import Review, Verdict
from burnish.core.status import ErrorCode
from burnish.proc.run import Stop
from burnish.review import contract
from testing.lab import Lab
from testing.model_turns import Answer, Brain, Cut, Hang, Move, Refuse, Say, Shell, Turn, Write
from tools.agent_bench import Bench, bench, script
from tools.agent_programs import Program

NUMBER = "8f2c41d09b7e"
APPROVAL = {
    "number": NUMBER,
    "verdict": "approved",
    "summary": "Looks right.",
    "inspected": ["app.py"],
    "prior": [],
    "compliance": [],
    "findings": [],
    "blocking": None,
    "rejection_reason": None,
}


# the trials: each gives a remark for the table, or raises AssertionError


def implements(program: Program) -> str:
    with bench(program, script()) as it:
        target = it.repo.path / "hello.txt"
        it.server.brain = editing(program, target)
        reply = it.call(seconds=120)
        assert target.exists() and target.read_text() == "hello\n", f"hello.txt: {target.exists()}; {reply.text[:200]}"
        assert "All done" in reply.text, reply.text[:300]
        cost = "" if reply.cost_usd is None else f", ${reply.cost_usd:.4f}"
        return f"{reply.tokens} tokens{cost}"


def editing(program: Program, target: Path) -> Brain:
    if program.name == "aider":  # its edits are text
        return script(Say(f"{target.name}\n```\nhello\n```\n\nAll done."))
    return script(Write(str(target), "hello\n"), Say("All done."))


def reads_only(program: Program) -> str:
    """Whatever the model tries and the user allows."""
    with bench(program, script(), generous=True) as it:
        inside, outside = it.repo.path / "leak.txt", it.root / "home" / "leak.txt"
        shell = f"echo x > {inside}; git commit -q --allow-empty -m leak; git log --output={inside}; echo x > {outside}"
        tries = (Write(str(inside), "x\n"), Shell(shell), Write(str(outside), "x\n"), Say("I have looked."))
        if program.name == "aider":
            tries = (Say("leak.txt\n```\nx\n```\n\nI have looked."),)  # type: ignore[assignment]
        it.server.brain = script(*tries)
        before = it.fingerprint()
        reply = it.call(read_only=True, seconds=120)
        assert it.fingerprint() == before, "the repository was changed"
        assert not outside.exists() and not inside.exists(), "it wrote a file"
        assert "I have looked" in reply.text, reply.text[:300]
        return f"{len(it.server.turns)} turns"


def answers(program: Program) -> str:
    """A review that can be read: by schema where the program has it, as a block where not."""
    expect = contract.Expect(source="it")
    with bench(program, script(Answer(APPROVAL))) as it:
        if program.schema:
            schema = json.dumps(contract.json_schema())
            reply = it.call(read_only=True, schema=schema, number=NUMBER, seconds=120)
            read = contract.read_schema(reply.text, NUMBER, expect=expect)
        else:
            it.server.brain = script(said_block())
            read = contract.read(it.call(read_only=True, seconds=120).text, NUMBER, expect=expect)
        assert isinstance(read, Review) and read.verdict is Verdict.APPROVED, read
        return "schema" if program.schema else "block"


def said_block() -> Say:
    body = json.dumps({key: value for key, value in APPROVAL.items() if key != "number"})
    return Say(f"I have looked.\n\n```burnish-verdict {NUMBER}\n{body}\n```\n")


def loops(program: Program) -> str:
    """Reject, fix, approve: the whole of `burnish run`, this program in every role."""
    with bench(program, script()) as it:
        lab = Lab(it.root, it.repo, {**it.env, "BURNISH_HOME": str(it.root / "home" / "burnish")})
        roles = f"agent: {program.name}\nagents: {{{program.name}: {{model: {program.model}}}}}\n"
        review = f"review: {{agents: [{program.name}]}}\nchecks: {{test: null, lint: null}}\n"
        lab.repo.commit({"burnish.yaml": roles + review}, "settings")
        it.server.brain = whole_story(program)
        lab.add("Add a division to app.py")
        said = lab.burnish("run", "1", code=None)
        task = lab.task(1)
        assert task["status"] == "verified", f"{task['status']}: {said.out[-500:]} {said.err[-500:]}"
        assert task["cycle"] == 2, f"cycle {task['cycle']}"
        return f"{len(it.server.turns)} turns"


GOOD = "def add(a, b):\n    return a + b\n\n\ndef div(a, b):\n    return a / b if b else None\n"
BAD = GOOD.replace(" if b else None", "  # BUG")


def whole_story(program: Program) -> Brain:
    def brain(turn: Turn) -> Move:
        number = re.search(r"burnish-verdict ([0-9a-f]{12,})", turn.prompt)
        if number:
            bad = bool(re.search(r"^\+.*# BUG", turn.prompt, re.MULTILINE))
            return _judgement(turn, number[1], bad)
        fix = "# BUG" in turn.prompt or "Zero is not handled" in turn.prompt
        text = GOOD if fix else BAD
        if program.name == "aider":
            return Say(f"app.py\n```\n{text}```\n\nAll done.")
        return Shell(f"cat > app.py <<'END_OF_FILE'\n{text}END_OF_FILE\n") if turn.number == 0 else Say("All done.")

    return brain


def _judgement(turn: Turn, number: str, bad: bool) -> Move:
    flaw = {"category": "code", "severity": "error", "title": "Zero is not handled", "description": "b may be 0"}
    place = {"file": "app.py", "line": 6, "quote": "return a / b  # BUG"}
    rest = dict.fromkeys(("suggestion", "rule", "end_line", "confidence"))
    ids = sorted(set(re.findall(r"\bF[0-9]+\b", turn.prompt)))
    prior = [{"id": id_, "state": "open" if bad else "resolved", "note": None} for id_ in ids]
    value = {**APPROVAL, "number": number, "verdict": "changes_requested" if bad else "approved", "prior": prior}
    value["findings"] = [{**flaw, **place, **rest}] if bad else []
    if turn.tools and any(name in turn.tools for name in ("StructuredOutput", "structured_output")):
        return Answer(value)
    if turn.body.get("text", {}).get("format", {}).get("type") == "json_schema":
        return Answer(value)
    return Say(f"```burnish-verdict {number}\n{json.dumps(value)}\n```\n")


def refuses(status: int, *, retryable: bool) -> Callable[[Program], str]:
    def trial(program: Program) -> str:
        with bench(program, script(Refuse(status))) as it:
            if status == 401:
                it.key = "bad-key"
            return _failed(it, retryable=retryable)

    return trial


def cut_off(program: Program) -> str:
    with bench(program, script(Cut())) as it:
        return _failed(it, retryable=True)


def _failed(it: Bench, *, retryable: bool) -> str:
    endless = it.program.endless and retryable
    failure = it.failure(seconds=45 if endless else 150)
    assert failure.code is (ErrorCode.TIMEOUT if endless else ErrorCode.AGENT_FAILED), failure
    assert failure.retryable is retryable, f"retryable={failure.retryable}: {failure.what}"
    return "by the clock alone" if endless else failure.what[:120]


def hangs(program: Program) -> str:
    """A server that takes the request and says nothing: our own clock ends it, and all of it."""
    with bench(program, script(Hang(60))) as it:
        failure = it.failure(seconds=25)
        assert failure.code is ErrorCode.TIMEOUT, failure
        assert it.server.turns, "it never asked the model"
        assert not it.left(), it.left()
        return ""


def stops(program: Program) -> str:
    """Asked to stop in the middle: gone within five seconds, children too."""
    with bench(program, script(Hang(60))) as it:
        stop, asked = Stop(), []

        def ask() -> None:
            until = time.monotonic() + 30
            while not it.server.turns and time.monotonic() < until:
                time.sleep(0.05)
            asked.append(time.monotonic())
            stop.request()

        thread = threading.Thread(target=ask)
        thread.start()
        failure = it.failure(seconds=60, stop=stop)
        took = time.monotonic() - asked[0]
        thread.join()
        assert failure.code is ErrorCode.INTERRUPTED, failure
        assert took < 6 and not it.left(), f"{took:.1f} s, left: {it.left()}"
        return f"gone in {took:.1f} s"


def ignores_repository(program: Program) -> str:
    """What the repository brings along for the program to run is not run, in either role."""
    if not program.hostile:
        return "no such settings"
    with bench(program, script(Say("Nothing to do."))) as it:
        mark = it.root / "home" / "mark"
        it.repo.commit({path: text.replace("{mark}", str(mark)) for path, text in program.hostile.items()})
        link = it.root / "link"
        link.symlink_to(it.repo.path)
        for read_only, cwd in ((True, it.repo.path), (False, it.repo.path), (False, link)):
            it.call(read_only=read_only, cwd=cwd, seconds=120)
            assert not mark.exists(), f"settings of the repository were run (read_only={read_only})"
        # a trap that never snaps proves nothing
        it.by_hand()
        assert mark.exists(), "started by hand it does not run them either: the trial shows nothing"
        return ", ".join(program.hostile)


def starts(program: Program) -> str:
    """Seconds for one word, the median of three."""
    times = []
    with bench(program, script(Say("Yes."))) as it:
        for _ in range(3):
            begun = time.monotonic()
            it.call(read_only=True, seconds=120)
            times.append(time.monotonic() - begun)
    return f"{statistics.median(times):.1f} s"


TRIALS: dict[str, Callable[[Program], str]] = {
    "implements": implements,
    "reads only": reads_only,
    "review read": answers,
    "reject, fix, approve": loops,
    "401": refuses(401, retryable=False),
    "404": refuses(404, retryable=False),
    "429": refuses(429, retryable=True),
    "500": refuses(500, retryable=True),
    "cut stream": cut_off,
    "hang": hangs,
    "stop": stops,
    "hostile settings": ignores_repository,
    "start-up": starts,
}
