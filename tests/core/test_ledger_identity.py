"""One problem keeps one id, whatever happens to the code and the words."""

from __future__ import annotations

from dataclasses import replace

from bench.ledger import score
from burnish.core.change import Change
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.ledger.ledger import LedgerDiff, absorb_review
from burnish.core.review import Ruling, RulingState
from testing.histories import change

LOAD = "import os\n\n\ndef load(path):\n    handle = open(path)\n    return handle.read()\n"
LEAK = Remark(
    Category.CODE,
    Severity.ERROR,
    "The handle is never closed",
    "load() leaks a descriptor.",
    file="app.py",
    line=5,
    quote="handle = open(path)",
    source="one",
)


def first(*remarks: Remark, text: str = LOAD, file: str = "app.py") -> LedgerDiff:
    return absorb_review((), remarks=remarks, cycle=1, files={file: text}.get)


def again(
    findings: tuple[Finding, ...],
    before: dict[str, str],
    after: dict[str, str],
    *remarks: Remark,
    rulings: tuple[Ruling, ...] = (),
    renamed: dict[str, str] | None = None,
    cycle: int = 2,
) -> LedgerDiff:
    delta: Change = change(before, after, renamed or {})
    return absorb_review(findings, remarks=remarks, rulings=rulings, cycle=cycle, delta=delta, files=after.get)


def test_lines_put_in_above_do_not_make_a_new_finding() -> None:
    known = first(LEAK).findings
    moved = "# a\n" * 40 + LOAD
    update = again(known, {"app.py": LOAD}, {"app.py": moved}, replace(LEAK, line=45))
    assert update.given == ("F1",)
    assert update.opened == ()
    assert update.finding("F1").remark.line == 45


def test_a_finding_nobody_mentions_follows_its_code_and_stays_open() -> None:
    known = first(LEAK).findings
    update = again(known, {"app.py": LOAD}, {"app.py": "# a\n" * 40 + LOAD})
    assert update.finding("F1").remark.line == 45
    assert update.still == ("F1",)
    assert update.reanchored == ("F1",)


def test_a_renamed_file_is_followed() -> None:
    known = first(LEAK).findings
    update = again(
        known,
        {"app.py": LOAD},
        {"io/files.py": LOAD},
        replace(LEAK, file="io/files.py"),
        renamed={"io/files.py": "app.py"},
    )
    assert update.given == ("F1",)
    assert update.finding("F1").remark.file == "io/files.py"


def test_code_moved_to_another_file_takes_its_finding_along() -> None:
    known = first(LEAK).findings
    after = {"app.py": "import os\n", "files.py": LOAD[10:]}
    update = again(known, {"app.py": LOAD}, after)
    assert (update.finding("F1").remark.file, update.finding("F1").remark.line) == ("files.py", 4)
    update = again(known, {"app.py": LOAD}, after, replace(LEAK, file="files.py", line=4))
    assert update.given == ("F1",)


def test_a_formatter_does_not_make_a_new_finding() -> None:
    known = first(LEAK).findings
    after = LOAD.replace("    handle = open(path)", "        handle = open( path )")
    said = replace(LEAK, line=5, quote="handle = open( path )", title="Descriptor leak")
    assert again(known, {"app.py": LOAD}, {"app.py": after}, said).given == ("F1",)


def test_other_words_for_the_same_code_are_the_same_finding_and_do_not_replace_its_own() -> None:
    known = first(LEAK).findings
    said = replace(LEAK, title="Resource stays allocated", description="Use a context manager.")
    update = again(known, {"app.py": LOAD}, {"app.py": "\n" + LOAD}, said)
    assert update.given == ("F1",)
    remark = update.finding("F1").remark
    assert remark.title == "The handle is never closed"
    assert "Also said: Resource stays allocated. Use a context manager." in remark.description


def test_two_different_findings_on_one_line_stay_two() -> None:
    unsafe = replace(LEAK, category=Category.SECURITY, title="Path traversal", description="path comes from the user.")
    naming = replace(LEAK, title="Name says nothing", description="Call it by its content.")
    known = first(LEAK, unsafe, naming)
    assert known.opened == ("F1", "F2", "F3")
    update = again(known.findings, {"app.py": LOAD}, {"app.py": "\n" + LOAD}, unsafe, naming, LEAK)
    assert update.given == ("F2", "F3", "F1")


def test_one_split_in_two_keeps_its_id_with_the_better_match() -> None:
    known = first(LEAK).findings
    rest = replace(LEAK, category=Category.PERFORMANCE, title="Whole file read at once", quote="handle.read()", line=6)
    update = again(known, {"app.py": LOAD}, {"app.py": LOAD}, rest, LEAK)
    assert update.given == ("F2", "F1")


def test_the_same_problem_at_another_place_is_another_finding() -> None:
    twice = LOAD + "\n\ndef save(path):\n    handle = open(path)\n    handle.write('x')\n"
    known = first(LEAK, text=twice).findings
    update = again(known, {"app.py": twice}, {"app.py": "\n" + twice}, replace(LEAK, line=11))
    assert update.opened == ("F2",)


def test_a_resolved_finding_that_comes_back_is_reopened() -> None:
    known = first(LEAK).findings
    gone = again(known, {"app.py": LOAD}, {"app.py": LOAD}, rulings=(Ruling("F1", RulingState.RESOLVED, "with"),))
    assert gone.resolved == ("F1",)
    back = again(gone.findings, {"app.py": LOAD}, {"app.py": "\n" + LOAD}, replace(LEAK, line=6), cycle=3)
    assert back.reopened == ("F1",)
    assert back.finding("F1").state is FindingState.REOPENED
    assert back.opened == ()


def test_a_new_problem_in_the_code_that_fixed_another_is_new() -> None:
    known = first(LEAK).findings
    after = LOAD.replace("handle = open(path)", "handle = Path(path).resolve().open()")
    said = replace(
        LEAK,
        title="Symlinks are followed",
        description="resolve() leaves the root.",
        quote="Path(path).resolve()",
    )
    update = again(known, {"app.py": LOAD}, {"app.py": after}, said, rulings=(Ruling("F1", RulingState.RESOLVED),))
    assert update.resolved == ("F1",)
    assert update.opened == ("F2",)


def test_two_reviewers_with_one_remark_are_one_finding_with_two_names() -> None:
    other = replace(LEAK, title="File handle leak", description="It is never closed.", source="two")
    update = first(LEAK, other)
    assert update.given == ("F1", "F1")
    assert update.finding("F1").reviewers == ("one", "two")


def test_two_reviewers_with_other_words_for_one_line_lose_none_of_them() -> None:
    other = replace(LEAK, title="Resource stays allocated", description="Use a context manager.", source="two")
    update = first(LEAK, other)
    assert len(update.findings) == 1
    told = update.findings[0].remark.title + update.findings[0].remark.description
    assert "never closed" in told
    assert "stays allocated" in told


def test_remarks_without_a_place_are_known_by_their_words() -> None:
    criterion = Remark(Category.COMPLIANCE, Severity.ERROR, "Empty passwords are accepted", source="one")
    known = absorb_review((), remarks=(criterion,), cycle=1).findings
    said = replace(criterion, title="Accepts empty passwords")
    other = replace(criterion, title="No rate limit on login")
    assert absorb_review(known, remarks=(other, said), cycle=2).given == ("F2", "F1")


def test_over_many_histories_precision_and_recall_stay_high() -> None:
    result = score(300, seed=1)
    assert result.precision >= 0.97
    assert result.recall >= 0.97
