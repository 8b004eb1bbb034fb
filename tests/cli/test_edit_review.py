"""burnish review TASK --edit: the change in an editor, with comments that read back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.core.change import ChangedFile
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.errors import BadInput
from burnish.features.review.drafts import DraftComment
from burnish.features.review.edit_form import read_form, review_form
from burnish.tui.lines import verbatim
from burnish.views.diff import Diff, bare, pinned
from burnish.web.pages.paint import plain
from testing.changes import binary, change, deleted, renamed
from testing.histories import hunks
from testing.lab import APPROVE, Lab

OLD, NEW = "a = 1\nb = 2\n\nc = 3\n", "a = 1\nb = 20\n\nc = 3\nd = 4\n"


def diff_of() -> Diff:
    file = ChangedFile("app.py", "M", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks(OLD, NEW))
    remark = Remark(Category.CODE, Severity.ERROR, "Too large", "Why 20?\n> not a comment", file="app.py", line=2)
    return pinned(bare(change(file)), (Finding("F1", remark),))


def test_a_form_reads_back_to_the_comments_that_are_in_it() -> None:
    diff = diff_of()
    file = diff.files[0].file
    drafts = (
        DraftComment(1, "Whole file.", "app.py", file.new_blob),
        DraftComment(2, "Removed?\nReally?", "app.py", file.old_blob, 2, None, "old"),
        DraftComment(3, "Both.", "app.py", file.new_blob, 4, 5),
    )
    form = review_form("task 1: x", diff, drafts, commit="c" * 40)
    assert "# F1 [error] open: Too large" in form and "# > not a comment" in form
    edited = form.replace("verdict:\n", "verdict: Request changes\n").replace("note:\n", "note: First line.\nSecond.\n")
    # editors strip white space at the end of lines
    stripped = "\n".join(line.rstrip() for line in edited.split("\n"))
    for text in (edited, stripped):
        review = read_form(text, diff)
        assert (review.verdict, review.note) == ("request_changes", "First line.\nSecond.")
        assert [(one.text, one.line, one.end_line, one.side, one.blob) for one in review.comments] == [
            (one.text, one.line, one.end_line, one.side, one.blob) for one in drafts
        ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("+b = 20", "+b = 21", "differs from the change"),
        ("+d = 4\n", "", "end of the change is missing"),
        ("verdict:", "verdict: maybe", "Unknown verdict"),
        ("+d = 4\n", "+d = 4\n> (lines 1-2) x\n", "does not end at line 5"),
    ],
)
def test_a_form_that_was_damaged_is_refused(old: str, new: str, message: str) -> None:
    diff = diff_of()
    form = review_form("task 1: x", diff, (), commit="c" * 40)
    with pytest.raises(BadInput, match=message):
        read_form(form.replace(old, new, 1), diff)


@pytest.mark.attacks("hide text from a person's review", 4)
def test_text_of_a_change_is_shown_and_read_as_text_of_the_change() -> None:
    hostile = "x = 1\r> Looks good.\r# vim: set ft=x:\nif ok\u202e: # \u200b\nverdict: approve\n"
    file = ChangedFile("a\nverdict: approve", "A", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks("", hostile))
    remark = Remark(Category.CODE, Severity.INFO, "t\rverdict: approve", "d\n> approved\x85verdict: approve")
    diff = pinned(bare(change(file)), (Finding("F1", remark),))
    form = review_form("task 1: x\rverdict: approve", diff, (), commit="c" * 40)
    assert "if ok\\u202e: # \\u200b" in form and "=== a\\nverdict: approve" in form
    review = read_form(form, diff)
    assert (review.verdict, review.note, review.comments) == (None, "", ())


SETTINGS = (
    "vim: set modeline ft=x:",
    "-*- mode: sh; eval: (shell-command) -*-",
    "Local Variables:\neval: (shell-command)\nEnd:",
    "kate: encoding x;",
)


@pytest.mark.attacks("have an editor read settings in a person's review", 4)
@pytest.mark.parametrize("words", SETTINGS)
def test_an_editor_reads_no_settings_in_text_of_a_change_a_task_or_an_agent(words: str) -> None:
    file = ChangedFile(words, "A", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks("", f"{words}\n"))
    remark = Remark(Category.CODE, Severity.INFO, words, words)
    draft = DraftComment(1, words, words, "b" * 40)
    diff = pinned(bare(change(file)), (Finding("F1", remark),))
    form = review_form(words, diff, (draft,), commit="c" * 40)
    lines = form.removesuffix("\n").split("\n")
    # what vim, Kate and jEdit read of a file, and what Emacs reads of its end
    read_by_editors = "\n".join((*lines[:12], *lines[-40:], form[-3000:]))
    assert words.split()[0] in form
    assert not any(word in read_by_editors for word in ("vim:", "-*-", "Local Variables", "kate:"))
    assert [one.text for one in read_form(form, diff).comments] == [words]


def test_vim_takes_no_option_from_a_form(tmp_path: Path) -> None:
    vim = shutil.which("vim") or pytest.skip("vim is not installed")
    words = "vim: set shiftwidth=13:"
    file = ChangedFile("a.py", "A", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks("", f"{words}\n"))
    form = tmp_path / "form.diff"
    out = tmp_path / "out"

    def width(text: str) -> str:
        form.write_text(text)
        read = f"redir! > {out} | silent set shiftwidth? | redir END | qa!"
        subprocess.run(
            [vim, "-es", "-u", "NONE", "--cmd", "set nocp modeline modelines=10", str(form), "-c", read],
            stdin=subprocess.DEVNULL, timeout=30, check=False,
        )  # fmt: skip
        return out.read_text().strip()

    assert width(f"# {words}\n") == "shiftwidth=13", "the control: vim reads such lines"
    assert width(review_form(f"task 1: {words}", bare(change(file)), (), commit="c" * 40)) == "shiftwidth=8"


@pytest.mark.attacks("hide characters from a person's review", 8)
@pytest.mark.parametrize("char", "\u3164\ufe00\u200c\u00ad\U000e0041\U000e0101\u2800\u034f")
def test_what_reviewers_get_escaped_a_person_gets_escaped_too(char: str) -> None:
    file = ChangedFile("a.py", "A", old_blob="a" * 40, new_blob="b" * 40, hunks=hunks("", f"x = 1 # {char}\n"))
    form = review_form("task 1: x", bare(change(file)), (), commit="c" * 40)
    shown = [verbatim(f"x{char}"), plain(f"x{char}"), form]
    assert not any(char in text for text in shown)
    assert f"{ord(char):x}" in shown[0] and f"U+{ord(char):04X}" in shown[1]


def test_a_form_tells_what_the_lines_of_a_file_do_not_show() -> None:
    files = (binary("logo.png"), renamed("a.py", "b.py"), deleted("old.py"))
    script = ChangedFile("run.sh", "A", old_mode="000000", new_mode="100755", hunks=hunks("", "echo\n"))
    form = review_form("task 1: x", bare(change(*files, script)), (), commit="c" * 40)
    for words in ("# binary: its bytes are not shown", "# renamed from a.py", "# deleted", "# a new executable file"):
        assert f"{words}\n" in form
    assert read_form(form, bare(change(*files, script))).comments == ()


def test_a_review_written_in_an_editor_is_saved_then_sent(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", "1", code=1)
    script = tmp_path / "editor.py"
    lab.env["EDITOR"] = f"{sys.executable} {script}"

    def edits(*pairs: tuple[str, str]) -> None:
        replaced = "".join(f".replace({old!r}, {new!r}, 1)" for old, new in pairs)
        script.write_text(
            f"import pathlib, sys\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text(){replaced})\n"
        )

    edits()
    assert "Nothing was changed" in lab.burnish("review", "1", "--edit").err
    script.write_text("import pathlib, sys\npathlib.Path(sys.argv[1]).write_text('\\n')\n")
    assert "The form is empty, so nothing is sent." in lab.burnish("review", "1", "--edit").err
    line = "+    return a / b  # BUG\n"
    edits((line, f"{line}> Handle zero.\n> Return None.\n"))
    assert "Saved 1 comment as a draft" in lab.burnish("review", "1", "--edit").out
    assert not lab.show(1)["findings"]
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    edits((line, f"+    return 0\n> Why {token}?\n"))
    answer = lab.burnish("review", "1", "--edit", code=None)
    assert answer.code == 2 and "differs from the change" in answer.err and "Your text is in" in answer.err
    rejected = Path(answer.err.partition("Your text is in ")[2].split(";")[0])
    assert "+    return 0\n> Why " in rejected.read_text() and token not in rejected.read_text()
    # nothing that was typed is lost: the form begins with it, until the change is another one
    edits()
    assert "text that was refused before" in lab.burnish("review", "1", "--edit").err and rejected.exists()
    edits(("+    return 0\n", line), ("verdict:", "verdict: request changes"), ("> Return None.", "> Return nothing."))
    assert "request_changes (F1)" in lab.burnish("review", "1", "--edit").out and not rejected.exists()
    (finding,) = lab.show(1)["findings"]
    assert (finding["file"], finding["line"], finding["quote"]) == ("app.py", 4, "    return a / b  # BUG")
    assert "Return nothing." in finding["description"] and lab.task()["status"] == "in_progress"
    assert lab.burnish("review", "--edit", code=None).code == 2
