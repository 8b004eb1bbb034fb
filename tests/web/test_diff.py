"""The change as rows of a page: every number is the patch's own, and every text is text."""

from __future__ import annotations

import html
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.change import ChangedFile
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.features.tasks.inspect import without_secrets
from burnish.views.diff import Diff, FileDiff, bare, ignoring_space, pinned
from burnish.web.pages.diff import markup
from burnish.web.pages.paint import MAX_LINE_LENGTH, Painter, between, coloured
from burnish.web.pages.rendering import render
from testing.changes import added, binary, change, deleted, modified, renamed
from testing.histories import hunks
from testing.long_forms import examples

ROW = re.compile(
    r'<tr class="(same|add|del)"(?: data-line="(\d+)")?><td class="n">(\d*)</td><td class="n">(\d*)</td>'
    r'<td class="sign" aria-hidden="true">[+−]?</td><td class="code">(.*?)</td></tr>\n'
)
HOSTILE = "</td><script>window.hurt = 1</script><img src=x onerror=hurt()> & \"'"
# code that a lexer stumbles over: open quotes, half comments, odd signs
LINES = st.lists(
    st.sampled_from(
        ["", "x = 1", '"""', "'", "/*", "*/", "def f(a, b):", "    return a", "# note", HOSTILE, "\ttab", "ünï", "<!--"]
    ),
    max_size=25,
)


def plain(code: str) -> str:
    """What a person reads in a cell."""
    code = re.sub(r'<span class="(?:visually-hidden|cut)"[^>]*>.*?</span>', "", code)
    return html.unescape(re.sub(r"</?(?:span|b)\b[^>]*>", "", code))


def rows_of(file: FileDiff, old: str, new: str) -> list[tuple[str, str, str, str]]:
    painted = Painter().paint(file, lambda: {file.file.old_blob: old, file.file.new_blob: new})
    found = []
    for block in painted.blocks:
        for _, _, row in block.rows:
            match = ROW.fullmatch(row)
            assert match, row
            assert (match[2] or "") == match[4]
            found.append((match[1], match[3], match[4], plain(match[5])))
    return found


def one_file(old: str, new: str, path: str = "app.py") -> FileDiff:
    file = ChangedFile(path, "M", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks(old, new))
    return bare(change(file)).files[0]


@settings(max_examples=examples(60), deadline=None)
@given(LINES, LINES, st.sampled_from(["app.py", "app.ts", "page.html", "notes.md", "unknown"]))
def test_numbers_and_texts_of_the_rows_are_those_of_the_two_files(old: list[str], new: list[str], path: str) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    file = one_file(before, after, path)
    seen_old, seen_new = set(), set()
    for kind, left, right, text in rows_of(file, before, after):
        assert (left == "") == (kind == "add") and (right == "") == (kind == "del")
        if left:
            assert old[int(left) - 1] == text
            seen_old.add(int(left))
        if right:
            assert new[int(right) - 1] == text
            seen_new.add(int(right))
    # what stands between the blocks is unchanged, and as much as the folds say
    gone, come = [n for n in range(1, len(old) + 1) if n not in seen_old], set(range(1, len(new) + 1)) - seen_new
    assert len(gone) == len(come) and [old[n - 1] for n in gone] == [new[n - 1] for n in sorted(come)]
    folded = sum(block.skipped for block in file.blocks)
    rest = Painter().paint(file, lambda: {"b" * 40: after}).rest if file.blocks else len(new)
    assert folded + rest == len(come)


@settings(max_examples=examples(30), deadline=None)
@given(LINES, st.sampled_from(["a.py", "a.js", "a.html", "a.yaml", "a.diff", "Makefile"]))
def test_colours_neither_add_nor_lose_a_letter(lines: list[str], path: str) -> None:
    text = "\n".join(lines)
    made = coloured(path, text)
    assert [plain(line) for line in made] == lines or not lines
    assert not re.search(r"<(?!/?span[ >])|style=", "".join(made))


def test_folded_lines_come_with_both_their_numbers() -> None:
    rows = [ROW.fullmatch(row + "\n") for row in between("a.py", "1\n2\n3\n4\n5\n", 2, 4, 2).splitlines()]
    assert [(row[3], row[4], plain(row[5])) for row in rows if row] == [("2", "4", "4"), ("3", "5", "5")]
    # not past the end of the file, which has no line after its last break
    assert between("a.py", "1\n2\n", 5, 2, 9).count("<tr") == 1


def test_signs_that_hide_or_turn_text_are_named() -> None:
    made = coloured("a.py", "x = '\u202e' # \x1b[31m\r")[0]
    assert "U+202E" in made and "U+001B" in made and "␍" in made
    assert not re.search("[\u202e\x1b\r]", made)


def test_a_monstrous_line_is_cut_and_says_so() -> None:
    made = coloured("a.js", "y" * (MAX_LINE_LENGTH + 1234))[0]
    assert "1,234 more characters" in made and len(made) < MAX_LINE_LENGTH + 200


def test_what_is_no_text_is_named() -> None:
    link = ChangedFile("l", "A", old_mode="000000", new_mode="120000")
    mode = ChangedFile("run.sh", "M", old_mode="100644", new_mode="100755", old_blob="a", new_blob="a")
    typed = ChangedFile("t", "T", old_mode="100644", new_mode="120000", old_blob="a", new_blob="b")
    module = ChangedFile("sub", "M", old_mode="160000", new_mode="160000", old_blob="a", new_blob="b")
    files = (binary("a.png"), renamed("old.py", "new.py"), deleted("gone.py"), link, mode, typed, module)
    notes = {file.path: " ".join(file.notes) for file in bare(change(*files)).files}
    assert "binary" in notes["a.png"] and "renamed from old.py" in notes["new.py"] and "deleted" in notes["gone.py"]
    assert "symbolic link" in notes["l"] and "was a file, is a executable file" in notes["run.sh"].replace("an ", "a ")
    assert "symbolic link now" in notes["t"] and "submodule" in notes["sub"]


def found(id: str, file: str | None, line: int | None = None, **more: object) -> Finding:
    remark = Remark(Category.CODE, Severity.ERROR, f"{id} it is", file=file, line=line)
    return replace(Finding(id, remark), **more)  # type: ignore[arg-type]


def test_findings_stand_under_their_line_or_are_said_to_stand_elsewhere() -> None:
    ranged = replace(
        found("F5", "a.py", 1), remark=Remark(Category.CODE, Severity.INFO, "r", file="a.py", line=1, end_line=2)
    )
    findings = [found("F1", "a.py", 2), found("F2", "a.py", 99), found("F3", None), found("F4", "other.py", 1), ranged]
    diff = pinned(bare(change(modified("a.py"))), findings)
    file = diff.files[0]
    assert {line: [f.id for f in here] for line, here in file.under().items()} == {2: ["F1", "F5"]}
    assert [f.id for f in file.elsewhere()] == ["F2"]
    assert [f.id for f in diff.apart] == ["F3", "F4"]


def test_the_tree_sums_up_and_joins_folders_that_hold_one_folder() -> None:
    files = (added("src/shop/cart/total.py", 4), added("src/shop/cart/tax.py", 2), modified("README.md"))
    over = found("F1", "src/shop/cart/tax.py", 1, state=FindingState.RESOLVED)
    folder, readme = pinned(bare(change(*files)), [found("F2", "src/shop/cart/tax.py", 1), over]).tree(10)
    assert (folder.name, folder.added, folder.alive) == ("src/shop/cart", 6, 1)
    assert [leaf.name for leaf in folder.inside] == ["tax.py", "total.py"] and readme.name == "README.md"


def test_each_pair_of_blobs_is_painted_once_and_the_oldest_are_forgotten() -> None:
    painter, reads = Painter(most=3_000), 0

    def read() -> dict[str, str]:
        nonlocal reads
        reads += 1
        return {}

    files = [
        replace(one_file("", "x\n" * 20), file=replace(one_file("", "x\n" * 20).file, new_blob=str(n)))
        for n in range(3)
    ]
    for file in (files[0], files[0], files[1], files[2], files[0]):
        painter.paint(file, read)
    assert reads == 4


def test_two_thousand_lines_are_on_the_page_soon() -> None:
    new = "".join(f"def f_{n}(a: int) -> str:\n    return str(a + {n})  # <{n}>\n" for n in range(1000))
    file, painter = one_file("", new), Painter()
    painter.paint(file, lambda: {"b" * 40: new})
    begun = time.process_time()
    painted = painter.paint(file, dict)
    page = render("task/file_body.html.j2", file=file, painted=painted, markup=markup)
    # 200 ms are promised; a machine that does other things meanwhile gets more
    assert time.process_time() - begun < 1
    assert page.count('<tr class="add"') == 2000


def test_a_name_that_is_no_text_can_be_shown() -> None:
    file = bare(change(added("caf\udce9\u202e.py"))).files[0]
    page = render("task/file_body.html.j2", file=file, painted=Painter().paint(file, dict), markup=markup)
    assert page.encode() and "caf?.py" in page


def test_what_the_environment_calls_secret_is_not_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_TOKEN", "canary-4711-canary")
    shown = without_secrets(change(modified("a.py", words="token = 'canary-4711-canary'")))
    assert "canary" not in shown.text() and "secret" in shown.text() and "+token" in shown.text()


def test_words_that_changed_are_marked_inside_of_their_line() -> None:
    old, new = "x = 1\nresult = value * 5 & mask  # <five>\n", "x = 1\nresult = value * 50 & mask  # <five>\n"
    file = one_file(old, new)
    rows = [row for b in Painter().paint(file, lambda: {"a" * 40: old, "b" * 40: new}).blocks for *_, row in b.rows]
    removed, added = (next(row for row in rows if f'class="{kind}"' in row) for kind in ("del", "add"))
    assert re.findall(r'<b class="w">(.*?)</b>', removed) == ["5"]
    assert re.findall(r'<b class="w">(.*?)</b>', added) == ["50"]
    assert added.count("&lt;five&gt;") == 1 and "<five>" not in added


def test_lines_without_a_word_in_common_and_invisible_characters_are_not_marked() -> None:
    for old, new in (("alpha beta\n", "something(else, here)\n"), ("a = 1\u202e\n", "a = 2\u202e\n")):
        blocks = Painter().paint(one_file(old, new), dict).blocks
        assert not [row for block in blocks for *_, row in block.rows if 'class="w"' in row]


def test_white_space_can_be_ignored() -> None:
    old, new = "if a:\n    b = 1\n    c = 2\n", "if a:\n        b = 1\n        c = 3\n"
    shown = ignoring_space(Diff("", "", (one_file(old, new),), ())).files[0]
    lines = [(line.kind, line.old, line.new, line.text) for block in shown.blocks for line in block.lines]
    assert ("same", 2, 2, "        b = 1") in lines
    assert [line for line in lines if line[0] != "same"] == [
        ("del", 3, None, "    c = 2"),
        ("add", None, 3, "        c = 3"),
    ]
    assert (shown.added, shown.removed) == (1, 1)
