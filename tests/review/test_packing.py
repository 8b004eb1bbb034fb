from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.change import Change, ChangedFile, HiddenContent, Hunk
from burnish.review.context import ReviewPrompt, coverage, merge_prompts
from burnish.review.packing import (
    DOCS,
    GENERATED,
    SOURCE,
    TEST,
    batches,
    find_redacted_paths,
    kind,
    only,
    pack,
    passes,
)
from burnish.review.quoting import quoted, unquoted
from testing.changes import added, binary, change, deleted, modified, renamed
from testing.long_forms import examples

MANY = change(
    added("src/a.py"),
    modified("tests/test_a.py"),
    modified("README.md"),
    modified("uv.lock"),
    deleted("src/old.py"),
    renamed("src/b.py", "src/c.py"),
    binary("logo.png"),
    added('odd "name"\n.py'),
    added("bad\udcff.py"),
    added("ümlaut.py"),
)


def everywhere(made: Change, limit: int) -> None:
    packed = pack(made, limit)
    lists = [*packed.shown, *packed.not_shown, *packed.covered_by_summary]
    assert sorted(lists) == sorted(made.paths)
    for path in made.paths:
        assert quoted(path) in packed.text


def test_every_changed_path_is_shown_named_or_summarised_whatever_the_limit() -> None:
    for limit in (0, 50, 200, 500, 1000, 30_000):
        everywhere(MANY, limit)


_FILES = st.builds(
    lambda make, path: make(path),
    st.sampled_from([added, modified, deleted, binary]),
    st.text(alphabet=st.characters(exclude_characters="\0"), min_size=1, max_size=12),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(_FILES, max_size=8, unique_by=lambda file: file.path), st.integers(0, 500))
def test_no_name_and_no_limit_makes_a_path_vanish(files: list[ChangedFile], limit: int) -> None:
    everywhere(change(*files), limit)


def test_source_comes_before_tests_before_docs() -> None:
    packed = pack(change(modified("README.md"), modified("tests/test_a.py"), modified("src/a.py")), 10_000)
    assert packed.shown == ("src/a.py", "tests/test_a.py", "README.md")


def test_the_important_gets_the_room() -> None:
    packed = pack(change(added("docs/a.md", 50), added("src/a.py", 50)), 500)
    assert packed.shown == ("src/a.py",) and packed.not_shown == ("docs/a.md",)


def test_hunks_are_never_cut_and_a_file_shown_in_part_is_not_shown() -> None:
    packed = pack(change(modified("src/a.py", 20)), 300)
    assert packed.not_shown == ("src/a.py",) and not packed.shown
    assert "of 20 hunks above) +20 -20  src/a.py" in packed.text
    assert packed.text.count("@@ -") == packed.text.count("+y = 2") > 0


def test_deletions_and_renames_without_a_change_are_one_line_each() -> None:
    packed = pack(change(deleted("src/old.py"), renamed("src/b.py", "src/c.py")), 10_000)
    assert "deleted, 2 lines: src/old.py" in packed.text
    assert "renamed unchanged, was src/b.py: src/c.py" in packed.text
    assert "@@" not in packed.text


def test_unchanged_lines_of_renamed_files_come_after_all_changed_lines() -> None:
    moved_file = replace(renamed("a/z.py", "b/z.py"), unchanged_hunks=same_lines(1, 40))
    edited_file = replace(
        renamed("a/y.py", "b/y.py"), hunks=modified("b/y.py").hunks, unchanged_hunks=same_lines(3, 40)
    )
    both = change(moved_file, edited_file, modified("src/x.py"))
    everything = pack(both, 10_000)
    assert everything.shown == ("b/z.py", "b/y.py", "src/x.py")
    assert everything.text.count("part of this review") == 2
    assert everything.text.index("+y = 2") < everything.text.index("@@ -3,40 +3,40 @@")
    packed = pack(both, 400)
    assert packed.shown == ("src/x.py",) and packed.not_shown == ("b/z.py", "b/y.py")
    assert packed.text.count("+y = 2") == 2 and "(was a/y.py) (only 1 of 2 hunks above)" in packed.text


@pytest.mark.parametrize("limit", [500, 10_000])
def test_an_agent_that_reads_no_files_gets_all_lines_of_a_renamed_file(limit: int) -> None:
    moved_file = replace(renamed("a/z.py", "b/z.py"), unchanged_hunks=same_lines(1, 200))
    parts = [pack(part, limit, reads_files=False) for part in passes(change(moved_file), limit)]
    assert all(part.shown == ("b/z.py",) and not part.not_shown for part in parts)
    text = "".join(part.text for part in parts)
    assert all(f" line {number}\n" in text for number in range(1, 201))
    assert all(part.text.count("part of this review") == 1 for part in parts)


def same_lines(start: int, count: int) -> tuple[Hunk, ...]:
    lines = "".join(f" line {number}\n" for number in range(start, start + count))
    return (Hunk(start, count, start, count, f"@@ -{start},{count} +{start},{count} @@\n{lines}"),)


def test_a_link_or_submodule_is_shown_even_where_its_name_looks_generated() -> None:
    link = ChangedFile("node_modules/x", "A", new_mode="120000", hunks=added("x").hunks)
    assert pack(change(link), 10_000).shown == ("node_modules/x",)


def test_an_agent_that_reads_files_is_told_to_read_what_is_left_out() -> None:
    assert "read each of these files yourself" in pack(MANY, 0).text
    assert "read each of these files yourself" not in pack(MANY, 0, reads_files=False).text


@pytest.mark.parametrize("path", ["a_pb2.py", "x.generated.ts", "__generated__/a.js", "a.min.js", "yarn.lock"])
def test_a_generated_file_is_shown_like_any_other_but_last(path: str) -> None:
    packed = pack(change(added(path, words="payload"), added("src/a.py")), 10_000)
    assert packed.shown == ("src/a.py", path) and "payload" in packed.text
    small = pack(change(added(path, 500), added("src/a.py")), 500)
    assert small.not_shown == (path,)


def test_content_that_cannot_be_shown_is_described() -> None:
    content = HiddenContent("PNG image", 1234, "sha256:00", old_size=1000)
    logo = replace(binary("logo.png"), hidden=content, new_mode="100755")
    packed = pack(change(logo), 10_000)
    assert "PNG image, 1,234 bytes, was 1,000 bytes, EXECUTABLE, sha256:00: logo.png" in packed.text
    assert packed.covered_by_summary == ("logo.png",)


def test_what_cannot_be_seen_is_written_out() -> None:
    packed = pack(change(added("a.py", 1, words="x\u202ey\x1b[8mz\rq\0")), 10_000)
    assert r"+x\u202ey\x1b[8mz\x0dq\x00" in packed.text and "Characters that cannot be seen" in packed.text


def test_a_line_longer_than_a_pass_is_given_in_pieces() -> None:
    made = change(added("a.min.js", 1, words="".join(f"w{n};" for n in range(2000))))
    parts = [pack(part, 2000) for part in passes(made, 2000)]
    assert len(parts) > 4 and not any(part.not_shown for part in parts)
    text = "".join(re.sub(r"\n\\\\ goes on: |\n", "", part.text) for part in parts)
    assert len(set(re.findall(r"w\d+;", "".join(part.text for part in parts)))) > 1900 and "w1999;" in text


def test_no_word_of_a_divided_line_is_cut_between_two_passes() -> None:
    for start in range(0, 60, 7):
        made = change(added("a.min.js", 1, words="x" * start + "".join(f"word{n:05};" for n in range(1000))))
        texts = [pack(part, 2000).text for part in passes(made, 2000)]
        assert all(any(f"word{n:05};" in text for text in texts) for n in range(1000))


def test_kinds_go_by_name() -> None:
    names = {"src/a.py": SOURCE, "a_test.go": TEST, "web/x.spec.ts": TEST, "docs/a.html": DOCS, "go.sum": GENERATED}
    names |= {"a.min.js": GENERATED, "latest.py": SOURCE, "contest/a.py": SOURCE, "conftest.py": TEST}
    assert {name: kind(name) for name in names} == names


def test_passes_show_everything_whole_to_one_who_cannot_read_files() -> None:
    made = change(added("src/huge.py", 2000), modified("src/many.py", 100), *MANY.files)
    seen: set[str] = set()
    plus = 0
    for part in passes(made, 2000):
        packed = pack(part, 2000)
        assert not packed.not_shown
        seen |= {*packed.shown, *packed.covered_by_summary}
        plus += packed.text.count("\n+x = 1")
    assert seen == set(made.paths)
    assert plus == 2000 + 3 * 4


def test_a_divided_hunk_keeps_its_line_numbers() -> None:
    parts = [file for made in passes(change(added("a.py", 300)), 1000) for file in made.files]
    assert len(parts) > 2
    assert set().union(*(file.changed_lines() for file in parts)) == set(range(1, 301))


def test_over_two_hundred_files_go_in_batches() -> None:
    made = change(*(added(f"f{n}.py") for n in range(450)))
    assert [len(part.files) for part in batches(made)] == [200, 200, 50]
    assert only(made, ["f3.py"]).paths == ("f3.py",)


def test_ten_thousand_files_are_packed_in_five_seconds() -> None:
    made = change(*(modified(f"src/dir{n % 100}/f{n}.py", 3) for n in range(10_000)))
    start = time.process_time()
    packed = pack(made, 30 * 1024)
    assert time.process_time() - start < 5
    assert len(packed.shown) + len(packed.not_shown) == 10_000


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_quoting_is_one_line_and_can_be_undone(path: str) -> None:
    assert unquoted(quoted(path)) == path
    assert "\n" not in quoted(path)


def test_gits_own_octal_quoting_is_understood() -> None:
    assert unquoted('"f\\303\\274.py"') == "fü.py"
    assert unquoted('"\\377"') == "\udcff"
    assert unquoted('"a\\"b\\tc"') == 'a"b\tc'


def test_coverage_takes_exact_paths_and_gits_quoting_only() -> None:
    made = change(added("a.py"), added("fü.py"), added("b c.py"), added("shown.py"), binary("logo.png"))
    prompt = ReviewPrompt("", ("shown.py",), (), ("logo.png",))
    assert coverage(made, prompt, ["a.py", '"f\\303\\274.py"', "b c.py"]) == ()
    assert coverage(made, prompt, ["./a.py", "A.py", "*", "src/a.py"]) == ("a.py", "fü.py", "b c.py")
    assert coverage(made, prompt, list(made.paths), reads_files=False) == ("a.py", "fü.py", "b c.py")


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ('"a.py"', '"a.py"'),
        ("a.py", "a.py"),
        ('"\\"a.py\\""', '"a.py"'),
        ('"b\\tc.py"', "b\tc.py"),
        ('"a\\342\\200\\213.py"', "a\u200b.py"),
    ],
)
def test_a_name_in_inspected_stands_for_one_path(name: str, covered: str) -> None:
    made = change(*(added(path) for path in ("a.py", '"a.py"', "b\tc.py", '"b\\tc.py"', "a\u200b.py")))
    prompt = ReviewPrompt("", (), made.paths, ())
    assert coverage(made, prompt, [name]) == tuple(path for path in made.paths if path != covered)


def test_a_path_with_characters_that_cannot_be_seen_is_written_with_escapes() -> None:
    for path in ("a\u200b.py", "\u202etxt.py", "conf\u00adtest.py"):
        assert quoted(path).isascii() and unquoted(quoted(path)) == path
    assert quoted("größe.py") == "größe.py"


def test_passes_taken_together_cover_what_each_showed_whole() -> None:
    one = ReviewPrompt("", ("a.py", "b.py"), ("c.py",), ("x.lock",))
    two = ReviewPrompt("", ("c.py", "d.py"), ("b.py",), ())
    both = merge_prompts([one, two])
    assert (both.shown, both.not_shown, both.covered_by_summary) == (("a.py", "d.py"), ("b.py", "c.py"), ("x.lock",))


@pytest.mark.parametrize(("limit", "count"), [(10_000, 1), (500, 2)])
def test_a_renamed_file_with_a_redacted_line_that_did_not_change_is_not_shown_whole(limit: int, count: int) -> None:
    (hunk,) = same_lines(1, 60)
    hunk = replace(hunk, text=hunk.text.replace(" line 40\n", f" key = ghp_{'a1B2c3D4e5F6' * 3}\n"))
    parts = passes(change(replace(renamed("a/z.py", "b/z.py"), unchanged_hunks=(hunk,))), limit)
    assert len(parts) == count
    redacted = [find_redacted_paths(part, ["b/z.py"], pack(part, limit).text) for part in parts]
    assert redacted.count(("b/z.py",)) == 1
