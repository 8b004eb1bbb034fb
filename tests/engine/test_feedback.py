"""What reviewers and checks say reaches the author, the artifact and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from burnish.review.artifact import parse_artifact, render_artifact
from testing.lab import Lab

QUIET = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')"
PROSE = "The retry loop must use exponential back-off as in RFC 1234."
NOTE = "it retries only once: the counter starts at 2"
# says all of it beside the block, and calls the criterion unmet until cycle 2 is done
UNMET = f"""
met = cycle > 1
item = {{"item": "retries three times", "met": met, "note": "" if met else {NOTE!r}}}
print("# Review\\n\\n{PROSE}\\n")
print(verdict("approved" if met else "changes_requested", "Criterion not met.", compliance=[item], prior=[]))
"""


def fix_prompt(lab: Lab, cycle: int = 2) -> str:
    return next(c["prompt"] for c in lab.calls() if c["phase"] == "improve" and c["cycle"] == cycle)


def artifact(lab: Lab, cycle: int = 1) -> str:
    return lab.burnish("show", f"review-cycle://1/review-cycle-{cycle}.md").out


def test_an_unmet_criterion_reaches_the_author_with_note_and_prose_and_met_resolves_it(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=UNMET)
    lab.add("Add retries", "-d", "DESCMARK", "--scope", "SCOPEMARK", "--accept", "retries three times")
    lab.burnish("run")
    text = fix_prompt(lab)
    for words in ("DESCMARK", "SCOPEMARK", "### F1 [error] compliance", NOTE, PROSE, "Criterion not met."):
        assert words in text, words
    shown = lab.show(1)
    (finding,) = shown["findings"]
    assert (finding["id"], finding["state"], finding["category"]) == ("F1", "resolved", "compliance")
    assert finding["title"] == "Not met: retries three times" and finding["description"] == NOTE
    assert PROSE in shown["cycles"][0]["review_findings"] and PROSE in shown["review_findings"]
    assert shown["status"] == "verified"


@pytest.mark.long
def test_the_artifact_has_the_reviewers_prose_and_says_what_happens_next(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=UNMET)
    lab.add("Add retries", "--accept", "retries three times")
    lab.burnish("run")
    first, second = artifact(lab), artifact(lab, 2)
    assert f"> {PROSE}" in first and "burnish-verdict" not in first
    assert first.endswith("## Action Required\n\nThe agent fixes F1 in cycle 2 of 3.\n")
    assert second.endswith("## Action Required\n\nNone: the change is accepted.\n")
    assert render_artifact(parse_artifact(first, "a"), limit=1 << 30) == first


@pytest.mark.long
def test_a_blocked_task_says_in_its_artifact_that_a_person_decides(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=UNMET.replace("cycle > 1", "False"))
    lab.add("Add retries", "--accept", "retries three times", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert "A person must decide (max_cycles)" in artifact(lab).partition("## Action Required")[2]
    lab.burnish("improve", "1", "-m", "count from 0")
    assert "The agent fixes F1 in cycle 2 (max 1)." in artifact(lab).partition("## Action Required")[2]


@pytest.mark.long
def test_without_findings_the_prose_becomes_the_finding_and_not_the_summary(tmp_path: Path) -> None:
    judge = 'print("**Essential prose**: use back-off.\\n")\nprint(verdict("changes_requested", "Short."))'
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Add retries", "--max-cycles", "1")
    lab.burnish("run", code=1)
    (finding,) = lab.show(1)["findings"]
    assert finding["title"] == "Essential prose: use back-off."
    assert finding["description"] == "**Essential prose**: use back-off."


@pytest.mark.long
def test_a_disputed_criterion_is_ruled_on_by_the_next_review(tmp_path: Path) -> None:
    author = """
if phase == "implement":
    app.write_text(app.read_text() + "x = 1\\n")
else:
    print("```burnish-disputes " + number + "\\n" + json.dumps([{"id": "F1", "evidence": "line 3"}]) + "\\n```")
"""
    lab = Lab.make(tmp_path, author=author, judge=UNMET)
    lab.add("Add retries", "--accept", "retries three times")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert [e["type"] for e in lab.events("finding.disputed", "finding.resolved")] == [
        "finding.disputed",
        "finding.resolved",
    ]


@pytest.mark.long
def test_what_a_person_overrode_is_not_also_listed_to_fix(tmp_path: Path) -> None:
    judge = 'print(verdict("changes_requested", "not yet", [flaw]))'
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Task", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.burnish("override", "1", "--explain", "old news")
    lab.burnish("improve", "1", "-m", "add a comment")
    text = fix_prompt(lab)
    assert "### F1" not in text and "## Findings to Fix" not in text
    assert "F1 Zero is not handled: overridden" in text and "old news" in text and "add a comment" in text


@pytest.mark.long
def test_a_waived_failure_is_not_listed_among_the_failing_checks(tmp_path: Path) -> None:
    tests = """#!/bin/sh
printf '1..2\\nnot ok 1 - alpha breaks\\nnot ok 2 - beta breaks\\n'
exit 1
"""
    author = f"pathlib.Path('run.sh').write_text({tests!r}) if phase == 'implement' else None\n{QUIET}"
    settings = "{lint: null, guard: {tooling: 'off'}, test: {command: 'sh run.sh', tap: '-'}}"
    extra = f"checks: {settings}\nreview: {{agents: [judge]}}\n"
    lab = Lab.make(tmp_path, author=author, extra=extra)
    lab.repo.commit({"run.sh": "printf '1..2\\nok 1 - alpha breaks\\nok 2 - beta breaks\\n'\n"})
    lab.add("Task", "--max-cycles", "1")
    lab.burnish("run", code=1)
    names = {f["id"]: f["title"] for f in lab.show(1)["findings"]}
    waived = next(id for id, title in names.items() if "alpha" in title)
    lab.burnish("waive", "1", waived, "--reason", "known")
    lab.burnish("improve", "1", code=None)
    text = fix_prompt(lab)
    before, _, decided = text.partition("## Decided by People")
    assert "alpha" not in before and "beta breaks" in before and "waived by" in decided


# cases 1 to LIMIT fail, each with the same message
FLOOD = """#!/bin/sh
awk 'BEGIN {
  print "1..3000"
  for (n = 1; n <= 3000; n++) {
    if (n > LIMIT) printf "ok %d - case %d\\n", n, n
    else printf "not ok %d - case %d\\n  ---\\n  message: helper is missing\\n  ...\\n", n, n
  }
}'
[ LIMIT -eq 0 ]
"""


def flooded(tmp_path: Path, review: str = "fix") -> Lab:
    author = f"""
limit = {{1: "3000", 2: "1500", 3: "0"}}[cycle]
pathlib.Path("run.sh").write_text({FLOOD!r}.replace("LIMIT", limit) + "# corrected\\n" * (cycle == 3))
if cycle == 2:
    import subprocess
    words = ["cat", ".git/burnish/findings.md", ".git/burnish/task.md"]
    seen = subprocess.run(words, capture_output=True, text=True)
    pathlib.Path({str(tmp_path)!r}, "seen.txt").write_text(seen.stdout + seen.stderr)
"""
    test = "{command: 'sh run.sh', tap: '-'}"
    extra = f"checks: {{lint: null, on_failure: {review}, guard: {{tooling: 'off'}}, test: {test}}}\n"
    judge = "print(verdict('approved', 'good', inspected=['run.sh']))"
    lab = Lab.make(tmp_path / "lab", author=author, judge=judge, extra=extra + "review: {agents: [judge]}\n")
    lab.repo.commit({"run.sh": FLOOD.replace("LIMIT", "0")})
    return lab


@pytest.mark.slow
def test_a_flood_of_equal_failures_is_one_finding_in_small_prompts_and_events(tmp_path: Path) -> None:
    lab = flooded(tmp_path)
    lab.add("Break it")
    lab.burnish("run", code=None)
    shown = lab.show(1)
    assert shown["status"] == "verified", shown["note"]
    counts = [e["data"]["finding"]["count"] for e in lab.events() if e["type"].startswith("finding.")]
    assert counts == [3000, 1500, 1500] and len(shown["findings"]) == 1
    text = fix_prompt(lab)
    assert "3,000" in text and len(text) < 6000
    assert max(len(json.dumps(e)) for e in lab.events()) < 60_000
    assert len(json.dumps(lab.events())) < 250_000
    assert "3,000 tests fail" in (tmp_path / "seen.txt").read_text()
    assert shown["cycles"][0]["checks"][0]["new_count"] == 3000


@pytest.mark.long
def test_the_review_prompt_has_a_limit_for_findings_too(tmp_path: Path) -> None:
    lab = flooded(tmp_path, review="review")
    lab.add("Break it", "--max-cycles", "1")
    lab.burnish("run", code=1)
    prompt = next(c["prompt"] for c in lab.calls() if c["phase"] == "review")
    assert len(prompt) < 20_000 and "3,000" in prompt


@pytest.mark.long
def test_previous_errors_have_the_end_of_what_the_agent_printed(tmp_path: Path) -> None:
    author = f"""
if not pathlib.Path({str(tmp_path)!r}, "again").exists():
    pathlib.Path({str(tmp_path)!r}, "again").touch()
    print("Traceback\\nThing: the details of the failure\\n\\x1b[31mred\\nhint: set FOO=1", file=sys.stderr)
    sys.exit(3)
{QUIET}
"""
    lab = Lab.make(tmp_path / "lab", author=author, judge="print(verdict('approved', 'good'))")
    lab.add()
    lab.burnish("run", code=3)
    lab.burnish("retry", "1")
    prompt = lab.calls()[1]["prompt"]
    assert "Thing: the details of the failure" in prompt and "\\x1b[31mred" in prompt and "\x1b" not in prompt
    review = next(c["prompt"] for c in lab.calls() if c["phase"] == "review")
    assert "Thing: the details of the failure" in review


HALF = """
pathlib.Path("half.py").write_text("half = 1\\n")
sign("half")
mine = pathlib.Path(FOLDER)
tries = len(list(mine.glob("try-*")))
(mine / f"try-{tries}").write_text("")
import subprocess  # the agent's own
refs = re.findall(r"refs/burnish/rescue/[\\w-]+", prompt)
for ref in refs:
    done = subprocess.run(["git", "cat-file", "-t", ref], capture_output=True, text=True)
    (mine / "refs.txt").open("a").write(f"{tries} {ref} {done.stdout.strip()}\\n")
if tries < 2: time.sleep(30)
app.write_text(app.read_text() + "done = 1\\n")
"""


def cut_twice(tmp_path: Path, extra: str = "") -> Lab:
    folder = tmp_path / "tries"
    folder.mkdir()
    text = "task_types: {implement: {timeout_minutes: 0.04}}\n" + extra
    author = HALF.replace("FOLDER", repr(str(folder)))
    lab = Lab.make(
        tmp_path / "lab",
        author=author,
        judge="print(verdict('approved', 'good', inspected=['app.py', 'half.py']))",
        extra=text,
    )
    lab.add()
    for _ in range(2):
        lab.burnish("run" if not lab.calls() else "retry", "1", code=3)
    lab.burnish("retry", "1")
    return lab


@pytest.mark.slow
def test_cut_work_is_given_back_as_a_diff_and_the_refs_exist_in_the_agents_repository(tmp_path: Path) -> None:
    lab = cut_twice(tmp_path)
    prompt = lab.calls()[2]["prompt"]
    assert "+half = 1" in prompt
    names = [f"refs/burnish/rescue/1-1-implement{end}" for end in ("", "-2")]
    assert list(dict.fromkeys(re.findall(r"refs/burnish/rescue/[\w-]+", prompt))) == names
    seen = (tmp_path / "tries" / "refs.txt").read_text().split("\n")
    assert {f"2 {name} commit" for name in names} <= set(seen)
    assert "half = 1" in lab.text(lab.task()["branch"], "half.py")


@pytest.mark.long
def test_with_the_setting_the_next_attempt_begins_with_the_cut_work_in_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "tries"
    folder.mkdir()
    author = f"""
mine = pathlib.Path({str(folder)!r})
tries = len(list(mine.glob("try-*")))
(mine / f"try-{{tries}}").write_text(str(pathlib.Path("half.py").exists()))
if tries == 0:
    pathlib.Path("half.py").write_text("half = 1\\n")
    time.sleep(30)
app.write_text(app.read_text() + "done = 1\\n")
"""
    extra = "task_types: {implement: {timeout_minutes: 0.04}}\nworkspace: {rescued: apply}\n"
    judge = "print(verdict('approved', 'good', inspected=['app.py', 'half.py']))"
    lab = Lab.make(tmp_path / "lab", author=author, judge=judge, extra=extra)
    lab.add()
    lab.burnish("run", code=3)
    lab.burnish("retry", "1")
    assert (folder / "try-1").read_text() == "True"
    assert "The files here begin with the newest" in lab.calls()[1]["prompt"]
    branch: Any = lab.task()["branch"]
    assert "half = 1" in lab.text(branch, "half.py") and "done = 1" in lab.text(branch)


REMARKS = """
found = [dict(flaw, severity="error" if n == 399 else "warning", title=f"Part {n} of the list is named wrongly",
              description=f"WORDS{n} " * 40, file=f"f{n}.py", line=1) for n in range(400)]
inspected = [f"f{n}.py" for n in range(400)]
if cycle == 1:
    print(verdict("changes_requested", "many", found, inspected=inspected))
else:
    print(verdict("approved", "ok", inspected=inspected))
"""
MANY_FILES = 'for n in range(400):\n    pathlib.Path(f"f{n}.py").write_text(f"x = {n}{cycle}\\n")'


@pytest.mark.long
def test_a_flood_of_remarks_is_bounded_in_the_ledger_prompts_artifact_and_events(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=MANY_FILES, judge=REMARKS, extra="review: {agents: [judge], block_on: warning}\n")
    lab.add("Add many files", "--max-cycles", "2")
    lab.burnish("run", code=None)
    shown = lab.show(1)
    findings = {finding["id"]: finding for finding in shown["findings"]}
    (rest,) = [finding for finding in findings.values() if finding["rule"] == "more-remarks:judge"]
    assert len(findings) == 80 and rest["count"] == 321
    assert "Part 399 of the list is named wrongly" in {finding["title"] for finding in findings.values()}, "the worst"
    assert "burnish log 1 --phase review" in rest["description"]
    assert "WORDS350" in lab.burnish("log", "1", "--phase", "review").out
    assert f"{rest['count']:,} more problems" in artifact(lab) and len(artifact(lab)) < 80_000
    assert len(fix_prompt(lab)) < 40_000
    assert max(len(json.dumps(event)) for event in lab.events()) < 80_000
    assert len(json.dumps(lab.events())) < 400_000
    assert shown["status"] == "verified", "each finding was in the prompt, so that it could be ruled on"


TWICE = """
inspected = [f"f{n}.py" for n in range(400)]
found = [dict(flaw, severity="warning", title=f"Part {n} of the list is named wrongly", file=f"f{n}.py", line=1)
         for n in (range(400) if cycle == 1 else range(399, -1, -1))]
print(verdict("changes_requested", "many", found, inspected=inspected, prior=[]))
"""


@pytest.mark.long
def test_a_flood_that_is_repeated_in_another_order_raises_the_same_findings_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=MANY_FILES, judge=TWICE, extra="review: {agents: [judge], block_on: warning}\n")
    lab.add("Add many files", "--max-cycles", "2")
    lab.burnish("run", code=None)
    findings = lab.show(1)["findings"]
    first = [finding for finding in findings if finding["first_cycle"] == 1]
    assert len(first) == 80 and {finding["last_cycle"] for finding in first} == {2}
    assert [finding["count"] for finding in findings if finding["rule"].startswith("more-remarks")] == [301]
    assert {finding["severity"] for finding in findings} == {"warning"}, "what was part of the rest stays as grave"


BROKEN_FILES = """
for n in range(100):
    pathlib.Path(f"f{n}.py").write_text("def (:\\n" if phase == "implement" else f"x = {n}\\n")
"""


@pytest.mark.long
def test_a_flood_of_static_is_limited_says_how_to_list_all_and_is_resolved_by_the_fix(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=BROKEN_FILES, extra="review: {agents: [static]}\n")
    lab.add("Add many files", "--max-cycles", "2")
    lab.burnish("run", code=None)
    findings = lab.show(1)["findings"]
    (rest,) = [finding for finding in findings if finding["rule"] == "more-remarks:static"]
    assert len(findings) == 80
    assert {finding["state"] for finding in findings} == {"resolved"}
    command = rest["description"].split("All of them: `burnish ")[1].split("`")[0]
    assert lab.burnish(*command.split(), "--no-tests").json["verdict"] == "approved", "all files of the task"
