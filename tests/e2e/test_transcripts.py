"""What agents said and did, as `burnish log`, `run -v` and the API show it."""

from __future__ import annotations

from pathlib import Path

from testing.at_hand import at_hand
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path

# Before the result of the program: a look at a file, an edit, a command that fails, and a secret of the environment.
WORK = """
import json, os, pathlib
def event(kind, *parts):
    print(json.dumps({"type": kind, "message": {"id": "m", "content": list(parts)}}), flush=True)
def use(id, name, **values):
    return {"type": "tool_use", "id": id, "name": name, "input": values}
def end(id, text, failed=False):
    return {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}
path = str(pathlib.Path("app.py").resolve())
event("assistant", {"type": "text", "text": "I will look first."}, use("1", "Read", file_path=path))
event("user", end("1", "CONTENT OF THE FILE"))
event("assistant", use("2", "Bash", command=f"cat {path}; echo " + "s3cr3t" + "-value-1"))
event("user", end("2", "Exit code 2\\nno such file", True))
"""


def worked(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path)
    put_on_path(lab, "agent: claude\nreview: {agents: [claude]}", WORK + PROGRAM)
    lab.env |= {"ANTHROPIC_API_KEY": "s3cr3t-value-1"}
    lab.add("Add division")
    return lab


def test_the_log_shows_what_was_done_and_raw_what_was_printed(tmp_path: Path) -> None:
    lab = worked(tmp_path)
    live = lab.burnish("run", "1", "-v").err
    assert "│ I will look first." in live and "│ read app.py" in live and "CONTENT" not in live
    # the end of what a command printed, as `log` shows it
    assert "(exit code 2)\n    │     no such file\n" in live

    log = lab.burnish("log", "1").out
    author = log[: log.index("── cycle 1 review")].split("\n")
    assert author[:5] == [
        "── cycle 1 implement, attempt 1 ──",
        "I will look first.",
        "• read app.py",
        "• ran cat app.py; echo [secret: value of ANTHROPIC_API_KEY removed] (exit code 2)",
        "    no such file",
    ]
    assert "{" not in "".join(author) and "s3cr3t" not in log
    raw = lab.burnish("log", "1", "--raw").out
    assert '{"type": "system", "subtype": "init"}' in raw and "• read" not in raw


def test_the_api_gives_the_rows_after_a_number(tmp_path: Path) -> None:
    lab = worked(tmp_path)
    lab.burnish("run", "1")
    with at_hand(lab) as server:
        rows = server.of_project("GET", "/tasks/1/transcript").json()["rows"]
        first = {key: rows[1][key] for key in ("number", "cycle", "phase", "kind", "text")}
        assert first == {"number": 2, "cycle": 1, "phase": "implement", "kind": "read", "text": "app.py"}
        assert {row["reviewer"] for row in rows} == {None, "claude"}
        assert server.of_project("GET", "/tasks/1/transcript?since=2").json()["rows"] == rows[2:]
        log = next(
            one for one in server.of_project("GET", "/tasks/1/logs").json()["logs"] if one["kind"] == "transcript"
        )
        assert (
            server.of_project("GET", f"/tasks/1/logs/{log['name']}").json()["text"].startswith("I will look first.\n")
        )


def test_the_transcript_of_a_call_whose_run_was_killed_is_completed(tmp_path: Path) -> None:
    lab = worked(tmp_path)
    lab.apart("run", "1", code=-9, BURNISH_FAILPOINT="review-replied")
    (transcript,) = (lab.root / "home").rglob("*review*/**/*-transcript.jsonl")
    rows = transcript.read_text()
    transcript.write_text(rows[:-20])
    lab.burnish("run", "1", code=None)
    assert transcript.read_text() == rows
    assert "{" not in lab.burnish("log", "1").out
