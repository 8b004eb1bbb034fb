"""Reports of analysers (SARIF, rdjson), as remarks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.checks.rdjson import MAX_DIAGNOSTICS, read_rdjson, read_rdjsonl
from burnish.checks.reading import Reading
from burnish.checks.sarif import read_sarif
from burnish.core.finding import Category, Severity

REGION = {"artifactLocation": {"uri": "./src/a%20b.py"}, "region": {"startLine": 3, "endLine": 4}}
RESULT = {
    "ruleId": "S1",
    "level": "error",
    "message": {"text": "eval is\nevil"},
    "locations": [{"physicalLocation": REGION}],
}
RULES = [{"id": "S1", "properties": {"tags": ["security"]}}]


def sarif(*results: dict[str, Any], **run: Any) -> bytes:
    tool = {"driver": {"name": "scan", "rules": RULES}}
    return json.dumps({"version": "2.1.0", "runs": [{"tool": tool, "results": list(results), **run}]}).encode()


def test_a_sarif_result_becomes_a_finding_with_place_rule_and_source() -> None:
    report = read_sarif(sarif(RESULT), source="user:ada")
    (one,) = report.remarks
    assert (report.tool, one.source, one.rule) == ("scan", "user:ada", "S1")
    assert (one.category, one.severity, one.title) == (Category.SECURITY, Severity.ERROR, "eval is")
    assert (one.file, one.line, one.end_line) == ("src/a b.py", 3, 4)


def test_a_run_that_failed_by_its_own_word_is_not_half_a_review() -> None:
    reading = read_sarif(sarif(invocations=[{"executionSuccessful": False}]), source="")
    assert reading.error == "1 of 1 runs of the analyser failed"


DIAGNOSTIC = {
    "message": "name is not defined",
    "location": {"path": "src/a.py", "range": {"start": {"line": 7, "column": 2}, "end": {"line": 9}}},
    "severity": "WARNING",
    "code": {"value": "F821"},
    "suggestions": [{"text": "import name"}],
}


def test_an_rdjson_diagnostic_becomes_a_finding() -> None:
    text = json.dumps({"source": {"name": "flake8"}, "diagnostics": [DIAGNOSTIC]}).encode()
    report = read_rdjson(text, source="user:ada")
    (one,) = report.remarks
    assert (report.tool, one.severity, one.rule) == ("flake8", Severity.WARNING, "F821")
    assert (one.file, one.line, one.end_line, one.suggestion) == ("src/a.py", 7, 9, "import name")


@pytest.mark.parametrize(
    ("own", "whole", "want"), [(None, "INFO", "info"), (2, None, "warning"), (None, None, "error")]
)
def test_severity_is_the_diagnostics_own_else_the_reports_else_error(own: Any, whole: Any, want: str) -> None:
    text = json.dumps({"severity": whole, "diagnostics": [{**DIAGNOSTIC, "severity": own}]}).encode()
    assert read_rdjson(text, source="").remarks[0].severity == want


def test_one_diagnostic_a_line_is_read_as_well() -> None:
    report = read_rdjsonl(b"\n".join([json.dumps(DIAGNOSTIC).encode()] * 2) + b"\n", source="")
    assert len(report.remarks) == 2
    quoting = json.dumps({**DIAGNOSTIC, "message": "a\u2028b\u0085c"}, ensure_ascii=False)
    assert len(read_rdjsonl(f"{quoting}\n{quoting}\r\n".encode(), source="").remarks) == 2


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.py", "a/../../up.py", "", ".", "..", "a\0b"])
def test_a_path_outside_of_the_repository_is_not_followed(path: str) -> None:
    text = json.dumps({"diagnostics": [{**DIAGNOSTIC, "location": {"path": path}}]}).encode()
    assert read_rdjson(text, source="").remarks[0].file is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"runs": 1}', '{"diagnostics": [{}]}', "[" * 100_000])
def test_what_is_no_report_is_refused_in_words(text: str) -> None:
    for reader in (read_sarif, read_rdjson):
        assert reader(text.encode(), source="").error


def test_a_report_that_was_not_read_to_its_end_has_an_error() -> None:
    text = json.dumps({"diagnostics": [DIAGNOSTIC] * (MAX_DIAGNOSTICS + 1)}).encode()
    reading = read_rdjson(text, source="")
    assert (len(reading.remarks), "only the first" in reading.error) == (MAX_DIAGNOSTICS, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["runs", "results", "message", "text", "diagnostics", "location", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_json_makes_a_reader_fail(value: Any) -> None:
    for reader in (read_sarif, read_rdjson, read_rdjsonl):
        assert isinstance(reader(json.dumps(value).encode(), source=""), Reading)
