"""Suggestions that are applied: a commit by a person on the task's branch, which is judged next."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from burnish.core.finding import COMMENT_RULE, Category, Finding, Remark, Severity
from burnish.core.suggestion import SplitComment, as_block, find_lines, proposal, replaced, split_comment
from testing.at_hand import AtHand, at_hand
from testing.lab import APPROVE, Lab

FIXED = "    return a / b if b else None"
SUGGESTS = f"Zero is not handled.\n```suggestion\n{FIXED}\n```"


@pytest.fixture
def lab(tmp_path: Path, hermetic: object) -> Lab:
    """Task 1 waits for a person; the review has approved it."""
    made = Lab.make(tmp_path, judge=APPROVE, extra="approval: required\n")
    made.repo.git("config", "user.name", "Mia Meier")
    made.add("Add division")
    made.burnish("run", "1", code=1)
    return made


def comment(server: AtHand, text: str, line: int = 4, **where: Any) -> None:
    blob = server.lab.repo.git("rev-parse", f"{server.lab.show(1)['branch']}:app.py")
    body = {"path": "app.py", "blob": blob, "line": line, "text": text, **where}
    assert server.of_project("POST", "/tasks/1/draft/comments", body).status_code == 200


def send(server: AtHand, verdict: str = "comment", **more: Any) -> None:
    body = {"verdict": verdict, "commit": server.lab.show(1)["commit"], **more}
    assert server.of_project("POST", "/tasks/1/draft/send", body).status_code == 200


def apply(server: AtHand, *ids: str, commit: str = "") -> Any:
    tip = commit or server.lab.repo.git("rev-parse", str(server.lab.show(1)["branch"]))
    return server.of_project("POST", "/tasks/1/apply", {"findings": list(ids), "commit": tip})


def content(lab: Lab, path: str = "app.py") -> str:
    return lab.repo.git("show", f"{lab.show(1)['branch']}:{path}")


def test_an_applied_suggestion_is_a_commit_of_the_person_that_is_checked_and_reviewed(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        send(server)
        send(server, "approve")
        assert lab.show(1)["status"] == "verified"
        answer = apply(server, "F1")
        assert answer.status_code == 200, answer.text
        assert answer.json()["task"]["status"] == "code_review", "the approval is void"
    assert FIXED in content(lab)
    commit = lab.repo.git("log", "-1", "--format=%an%n%B", str(lab.show(1)["branch"]))
    assert commit.startswith("Mia Meier\n")
    assert "Burnish-Task: 1" in commit and "Burnish-Findings: F1" in commit
    (finding,) = lab.show(1)["findings"]
    assert finding["state"] == "open", "a review or a person resolves it"
    assert answer.json()["commit"][:12] in finding["replies"][-1]["text"]
    calls = len(lab.calls())
    lab.burnish("run", "1", code=1)
    phases = [call["phase"] for call in lab.calls()[calls:]]
    assert phases == ["review"], "the author is not asked for work that a person did"
    assert lab.show(1)["commit"] == answer.json()["commit"]


def test_several_suggestions_are_one_commit_and_keep_their_lines(lab: Lab) -> None:
    before = content(lab).split("\n")
    with at_hand(lab) as server:
        comment(server, "```suggestion\n# one\n# two\ndef div(a, b):\n```", 3)
        comment(server, SUGGESTS)
        comment(server, "```suggestion\n```", 1, end_line=2)
        send(server)
        tip = lab.repo.git("rev-parse", str(lab.show(1)["branch"]))
        assert apply(server, "F1", "F2", "F3").status_code == 200
    assert lab.repo.git("rev-list", "--count", f"{tip}..{lab.show(1)['branch']}") == "1"
    assert content(lab).split("\n") == ["# one", "# two", "def div(a, b):", FIXED, *before[4:]]


def test_lines_that_changed_since_are_refused_and_nothing_is_committed(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        comment(server, SUGGESTS)
        comment(server, "No block.")
        comment(server, "```suggestion\na\n```\n```suggestion\nb\n```")
        send(server)
        refused = apply(server, "F1", "F2")
        assert refused.status_code == 409 and "same line" in refused.json()["title"]
        assert apply(server, "F1").status_code == 200
        tip = lab.repo.git("rev-parse", str(lab.show(1)["branch"]))
        refused = apply(server, "F2")
        assert refused.status_code == 409 and "have changed" in refused.json()["title"], refused.text
        for id in ("F3", "F4"):
            assert apply(server, id).status_code == 409
        assert apply(server, "F9").status_code == 404
        assert apply(server, "F2", commit="0" * 40).status_code == 409
        assert lab.repo.git("rev-parse", str(lab.show(1)["branch"])) == tip


def test_two_people_who_apply_at_once_make_one_commit(lab: Lab) -> None:
    codes: list[int] = []
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        send(server)
        tip = lab.repo.git("rev-parse", str(lab.show(1)["branch"]))
        threads = [
            threading.Thread(target=lambda: codes.append(apply(server, "F1", commit=tip).status_code)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(codes) == [200, 409, 409, 409]
    assert lab.repo.git("rev-list", "--count", f"{tip}..{lab.show(1)['branch']}") == "1"


def test_an_author_with_more_to_do_continues_from_the_applied_commit(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        comment(server, "Add a comment on top.", 1)
        send(server, "request_changes")
        assert apply(server, "F1").json()["task"]["status"] == "in_progress"
    lab.agent("robot", 'app.write_text("# on top\\n" + app.read_text())')
    lab.burnish("run", "1", code=1)
    assert content(lab).startswith("# on top\n") and FIXED in content(lab)
    prompt = [call["prompt"] for call in lab.calls() if call["phase"] == "improve"][-1]
    assert "Applied the suggestion in commit" in prompt


def test_a_task_whose_only_request_is_applied_goes_to_its_review(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        send(server, "request_changes")
        assert apply(server, "F1").json()["task"]["status"] == "code_review"


def test_the_terminal_applies_and_is_refused_inside_a_phase(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        send(server)
    tip = lab.repo.git("rev-parse", str(lab.show(1)["branch"]))
    inside = lab.apart("apply", "1", "F1", code=4, BURNISH_TASK="4")
    assert "phase" in inside.err
    assert lab.repo.git("rev-parse", str(lab.show(1)["branch"])) == tip
    done = lab.burnish("apply", "1", "F1")
    assert done.out.startswith("Applied F1 to task 1: commit ")


def test_a_request_without_the_key_of_the_page_is_refused(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, SUGGESTS)
        send(server)
        _, page = server.browser()
        headers = {name: value for name, value in page.items() if name != "X-Burnish-Key"}
        where = f"/api/v1/projects/{server.project}/tasks/1/apply"
        body = {"findings": ["F1"], "commit": lab.show(1)["commit"]}
        assert server.client.post(where, json=body, headers=headers).status_code in (401, 403)


def test_a_secret_is_not_committed(lab: Lab) -> None:
    with at_hand(lab) as server:
        comment(server, '```suggestion\nkey = "AKIAQ7HZ4NW2XPLM6TKD"\n```')
        send(server)
        assert apply(server, "F1").status_code == 409
    assert "AKIA" not in content(lab) and "[secret" not in content(lab)


def finding(file: str | None, quote: str, suggestion: str, *, rule: str = COMMENT_RULE, line: int = 1) -> Finding:
    remark = Remark(Category.CODE, Severity.ERROR, "t", "", suggestion, file, line, quote=quote, rule=rule)
    return Finding("F1", remark)


@pytest.mark.parametrize(
    "lines",
    [(), ("",), ("a", "```", "b"), ("```suggestion", "x", "```"), ("`````", "```suggestion"), ("  a", "", "b")],
)
def test_a_suggestion_may_contain_fences(lines: tuple[str, ...]) -> None:
    found = split_comment(f"before\n{as_block(lines)}\nafter")
    assert found.blocks == (lines,) and found.text == "before\nafter"


def test_an_open_block_is_text_and_other_blocks_are_left_alone() -> None:
    assert split_comment("```suggestion\nx").blocks == ()
    assert split_comment("```python\nx\n```").blocks == ()
    assert split_comment("````suggestion\n```\nx\n```\n````").blocks == (("```", "x", "```"),)
    assert split_comment("```suggestion\r\nx\r\n```\r\n").blocks == (("x",),)


def test_prose_of_a_reviewer_is_never_taken_for_code() -> None:
    assert proposal(finding("a.py", "x", "Return None.", rule="")) is None
    assert proposal(finding("a.py", "", as_block(["y"]))) is None
    assert proposal(finding(None, "x", as_block(["y"]))) is None
    assert proposal(finding("a.py", "x", as_block(["y"]) + "\n\n" + as_block(["z"]))) is None


def test_lines_are_found_where_they_moved_to_unless_that_is_not_one_place() -> None:
    wanted = proposal(finding("a.py", "b", as_block(["B"]), line=2))
    assert wanted is not None
    assert find_lines("a\nb\nb\n", wanted) == 1
    assert find_lines("a\na\nb\n", wanted) == 2
    assert find_lines("b\na\nb\n", wanted) is None
    assert find_lines("a\n", wanted) is None


def test_line_ends_and_a_missing_last_one_stay() -> None:
    wanted = proposal(finding("a.py", "b", as_block(["x", "y"]), line=2))
    assert wanted is not None
    assert replaced("a\r\nb\r\nc", [(1, wanted)]) == "a\r\nx\r\ny\r\nc"
    assert replaced("a\nb", [(1, wanted)]) == "a\nx\ny"


def test_a_comment_of_many_open_suggestions_is_read_at_once() -> None:
    start = time.process_time()
    text = "```suggestion\n" * 40_000
    assert split_comment(text) == SplitComment(text, ())
    assert split_comment("````suggestion\n```suggestion\nx\n```").blocks == (("x",),)
    assert time.process_time() - start < 10
