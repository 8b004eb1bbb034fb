"""Several reviewers, and steps of the pipeline after them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

ADDS = 'app.write_text(app.read_text() + f"# {phase} {cycle}\\n")'
REJECT = 'print(verdict("changes_requested", f"no, says {NAME}", [{**flaw, "title": f"Flaw of {NAME}"}]))'
DIES = "sys.exit(3)"
# more than fits into a prompt
WRITES_MUCH = 'pathlib.Path("notes.txt").write_text("".join(f"line {n}\\n" for n in range(20_000)))'


def panel(tmp_path: Path, quorum: str, *replies: str) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS)
    names = [f"judge{n}" for n in range(len(replies))]
    for name, text in zip(names, replies, strict=True):
        lab.agent(name, text)
    lab.settle(f"review: {{agents: [{', '.join(names)}], quorum: {quorum}}}\n")
    lab.add("Add division", "--max-cycles", "1")
    return lab


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("quorum", "replies", "status"),
    [
        ("all", (APPROVE, APPROVE, APPROVE), "verified"),
        ("all", (APPROVE, APPROVE, DIES), "failed"),
        ("majority", (APPROVE, APPROVE, DIES), "verified"),
        ("majority", (APPROVE, DIES, DIES), "blocked"),
        ("any", (APPROVE, DIES, DIES), "verified"),
        ("any", (DIES, DIES, DIES), "failed"),
        ("all", (APPROVE, APPROVE, "print('no block')"), "blocked"),
    ],
)
def test_the_quorum_is_of_the_configured_reviewers(
    tmp_path: Path, quorum: str, replies: tuple[str, ...], status: str
) -> None:
    lab = panel(tmp_path, quorum, *replies)
    lab.burnish("run", code=None)
    assert lab.task()["status"] == status, lab.show(1)["note"]


def test_a_blocking_finding_of_one_stands_whatever_the_quorum(tmp_path: Path) -> None:
    lab = panel(tmp_path, "any", APPROVE, REJECT)
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "blocked"


@pytest.mark.long
def test_the_same_finding_of_two_is_one_with_two_reviewers(tmp_path: Path) -> None:
    same = 'print(verdict("changes_requested", "no", [flaw]))'
    lab = panel(tmp_path, "all", same, same)
    lab.burnish("run", code=1)
    (finding,) = lab.show(1)["findings"]
    assert finding["reviewers"] == ["judge0", "judge1"]
    assert "judge0, judge1" in lab.burnish("findings", "1").out


@pytest.mark.long
def test_each_reviewer_has_its_own_prompt_categories_and_time(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS, judge=APPROVE)
    lab.agent("slow", "time.sleep(30)")
    lab.repo.commit({"prompts/safety.md": "Look for holes in {{ title }} only.\n"})
    lab.settle(
        "review:\n  quorum: any\n  agents:\n    - {agent: judge, prompt: prompts/safety.md, categories: [security]}\n"
        "    - {agent: slow, timeout_minutes: 0.02}\n"
    )
    lab.add()
    lab.burnish("run")
    said = next(c["prompt"] for c in lab.calls() if c["agent"] == "judge")
    assert "Look for holes in Add division only." in said
    assert "You are asked about these only: security." in said
    assert lab.task()["status"] == "verified"


STEPS = "pipeline: [{name: security, agents: [guardian]}, {name: style, agents: [stylist]}]\n"
GUARDIAN = """
bad = "# improve" not in app.read_text()
mine = {**flaw, "category": "security", "title": "A hole", "line": 1}
print(verdict("changes_requested", "a hole", [mine]) if bad else verdict("approved", "safe"))
"""


def steps(tmp_path: Path, *, guardian: str = APPROVE, stylist: str = APPROVE, judge: str = APPROVE) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS, judge=judge)
    lab.agent("guardian", guardian)
    lab.agent("stylist", stylist)
    lab.settle(STEPS)
    return lab


def order(lab: Lab) -> list[tuple[int, str]]:
    return [(c["cycle"], c["agent"]) for c in lab.calls()]


@pytest.mark.slow
def test_steps_come_in_order_after_approval_and_one_artifact_holds_them_all(tmp_path: Path) -> None:
    lab = steps(tmp_path)
    lab.add("Add division", "--accept", "it divides")
    lab.agent("judge", 'print(verdict("approved", "good", compliance=[{"item": "it divides", "met": True}]))')
    said = lab.burnish("run")
    assert order(lab) == [(1, "robot"), (1, "judge"), (1, "guardian"), (1, "stylist")]
    task = lab.show(1)
    (cycle,) = task["cycles"]
    assert (task["status"], cycle["verdict"]) == ("verified", "approved")
    assert [reviewer["agent"] for reviewer in cycle["reviewers"]] == ["judge", "guardian", "stylist"]
    assert [p["phase"] for p in cycle["phases"]] == ["implement", "check", "review", "review:security", "review:style"]
    artifact = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert all(name in artifact for name in ("judge", "guardian", "stylist", "security: good", "it divides"))
    assert "Running review: security…" in said.err and "Review (security): APPROVED" in said.err


@pytest.mark.long
def test_a_rejection_in_a_step_sends_it_back_and_everything_is_judged_again(tmp_path: Path) -> None:
    lab = steps(tmp_path, guardian=GUARDIAN)
    lab.add()
    lab.burnish("run")
    assert order(lab) == [
        (1, "robot"),
        (1, "judge"),
        (1, "guardian"),
        (2, "robot"),
        (2, "judge"),
        (2, "guardian"),
        (2, "stylist"),
    ]
    first, second = lab.show(1)["cycles"]
    assert (first["verdict"], first["review_status"], second["review_status"]) == (
        "changes_requested",
        "failed",
        "passed",
    )
    improve = next(c["prompt"] for c in lab.calls() if c["phase"] == "improve")
    assert "A hole" in improve and "a hole" in improve


@pytest.mark.long
def test_a_step_is_not_asked_when_the_review_rejects(tmp_path: Path) -> None:
    lab = steps(tmp_path, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert order(lab) == [(1, "robot"), (1, "judge")]


@pytest.mark.long
@pytest.mark.parametrize("point", ["review-started:2", "review-replied:2", "review-finished:2", "review-started:3"])
def test_a_runner_killed_in_the_pipeline_pays_no_step_twice(tmp_path: Path, point: str) -> None:
    lab = steps(tmp_path)
    lab.add()
    lab.apart("run", code=-9, BURNISH_FAILPOINT=point)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert set(lab.paid().values()) == {1}, lab.paid()


@pytest.mark.long
def test_a_step_that_could_not_be_carried_out_is_the_only_one_to_be_tried_again(tmp_path: Path) -> None:
    lab = steps(tmp_path, guardian=DIES)
    lab.add()
    lab.burnish("run", code=3)
    assert "review:security" in [p["phase"] for p in lab.show(1)["cycles"][0]["phases"]]
    lab.agent("guardian", APPROVE)
    lab.burnish("retry", "1")
    assert order(lab) == [(1, "robot"), (1, "judge"), (1, "guardian"), (1, "guardian"), (1, "stylist")]


@pytest.mark.long
def test_an_unreadable_step_blocks_and_retry_asks_for_the_reviews_again(tmp_path: Path) -> None:
    lab = steps(tmp_path, guardian="print('hm')")
    lab.add()
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "unreadable_review"
    lab.agent("guardian", APPROVE)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_waived_blocker_of_a_step_lets_the_steps_after_it_run(tmp_path: Path) -> None:
    lab = steps(tmp_path, guardian=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.burnish("waive", "1", "F1", "--reason", "known")
    lab.burnish("run", "1")
    assert order(lab)[2:] == [(1, "guardian"), (1, "stylist")]
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_two_steps_of_one_name_are_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS, judge=APPROVE)
    lab.add()
    lab.settle("pipeline: [{name: security, agents: [judge]}, {name: security, agents: [judge]}]\n")
    said = lab.burnish("run", "1", code=None)
    assert said.code in (2, 3) and "Two steps" in said.err + said.out
    assert not lab.calls()


@pytest.mark.long
def test_a_reviewer_that_could_not_be_asked_stays_visible(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.agent("bad", "sys.exit(3)")
    lab.settle("review: {agents: [judge, bad], quorum: any}")
    lab.add()
    lab.burnish("run")
    said = {r["agent"]: (r["verdict"], r["summary"]) for r in lab.show()["cycles"][0]["reviewers"]}
    assert said["judge"][0] == "approved"
    assert said["bad"][0] is None and "could not be asked" in said["bad"][1]
    assert "bad" in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out


@pytest.mark.long
def test_static_beside_a_reviewer_does_not_cover_what_that_reviewer_did_not_see(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=WRITES_MUCH, judge=APPROVE)
    lab.settle("review: {agents: [judge, static]}\n")
    lab.add("Add notes", "--max-cycles", "1")
    lab.burnish("run", code=None)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "incomplete_review")


def test_a_reviewer_that_could_not_be_asked_has_seen_nothing(tmp_path: Path) -> None:
    lab = panel(tmp_path, "any", REJECT, DIES)
    lab.agent("robot", WRITES_MUCH)
    lab.burnish("run", code=None)
    reviews = [event["data"] for event in lab.events("phase.finished") if event["data"]["phase"] == "review"]
    assert reviews[-1]["unseen"] == ["notes.txt"]


@pytest.mark.slow
def test_an_answer_counts_for_the_reviewer_that_gave_it(tmp_path: Path) -> None:
    """Killed between the answers of two reviewers that differ in their time limits alone: the second is still asked."""
    judge = f"""
try:
    os.open({str(tmp_path / "first")!r}, os.O_CREAT | os.O_EXCL)
    print(verdict("approved", "good"))
except FileExistsError:
    time.sleep(1.5)
    print(verdict("rejected", "it is wrong", [flaw]))
"""
    limits = "[{agent: judge, timeout_minutes: 10}, {agent: judge, timeout_minutes: 11}]"
    lab = Lab.make(tmp_path, judge=judge, extra=f"review: {{quorum: all, agents: {limits}}}\n")
    number = lab.add()
    with lab.start("run", number) as process:
        lab.until(lambda: [c["phase"] for c in lab.calls("end")].count("review") == 1)
        lab.until(lambda: [c["phase"] for c in lab.calls()].count("review") == 2)
        time.sleep(0.3)
        process.kill()
    lab.burnish("run", number, code=None)
    assert lab.task(number)["reason"] == "rejected"
    prompts = {c["prompt"].split("burnish-verdict ")[1][:12] for c in lab.calls() if c["phase"] == "review"}
    assert len(prompts) == 2


# fails as long as a file is missing
UNTIL_REPAIRED = 'sys.exit(3) if not pathlib.Path(LOG).with_name("repaired").exists() else ' + APPROVE


@pytest.mark.slow
def test_a_retry_asks_only_the_reviewers_that_gave_no_answer_and_counts_each_cost_once(tmp_path: Path) -> None:
    lab = panel(tmp_path, "all", APPROVE, UNTIL_REPAIRED, APPROVE)
    lab.burnish("run", code=3)
    assert lab.task()["error"] == "AGENT_FAILED"
    (tmp_path / "repaired").touch()
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert [call["agent"] for call in lab.calls("end")].count("judge0") == 1
    assert {agent for (_, _, phase, agent), count in lab.paid().items() if phase == "review" and count == 1} == {
        "judge0", "judge1", "judge2",
    }  # fmt: skip


@pytest.mark.attacks("reuse an answer that was given beside a breach", 1)
def test_answers_given_while_a_reviewer_wrote_to_the_files_of_the_others_are_not_kept(tmp_path: Path) -> None:
    writes = f'app.chmod(0o644); app.write_text("harmless\\n"); {UNTIL_REPAIRED}'
    lab = panel(tmp_path, "all", APPROVE, writes)
    lab.burnish("run", code=3)
    (tmp_path / "repaired").touch()
    lab.agent("judge1", APPROVE)
    lab.burnish("retry", "1")
    assert [call["agent"] for call in lab.calls("end")].count("judge0") == 2
