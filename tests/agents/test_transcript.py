"""Transcripts: what each program's events become for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.agents.copilot import CopilotAgent
from burnish.agents.qwen import QwenAgent
from burnish.agents.registry import AGENTS
from burnish.agents.steps import (
    AnswerLines,
    ReportsSteps,
    RowBuilder,
    Said,
    Step,
    ToolEnded,
    ToolStarted,
    plain_command,
)
from burnish.agents.transcript import CUT, MAX_ROWS, read_rows, transcript_file, writer_for
from burnish.core.secrets import Secrets
from burnish.core.transcript import MAX_TEXT_LENGTH, Row, RowKind
from testing.attack_counts import CountAttacks

SAMPLES = Path(__file__).parent / "samples"
WITH_EVENTS = [name for name, agent in AGENTS.items() if isinstance(agent, ReportsSteps)]


def transcript(
    tmp_path: Path, name: str, stdout: str, redact: Callable[[str], str] = str
) -> tuple[list[str], list[Row]]:
    """The live lines, and the rows that were stored."""
    folder = tmp_path / "try-1"
    folder.mkdir(parents=True)
    (folder / "stdout").write_text(stdout)
    lines: list[str] = []
    writer = writer_for(
        AGENTS[name], folder, roots=("/w/repo",), redact=redact, on_row=lambda row: lines.append(row.line())
    )
    assert writer
    writer.finish()
    return lines, read_rows(transcript_file(folder))[0]


def events(*values: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def rows_of(*steps: Step, roots: tuple[str, ...] = ("/w/repo",)) -> list[Row]:
    builder = RowBuilder(roots)
    rows = [row for step in steps for row in builder.add(step)]
    return [row for row in (*rows, *builder.end()) if not row.is_running]


@pytest.mark.parametrize("name", ["claude", "gemini", "opencode", "copilot", "qwen"])
def test_an_author_that_writes_a_file_leaves_an_edit_and_its_last_words(tmp_path: Path, name: str) -> None:
    sample = json.loads((SAMPLES / f"{name}.json").read_text())
    lines, rows = transcript(tmp_path, name, sample["implement"]["stdout"])
    assert lines == ["editing hello.txt", "edited hello.txt", "All done."]
    assert [(row.kind, row.text, row.detail) for row in rows] == [
        ("edited", "hello.txt", "+hello"),
        ("said", "All done.", ""),
    ]


def test_codex_shows_the_command_without_the_shell_around_it(tmp_path: Path) -> None:
    sample = json.loads((SAMPLES / "codex.json").read_text())
    lines, rows = transcript(tmp_path, "codex", sample["implement"]["stdout"])
    assert lines[1:] == [
        "running cat > 'hello.txt' <<'END_OF_FILE'",
        "ran cat > 'hello.txt' <<'END_OF_FILE'",
        "All done.",
    ]
    assert [row.kind for row in rows] == ["error", "ran", "said"]
    assert rows[1].exit_code == 0


@pytest.mark.parametrize("name", [path.stem for path in SAMPLES.glob("*.json") if path.stem in WITH_EVENTS])
def test_no_row_of_a_real_program_is_an_event_itself(tmp_path: Path, name: str) -> None:
    sample = json.loads((SAMPLES / f"{name}.json").read_text())
    for number, stdout in enumerate(one["stdout"] for one in sample.values() if isinstance(one, dict)):
        lines, rows = transcript(tmp_path / str(number), name, stdout)
        assert all("\n" not in line and not line.startswith("{") for line in lines)
        assert not any('"type"' in row.text for row in rows)


TRACEBACK = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "app.py", line 6, in div
    raise NotImplementedError
NotImplementedError"""
# gemini and qwen report no exit code of a command that prints something
NO_EXIT_CODE = ("gemini", "qwen")
# it reports which files it changed, not the lines
NO_DIFF = ("codex",)


@pytest.mark.parametrize("name", WITH_EVENTS)
def test_the_work_of_a_real_program_reads_the_same_whichever_program_it_was(tmp_path: Path, name: str) -> None:
    sample = SAMPLES / f"{name}.json"
    if not sample.exists():
        pytest.skip("it was not run")
    lines, rows = transcript(tmp_path, name, json.loads(sample.read_text())["work"]["stdout"])
    # codex: its own warning about the scripted model
    rows = [row for row in rows if row.kind is not RowKind.ERROR]
    failed = "" if name in NO_EXIT_CODE else " (exit code 1)"
    changed_lines = "" if name in NO_DIFF else "-    raise NotImplementedError\n+    return a / b if b else None"
    assert [(row.line(), row.detail.removeprefix("[stderr]\n")) for row in rows] == [
        ("I will look at the existing code before I change it, and run it once to see what happens.", ""),
        ("read app.py", ""),
        (f"ran python3 -c 'import app; app.div(1, 2)'{failed}", TRACEBACK),
        ("edited app.py", changed_lines),
        ("ran python3 -c 'import app; print(app.div(1, 2))'", "0.5"),
        ("Division works now: I ran it with two numbers.", ""),
    ]
    # the message is a live line once, and whole
    assert [line for line in lines if line.startswith("I ")] == [rows[0].line()]


@pytest.mark.parametrize("name", NO_EXIT_CODE)
def test_a_command_that_fails_and_prints_nothing_has_its_exit_code(tmp_path: Path, name: str) -> None:
    output = "Command exited with code: 3"
    tool = {"type": "tool_use", "tool_id": "1", "tool_name": "run_shell_command", "parameters": {"command": "false"}}
    result: dict[str, Any] = {"type": "tool_result", "tool_id": "1", "status": "success", "output": output}
    if name == "qwen":
        use = {"type": "tool_use", "id": "1", "name": "run_shell_command", "input": {"command": "false"}}
        tool = {"type": "assistant", "message": {"content": [use]}}
        result = {"type": "tool_result", "tool_use_id": "1", "is_error": False, "content": output}
        result = {"type": "user", "message": {"content": [result]}}
    rows = transcript(tmp_path, name, events(tool, result))[1]
    assert [(row.line(), row.detail) for row in rows] == [("ran false (exit code 3)", "")]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("cat src/a.py", "read src/a.py"),
        ("sed -n '1,200p' a.py", "read a.py"),
        ("nl -ba a.py", "read a.py"),
        ("head -n 20 a.py", "read a.py"),
        ("cat a.py | sh", "ran cat a.py | sh"),
        ("cat a.py > b.py", "ran cat a.py > b.py"),
        ("cat -v", "ran cat -v"),
        ("sed -i s/a/b/ a.py", "ran sed -i s/a/b/ a.py"),
        ("cat $(touch x)", "ran cat $(touch x)"),
    ],
)
def test_a_command_that_only_prints_a_file_reads_it(command: str, line: str) -> None:
    rows = rows_of(ToolStarted("1", "Bash", {"command": command}), ToolEnded("1", "x = 1", exit_code=0))
    assert rows[0].line() == line
    assert rows[0].detail == ("" if line.startswith("read") else "x = 1")


def test_a_file_that_cannot_be_read_by_a_command_shows_why() -> None:
    steps = ToolStarted("1", "Bash", {"command": "cat a.py"}), ToolEnded("1", "cat: a.py: No such file", exit_code=1)
    assert [(row.line(), row.detail) for row in rows_of(*steps)] == [
        ("read a.py (exit code 1)", "cat: a.py: No such file")
    ]


def test_what_follows_the_line_of_a_row_is_indented() -> None:
    edit = Row(RowKind.EDITED, "a.py", "-x\n+y")
    assert [edit.line(), *edit.rest()] == ["edited a.py", "    -x", "    +y"]
    assert not [*Row(RowKind.EDITED, "a.py", "-x\n+y", is_running=True).rest()]
    said = Row(RowKind.SAID, "\nVerdict rejected: no\n\n- error: Zero\n")
    assert [said.line(), *said.rest()] == ["Verdict rejected: no", "    - error: Zero"]
    assert not [*Row(RowKind.SAID, "").rest()] and not [*Row(RowKind.THOUGHT, "one\ntwo").rest()]


def test_a_command_that_fails_shows_its_exit_code_and_the_end_of_its_output(tmp_path: Path) -> None:
    output = "\n".join(f"line {n}" for n in range(30))
    command = {"type": "command_execution", "id": "i", "command": "/bin/bash -lc 'cd /w/repo/api && make test'"}
    stdout = events(
        {"type": "item.started", "item": {**command, "status": "in_progress"}},
        {"type": "item.completed", "item": {**command, "aggregated_output": output, "exit_code": 2}},
    )
    lines, rows = transcript(tmp_path, "codex", stdout)
    assert lines == ["running cd api && make test", "ran cd api && make test (exit code 2)"]
    assert rows[0].detail.split("\n")[0] == "… 18 more lines" and rows[0].detail.endswith("line 29")


def test_pieces_of_a_message_are_one_row(tmp_path: Path) -> None:
    pieces = [{"type": "message", "role": "assistant", "content": text, "delta": True} for text in ("I wro", "te it.")]
    assert transcript(tmp_path, "gemini", events(*pieces))[0] == ["I wrote it."]


def test_the_content_of_a_file_that_was_read_is_not_shown_and_an_edit_is_a_small_diff() -> None:
    edit = {"file_path": "/w/repo/a.py", "old_string": "a - b\n", "new_string": "a + b\n"}
    rows = rows_of(
        ToolStarted("1", "Read", {"file_path": "/w/repo/a.py"}),
        ToolEnded("1", "def add(a, b):\n    return a - b"),
        ToolStarted("2", "Edit", edit),
        ToolEnded("2", "The file was updated"),
        ToolStarted("3", "Grep", {"pattern": "add", "path": "/w/repo"}),
        ToolStarted("4", "Bash", {"command": "cd /w/repo && pytest -q"}),
    )
    assert [(row.line(), row.detail) for row in rows] == [
        ("read a.py", ""),
        ("edited a.py", "-a - b\n+a + b"),
        ("searched for add", ""),
        ("ran pytest -q", ""),
    ]


def test_an_unknown_tool_is_named_and_a_question_is_asked() -> None:
    rows = rows_of(
        ToolStarted("1", "mcp__jira__get", {"query": "BUG-1"}),
        ToolStarted("2", "AskUserQuestion", {"questions": [{"question": "Which port?"}]}),
        Said("Let me think.", is_thought=True),
    )
    assert [row.line() for row in rows] == ["thinking: Let me think.", "used mcp__jira__get BUG-1", "asked Which port?"]
    assert rows[0].kind is RowKind.THOUGHT


def test_secrets_and_control_characters_are_not_stored(tmp_path: Path) -> None:
    message = {"type": "message", "role": "assistant", "content": "the key is k3y\x1b[2J"}
    lines, rows = transcript(tmp_path, "gemini", events(message), lambda text: text.replace("k3y", "[redacted]"))
    assert lines == [rows[0].text] == ["the key is [redacted]"]


def test_a_secret_is_removed_before_a_line_is_cut(tmp_path: Path) -> None:
    command = {"type": "command_execution", "id": "i", "command": "env", "aggregated_output": "x" * 195 + "k3y-k3y-k3y"}
    stdout = events({"type": "item.completed", "item": command})
    rows = transcript(tmp_path, "codex", stdout, lambda text: text.replace("k3y-k3y-k3y", "[key]"))[1]
    assert "k3y" not in rows[0].detail and rows[0].detail.startswith("xxx")


@pytest.mark.parametrize("cut_at", [1, 15, 29])
def test_a_secret_in_pieces_is_removed_before_a_message_is_cut(
    tmp_path: Path, cut_at: int, count_attacks: CountAttacks
) -> None:
    secret = "sk-test-0123456789-abcdefghijk"
    text = "x" * (MAX_TEXT_LENGTH - cut_at) + secret
    pieces = [text[: MAX_TEXT_LENGTH - 5], *text[MAX_TEXT_LENGTH - 5 :], " rest"]
    message = [{"type": "message", "role": "assistant", "content": piece, "delta": True} for piece in pieces]
    _, rows = transcript(tmp_path, "gemini", events(*message), lambda said: said.replace(secret, "[secret]"))
    # the keys of an object that a tool gets are text, too
    answer = {"type": "tool_use", "id": "t", "name": "StructuredOutput", "input": {text: 1}}
    event = {"type": "assistant", "message": {"content": [answer]}}
    _, more = transcript(tmp_path / "b", "claude", events(event), lambda said: said.replace(secret, "[secret]"))
    shown = [row.text for row in (*rows, *more) if secret[:cut_at] in row.text]
    count_attacks("see a cut secret in a transcript", 2, len(shown))
    assert len(rows) == len(more) == 1 and shown == []
    assert max(len(row.text) for row in (*rows, *more)) <= MAX_TEXT_LENGTH


def test_a_message_in_endless_pieces_is_bounded() -> None:
    builder = RowBuilder()
    for _ in range(300):
        assert not list(builder.add(Said("x" * 10_000, is_piece=True)))
    assert len(next(builder.end()).text) <= 1_010_000


def test_a_transcript_has_an_end_and_names_the_raw_output(tmp_path: Path) -> None:
    many = [{"type": "message", "role": "assistant", "content": f"row {n}"} for n in range(MAX_ROWS + 10)]
    rows = transcript(tmp_path, "gemini", events(*many))[1]
    assert len(rows) == MAX_ROWS + 1 and rows[-1].text == CUT


def test_an_event_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    deep = '{"type": "message", "content": ' + "[" * 900 + "]" * 900 + "}\n"
    message = {"type": "message", "role": "assistant", "content": "Done."}
    assert transcript(tmp_path, "gemini", deep + events(message))[0] == ["Done."]


def test_rows_are_read_on_from_where_the_last_read_ended(tmp_path: Path) -> None:
    file = tmp_path / "try-1-transcript.jsonl"
    file.write_text('{"kind": "said", "text": "one"}\n{"kind": "sai')
    rows, position = read_rows(file)
    assert [row.text for row in rows] == ["one"]
    with file.open("a") as more:
        more.write('d", "text": "two"}\n{"kind": "sung", "text": "of a later version"}\n')
    assert [row.text for row in read_rows(file, position)[0]] == ["two"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["assistant", "item.completed"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "item", "part", "data", "state", "id", "input", "name"]),
            inner,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", WITH_EVENTS)
@given(event=st.dictionaries(st.sampled_from(["type", "message", "item", "part", "data", "tool_call", "so_far"]), JSON))
def test_no_event_makes_a_reader_fail(name: str, event: dict[str, Any]) -> None:
    agent = AGENTS[name]
    assert isinstance(agent, ReportsSteps)
    builder = RowBuilder()
    rows = [row for step in agent.steps(event) for row in builder.add(step)]
    assert all(isinstance(row.line(), str) for row in (*rows, *builder.end()))


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("/bin/bash -lc 'cat app.py'", "cat app.py"),
        ('/bin/bash -lc "python3 -c \\"print(1)\\""', 'python3 -c "print(1)"'),
        ("bash -lc 'it'\\''s'", "it's"),
        ("bash run.sh", "bash run.sh"),
        ("sh -c 'not closed", "sh -c 'not closed"),
    ],
)
def test_the_shell_around_a_command_is_left_out_with_its_quotes(command: str, want: str) -> None:
    assert plain_command(command) == want


def test_the_verdict_of_a_review_is_shown_in_words() -> None:
    finding = {"severity": "error", "title": "Zero", "description": "b may be 0", "file": "app.py", "line": 6}
    answer = json.dumps({"verdict": "changes_requested", "summary": "Not yet.", "findings": [finding]})
    want = "Verdict changes_requested: Not yet.\n- error: Zero: b may be 0 (app.py:6)"
    block = f"I have looked.\n\n```burnish-verdict 0123\n{answer}\n```"
    rows = rows_of(
        Said(answer), Said(block), Said('{"port": 1}'), ToolStarted("1", "StructuredOutput", json.loads(answer))
    )
    assert [row.text for row in rows] == [want, f"I have looked.\n\n{want}", '{"port": 1}', want]
    assert rows[0].line() == "Verdict changes_requested: Not yet."


def test_a_thought_that_comes_again_after_the_message_is_one_row() -> None:
    thought = Said("**Looking**", is_thought=True)
    rows = rows_of(
        Said("**Look", is_piece=True, is_thought=True),
        Said("ing**", is_piece=True, is_thought=True),
        Said("Hi"),
        thought,
    )
    assert [row.line() for row in rows] == ["thinking: Looking", "Hi"]


def test_what_programs_add_to_the_output_of_a_command_is_left_out() -> None:
    def ended(content: str, *, is_error: bool = False) -> Row:
        part = {"type": "tool_result", "tool_use_id": "1", "content": content, "is_error": is_error}
        steps = QwenAgent().steps({"type": "user", "message": {"content": [part]}})
        return rows_of(ToolStarted("1", "Bash", {"command": "true"}), *steps)[-1]

    report = (
        "Command: true\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: 0\nProcess Group PGID: 7"
    )
    rows = [
        ended("(Bash completed with no output)"),
        ended(report.format("(empty)", 0)),
        ended(report.format("one", 3)),
    ]
    assert [(row.line(), row.detail) for row in rows] == [
        ("ran true", ""),
        ("ran true", ""),
        ("ran true (exit code 3)", "one"),
    ]
    data: dict[str, Any] = {"toolCallId": "1", "shellExecution": {"exitCode": 3}, "success": True}
    data["result"] = {"content": "one\n<shellId: 1 completed with exit code 3>"}
    steps = CopilotAgent().steps({"type": "tool.execution_complete", "data": data})
    row = rows_of(ToolStarted("1", "bash", {"command": "true"}), *steps)[-1]
    assert (row.line(), row.detail) == ("ran true (exit code 3)", "one")


def test_an_answer_that_is_given_by_a_tool_is_one_row(tmp_path: Path) -> None:
    call = {
        "type": "tool_use",
        "id": "t",
        "name": "StructuredOutput",
        "input": {"verdict": "approved", "summary": "Good."},
    }
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Structured output provided successfully"}
    stdout = events(
        {"type": "assistant", "message": {"content": [call]}}, {"type": "user", "message": {"content": [result]}}
    )
    lines, rows = transcript(tmp_path, "claude", stdout)
    assert lines == ["Verdict approved: Good."] and [row.text for row in rows] == lines


def test_output_has_relative_paths_and_keeps_the_folder_itself(tmp_path: Path) -> None:
    builder = RowBuilder(("/home/u/work",))
    list(builder.add(ToolStarted("1", "bash", {"command": "python /home/u/work/a.py"})))
    output = 'File "/home/u/work/src/a.py", line 3\n/home/u/work\n/home/u/worked/b'
    (row,) = builder.add(ToolEnded("1", output, 1))
    assert row.text == "python a.py"
    assert row.detail == 'File "src/a.py", line 3\n/home/u/work\n/home/u/worked/b'


def test_aider_prints_text_of_which_its_own_lines_are_left_out(tmp_path: Path) -> None:
    sample = json.loads((SAMPLES / "aider.json").read_text())
    lines, rows = transcript(tmp_path / "a", "aider", sample["implement"]["stdout"])
    assert lines[-1] == "edited hello.txt" and "All done." in rows[0].text
    assert [row.kind for row in rows] == ["said", "edited"]
    assert not any(word in rows[0].text for word in ("Aider v", "Repo-map", "HTTPSConnectionPool", "Tokens:"))

    lines, _ = transcript(tmp_path / "b", "aider", sample["401"]["stdout"])
    assert lines[0].startswith("litellm.AuthenticationError")

    verdict = '```burnish-verdict 1\n{"verdict": "approved", "summary": "It looks\nright."}\n```\n\nTokens: 1k sent.\n'
    lines, rows = transcript(tmp_path / "c", "aider", f"app.py\n\n{verdict}")
    assert lines == ["Verdict approved: It looks right."] and [row.text for row in rows] == lines


@pytest.mark.parametrize("key", ["input", "patch", "patchText"])
def test_a_patch_is_shown_with_its_file_and_its_lines(key: str) -> None:
    lines = "-    raise NotImplementedError\n+    return a / b"
    text = f"*** Begin Patch\n*** Update File: /w/app.py\n@@\n{lines}\n*** End Patch"
    builder = RowBuilder(("/w",))
    (row,) = builder.add(ToolStarted("1", "apply_patch", {key: text}))
    assert (row.text, row.detail) == ("app.py", lines)


def test_lines_of_an_answer_have_its_verdict_in_words() -> None:
    secret = "AKIA" + "Q7W3ERTYUIOPASD2"
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    verdict = f'{{"verdict": "rejected", "summary": "no {escaped}", "findings": []}}'
    printed = ["Hm.", "```burnish-verdict 7", verdict, "```", "```python", "x = 1", "```", verdict]
    answer = AnswerLines(Secrets.of({"KEY": secret}).redact)
    shown = [line for one in printed for line in answer.take(one)]
    assert [line.partition(":")[0] for line in shown] == [
        *("Hm.", "Verdict rejected", "```python", "x = 1", "```", "Verdict rejected"),
    ]
    assert secret not in "".join(shown)
    # a block that has no end stays as it was printed
    assert [answer.take(one) for one in printed[1:2]] == [[]]
    assert answer.end() == printed[1:2]
