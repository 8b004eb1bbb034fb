"""Whatever the change: no finding outside changed lines, none twice, and no exception."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Verdict
from burnish.review.static.files import scan_file
from burnish.review.static.review import conclude, elsewhere
from testing.long_forms import examples

SUFFIXES = [".py", ".json", ".toml", ".yml", ".js", ".md", ".rb", ".env", ".lock", "", ".png"]
TELLING = """<<<<<<< a|=======|>>>>>>> b|debugger;|breakpoint()|{|}|[|a: b|a: &x|- *x|a = 1|# ruff: noqa
console.log(1)|-----BEGIN RSA PRIVATE KEY-----|password = "k8Qz2Lx9Vt4Rm7Wp3Yc6\""""
LINES = st.one_of(st.text(max_size=30), st.sampled_from(TELLING.replace("\n", "|").split("|")))
PATHS = st.builds(lambda name, suffix: name + suffix, st.text(min_size=1, max_size=12), st.sampled_from(SUFFIXES))
ODD = st.sampled_from(["a\nb.py", "tests/\udcff.json", "-x.yml", "a b/c.js", "\u202e.md", "x" * 300 + ".toml"])
BYTES = st.one_of(
    st.binary(max_size=200), st.lists(LINES, max_size=12).map(lambda ls: "\n".join(ls).encode("utf-8", "replace"))
)


@st.composite
def changed(draw: st.DrawFn) -> tuple[ChangedFile, bytes | None, str | None]:
    data = draw(st.one_of(st.none(), BYTES))
    status = draw(st.sampled_from("AMDRT"))
    # Said to be changed, whether or not there is such a line: a hunk may lie.
    start, count = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    hunks = (Hunk(1, 1, start, count, f"@@ -1 +{start},{count} @@\n-x\n" + "+y\n" * count),)
    file = ChangedFile(
        path=draw(st.one_of(PATHS, ODD)),
        status=status,
        old_path=draw(st.sampled_from([None, "old.py"])),
        new_mode=draw(st.sampled_from(["100644", "120000", "160000", "100755"])),
        binary=draw(st.booleans()),
        hunks=hunks if draw(st.booleans()) else (),
    )
    return file, data, draw(st.one_of(st.none(), st.text(max_size=40)))


@st.composite
def remarks(draw: st.DrawFn, paths: list[str]) -> Remark:
    return Remark(
        Category.CODE,
        draw(st.sampled_from(list(Severity))),
        draw(st.text(max_size=5)),
        file=draw(st.sampled_from([*paths, "elsewhere.py", None])),
        line=draw(st.one_of(st.none(), st.integers(-2, 12))),
        end_line=draw(st.one_of(st.none(), st.integers(-2, 10**8))),
        rule=draw(st.sampled_from(["F821", "syntax-error", "S110", "E722", "X"])),
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(60))
@given(st.data())
def test_every_finding_stands_on_a_changed_line(data: st.DataObject) -> None:
    parts = data.draw(st.lists(changed(), max_size=4, unique_by=lambda part: part[0].path))
    change = Change("0", "1", tuple(file for file, _, _ in parts))
    files = {f.path: seen for f, d, base in parts if (seen := scan_file(f, d, lambda _, base=base: base)) is not None}
    found = data.draw(st.lists(remarks([f.path for f in change.files]), max_size=8))

    review = conclude(change, files, found, caused_remarks=elsewhere(files, found))

    assert review.inspected == tuple(p for p in change.paths if p not in files or files[p].lines)
    for remark in review.remarks:
        file = change.file(remark.file or "")
        assert file is not None and remark.rule and remark.source == "static"
        if remark.line is not None:
            assert set(range(remark.line, (remark.end_line or remark.line) + 1)) <= file.changed_lines()
    places = [(r.file, r.line, r.rule, r.title if r.line is None else "") for r in review.remarks]
    assert len(places) == len(set(places))
    errors = any(remark.severity is Severity.ERROR for remark in review.remarks)
    assert (review.verdict is Verdict.CHANGES_REQUESTED) is errors
