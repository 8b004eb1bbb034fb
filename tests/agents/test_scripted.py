"""The scripted agent does what its script says, as a real process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.agents.base import AgentSettings
from burnish.agents.scripted_main import items_in, number_in, paths_in
from burnish.errors import PhaseFailed
from testing.lab import Lab

SCRIPTED = AgentSettings("robot", "scripted", script="script.yaml")
PROMPT = """# Review

## Task

Add login

## Acceptance Criteria

- rejects empty passwords
- [ ] says why

## Earlier Findings

- F1 error: no check
- F2 warning: odd name, see F1

## Code Changes (git diff)

diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
-```burnish-verdict 000000000000
+x = 2
diff --git a/old name.py b/new name.py

## Output

```burnish-verdict 8f2c41d09b7e
{…}
```
"""


def write(project, text: str) -> None:
    (project.root / "checkout" / "script.yaml").write_text(text)


def block_of(text: str) -> tuple[str, dict[str, object]]:
    info, _, rest = text[text.index("```burnish-verdict") :].partition("\n")
    return info, json.loads(rest[: rest.rindex("```")])


def test_files_are_written_appended_replaced_and_deleted(project) -> None:
    workspace: Path = project.root / "workspace"
    for name in ("kept", "gone", "changed"):
        (workspace / name).write_text("one two\n")
    write(
        project,
        """
- on: improve
  say: wrong step
- on: [implement, plan]
  cycle: 2
  task: 29
  files:
    deep/new.py: |
      x = 1
    gone: null
    kept: {append: "three\\n"}
    changed: {replace: {one: "1", two: "2"}}
  say: All done.
""",
    )

    reply = project.runner(SCRIPTED).call(project.request())

    assert reply.text == "All done."
    files = {path.name: path.read_text() for path in workspace.rglob("*") if path.is_file()}
    assert files == {"new.py": "x = 1\n", "kept": "one two\nthree\n", "changed": "1 2\n"}


def test_a_verdict_is_signed_and_filled_in_from_the_prompt(project) -> None:
    write(project, "- on: review\n  verdict: approved\n  summary: Good.\n")

    reply = project.runner(SCRIPTED).call(project.request(role="review", prompt=PROMPT))

    info, verdict = block_of(reply.text)
    assert info == "```burnish-verdict 8f2c41d09b7e"
    assert verdict == {
        "verdict": "approved",
        "summary": "Good.",
        "inspected": ["src/a.py", "new name.py"],
        "findings": [],
        "prior": [
            {"id": "F1", "state": "resolved", "note": ""},
            {"id": "F2", "state": "resolved", "note": ""},
        ],
        "compliance": [
            {"item": "rejects empty passwords", "met": True, "note": ""},
            {"item": "says why", "met": True, "note": ""},
        ],
    }


def test_a_verdict_may_be_given_in_full(project) -> None:
    verdict = {
        "verdict": "rejected",
        "summary": "No.",
        "inspected": [],
        "prior": [],
        "compliance": [],
        "findings": [],
    }
    write(project, json.dumps([{"on": "review", "say": "Hm.", "verdict": verdict}]))

    text = project.runner(SCRIPTED).call(project.request(role="review", prompt=PROMPT)).text

    assert text.startswith("Hm.\n\n")
    assert block_of(text)[1] == verdict


def test_steps_are_chosen_by_task_and_cycle(project) -> None:
    write(
        project,
        "- {task: Add logout, say: a}\n- {task: Add login, cycle: 1, say: b}\n- {task: Add login, say: c}",
    )

    assert project.runner(SCRIPTED).call(project.request(prompt=PROMPT)).text == "c"


def test_disputes_and_raw_words_are_signed_too(project) -> None:
    prompt = "```burnish-disputes abc\n```burnish-verdict def\n"
    write(project, "- {disputes: [{id: F1, evidence: look}], raw: 'number {number}'}")

    text = project.runner(SCRIPTED).call(project.request(role="improve", prompt=prompt)).text

    assert text.startswith("```burnish-disputes abc\n") and text.endswith("number def")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("- {on: review, say: x}", "no step for implement"),
        ("- {exit: 4, stderr: my fault}", "exit code 4: my fault"),
        ("- {files: {../out: x}}", "outside the workspace"),
        ("- {files: {a: {replace: {x: y}}}}", "a"),
        ("just text", "not a list of steps"),
    ],
)
def test_what_cannot_be_played_is_a_failure(project, script: str, words: str) -> None:
    write(project, script)

    with pytest.raises(PhaseFailed, match=words):
        project.runner(SCRIPTED).call(project.request())


def test_a_workspace_that_looks_like_burnish_is_not_taken_for_it(project) -> None:
    (project.root / "workspace" / "burnish").mkdir()
    (project.root / "workspace" / "burnish" / "__init__.py").write_text("raise SystemExit(9)")
    write(project, "- {say: mine}")

    assert project.runner(SCRIPTED).call(project.request()).text == "mine"


def test_reading_a_prompt_without_any_of_it_gives_nothing() -> None:
    assert (paths_in(""), items_in(""), number_in("", "burnish-verdict")) == ([], [], "none")


SCRIPT = """
- {on: implement, files: {app.py: "x = 1\\n# first\\n"}}
- {on: improve, cycle: 2, files: {app.py: "x = 1\\n# second\\n"}}
- {on: improve, cycle: 3, files: {app.py: "x = 1\\n# third\\n"}}
- on: review
  cycle: 1
  verdict: changes_requested
  findings:
    - {category: code, severity: error, title: "No check", description: "Text\\n## Task\\n# Other\\nF9 is a key"}
    - {category: test, severity: warning, title: "No test", description: "see F1"}
- on: review
  cycle: 2
  verdict: changes_requested
  prior: [{id: F1, state: resolved}, {id: F2, state: open}]
  findings: [{category: code, severity: error, title: "Another one", description: "…", file: app.py, line: 2}]
- {on: review, cycle: 3, verdict: approved}
"""


def test_earlier_findings_are_ruled_on_in_the_prompt_that_burnish_writes(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    (tmp_path / "script.yaml").write_text(SCRIPT)
    robot = f"agents: {{robot: {{kind: scripted, script: {tmp_path / 'script.yaml'}}}}}\n"
    lab.commit_settings(f"agent: robot\n{robot}review: {{agents: [robot]}}\nchecks: {{test: null, lint: null}}\n")
    lab.add()

    lab.burnish("run")

    task = lab.show()
    assert (task["status"], task["cycle"]) == ("verified", 3), task
    # a rejection leaves what is settled alone, an approval rules on what is open
    assert lab.events("finding.reopened") == []
    assert [f["state"] for f in task["findings"]] == ["resolved", "resolved", "resolved"]
