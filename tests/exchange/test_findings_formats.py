"""Findings as SARIF, rdjson and annotations, and back."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.checks.rdjson import read_rdjson
from burnish.checks.sarif import read_sarif
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver, outside_rule
from burnish.exchange.rdjson import write_rdjson
from burnish.exchange.sarif import write_sarif
from burnish.exchange.workflow_commands import write_annotations
from testing.long_forms import examples

VISIBLE = st.characters(exclude_categories=("C", "Z"))
LINE = st.text(VISIBLE | st.just(" "), max_size=60).map(lambda text: " ".join(text.split()))
TITLE = LINE.filter(bool)
PROSE = st.lists(LINE, max_size=4).map(lambda lines: "\n".join(lines).strip())
NAME = st.text(VISIBLE | st.sampled_from(" :%#?"), min_size=1, max_size=12).filter(
    lambda text: "/" not in text and text.strip(".") and text == text.strip()
)
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)


@st.composite
def remarks(draw: st.DrawFn) -> Remark:
    file = draw(st.none() | PATH)
    line = draw(st.none() | st.integers(1, 5000)) if file else None
    return Remark(
        category=draw(st.sampled_from(list(Category))),
        severity=draw(st.sampled_from(list(Severity))),
        title=draw(TITLE),
        description=draw(PROSE),
        suggestion=draw(PROSE),
        file=file,
        line=line,
        end_line=line + draw(st.integers(0, 9)) if line and draw(st.booleans()) else None,
        quote=draw(PROSE),
        rule=draw(LINE | st.sampled_from(["comment", "E501", "group:x", "a/b"])),
        confidence=draw(st.none() | st.floats(0, 1)),
    )


def numbered(found: list[Remark]) -> tuple[Finding, ...]:
    return tuple(Finding(f"F{number}", remark) for number, remark in enumerate(found, 1))


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


@settings(max_examples=examples(200))
@given(st.lists(remarks(), max_size=5))
def test_sarif_is_read_back_to_the_same_findings(found: list[Remark]) -> None:
    report = read_sarif(as_bytes(write_sarif(numbered(found), version="1")), source="me")
    assert report.error == "" and report.tool == "burnish"
    assert report.remarks == tuple(replace(one, rule=outside_rule(one.rule), source="me") for one in found)


@settings(max_examples=examples(200))
@given(st.lists(remarks(), max_size=5))
def test_rdjson_is_read_back_to_the_same_problems_at_the_same_places(found: list[Remark]) -> None:
    report = read_rdjson(as_bytes(write_rdjson(numbered(found))), source="me")
    assert report.error == ""
    expected = sorted(found, key=lambda one: one.severity.rank)
    for read, one in zip(report.remarks, expected, strict=True):
        assert (read.severity, read.file, read.line, read.end_line) == (one.severity, one.file, one.line, one.end_line)
        assert read.rule == outside_rule(one.rule)
        assert one.title in read.description and one.description in read.description


def finding(id: str = "F1", **fields: Any) -> Finding:
    life = {name: fields.pop(name) for name in ("state", "waiver", "note") if name in fields}
    facts = {"category": Category.CODE, "severity": Severity.ERROR, "title": "Zero is not handled"} | fields
    return Finding(id, Remark(**facts), **life)


def only_result(one: Finding, identity: str = "p/1.1") -> dict[str, Any]:
    return dict(write_sarif((one,), version="1", identity=identity)["runs"][0]["results"][0])


def test_a_fingerprint_stays_with_the_finding_when_its_words_and_line_change() -> None:
    before = only_result(finding(file="a.py", line=3))["partialFingerprints"]
    after = only_result(finding(file="a.py", line=9, title="Division by zero"))["partialFingerprints"]
    assert before["burnishFinding/v1"] == after["burnishFinding/v1"]
    other = only_result(finding("F2", file="a.py", line=3))["partialFingerprints"]
    assert other["burnishFinding/v1"] != before["burnishFinding/v1"]
    assert other["burnishContent/v1"] == before["burnishContent/v1"]
    assert only_result(finding(), identity="p/2.1")["partialFingerprints"] != before


def test_waived_and_withdrawn_findings_are_suppressed_and_resolved_ones_left_out() -> None:
    waiver = Waiver("ada", "old code", "2026-01-01")
    log = write_sarif(
        (
            finding("F1", state=FindingState.WAIVED, waiver=waiver),
            finding("F2", state=FindingState.RESOLVED, note="withdrawn: the caller checks it"),
            finding("F3", state=FindingState.RESOLVED, note="fixed"),
            finding("F4"),
        ),
        version="1",
    )
    results = {one["properties"]["burnish"]["id"]: one for one in log["runs"][0]["results"]}
    assert list(results) == ["F1", "F2", "F4"]
    assert results["F1"]["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "old code"}]
    assert "suppressions" in results["F2"] and "suppressions" not in results["F4"]
    # what is suppressed does not come back as a finding
    assert len(read_sarif(as_bytes(log), source="me").remarks) == 1


def test_a_path_is_a_relative_uri_whatever_it_is_called() -> None:
    path = "a:b/c d%20#x?.py"
    place = only_result(finding(file=path, line=2, end_line=4))["locations"][0]["physicalLocation"]
    parts = urlsplit(place["artifactLocation"]["uri"])
    assert (parts.scheme, parts.query, parts.fragment) == ("", "", "") and unquote(parts.path) == path
    assert place["region"] == {"startLine": 2, "endLine": 4}


def test_a_path_that_is_not_utf8_survives_sarif() -> None:
    path = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    assert only_result(finding(file=path))["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "caf%E9.py"
    log = write_sarif((finding(file=path),), version="1")
    assert read_sarif(as_bytes(log), source="me").remarks[0].file == path


def test_every_result_names_a_rule_that_is_listed() -> None:
    found = (finding("F1", rule="E501"), finding("F2"), finding("F3", category=Category.SECURITY), finding("F4"))
    run = write_sarif(found, version="1")["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["E501", "burnish/code", "burnish/security"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    assert "security-severity" in rules[2]["properties"] and "security-severity" not in rules[0]["properties"]


LEVELS = {"none", "note", "warning", "error"}


def test_sarif_has_the_required_fields_and_no_unknown_ones() -> None:
    log = write_sarif((finding(file="a.py", line=1, quote="x"), finding("F2", suggestion="s")), version="1")
    assert log["version"] == "2.1.0" and log.keys() == {"$schema", "version", "runs"}
    run = log["runs"][0]
    assert run.keys() == {"tool", "columnKind", "results"}
    allowed = {"ruleId", "ruleIndex", "level", "message", "partialFingerprints", "properties", "locations"}
    for result in run["results"]:
        assert result.keys() <= allowed and result["level"] in LEVELS and result["message"]["text"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())


@pytest.mark.parametrize(
    ("severity", "command"), [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "notice")]
)
def test_an_annotation_is_one_line_of_the_right_kind(severity: Severity, command: str) -> None:
    one = finding(
        severity=severity, title="50% off, a: b", description="one\r\ntwo", file="a,b:c.py", line=3, end_line=5
    )
    (line,) = write_annotations((one,))
    assert re.fullmatch(rf"::{command} [^\r\n]*", line)
    options, text = line.removeprefix(f"::{command} ").split("::", 1)
    assert "file=a%2Cb%3Ac.py" in options.split(",") and "line=3" in options and "endLine=5" in options
    assert text.startswith("50%25 off, a: b%0A%0Aone%0Atwo")


def test_text_of_an_agent_cannot_start_another_workflow_command() -> None:
    one = finding(title="x\n::set-output name=a::b", description="\n::stop-commands::t", file="a\n::error::.py")
    assert len(list(write_annotations((one,)))) == 1
    assert "\n" not in next(write_annotations((one,)))


def test_an_annotation_has_no_control_and_direction_characters() -> None:
    one = finding(title="a\u202eb", description="c\x1b[2Jd\u2028e", file="f\u2066.py", line=1)
    (line,) = write_annotations((one,))
    assert not re.search("[\x00-\x1f\u2028\u202e\u2066]", line)


def test_annotations_list_open_findings_only_and_errors_first() -> None:
    found = (
        finding("F1", severity=Severity.INFO),
        finding("F2", state=FindingState.RESOLVED),
        finding("F3"),
    )
    assert [line.split(" ")[0] for line in write_annotations(found)] == ["::error", "::notice"]


# The parts of the schema of SARIF 2.1.0 (OASIS, sections 3.13 to 3.49) that burnish writes; unknown properties are
# refused here as they are there. BURNISH_SARIF_SCHEMA names the whole schema, which a package of npm has
# (sarif-2.1.0.json in @microsoft/sarif-multitool-linux).
TEXT = {"type": "string"}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {**TEXT, "minLength": 1}}}
MESSAGE["additionalProperties"] = False
BAG = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True, "items": TEXT}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def many(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


REGION = closed(["startLine"], startLine={"type": "integer", "minimum": 1}, endLine={"type": "integer", "minimum": 1})
ARTIFACT = closed(["uri"], uri={**TEXT, "pattern": r"^(?![A-Za-z][A-Za-z0-9+.-]*:)[!-~]+$"}, uriBaseId=TEXT)
PLACE = closed(["artifactLocation"], artifactLocation=ARTIFACT, region=REGION)
RULE = closed(
    # what code scanning of GitHub requires of a rule (GH2012 of the SARIF validator)
    ["id", "shortDescription", "fullDescription", "help"],
    id=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=closed([], level=LEVEL),
    properties=BAG,
)
RESULT = closed(
    ["message"],
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    properties=BAG,
    locations=many(closed([], physicalLocation=PLACE)),
    suppressions=many(
        closed(
            ["kind"],
            kind={"enum": ["inSource", "external"]},
            status={"enum": ["accepted", "underReview", "rejected"]},
            justification=TEXT,
        ),
        uniqueItems=True,
    ),
)
RUN = closed(
    ["tool"],
    tool=closed(["driver"], driver=closed(["name"], name=TEXT, version=TEXT, rules=many(RULE, uniqueItems=True))),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=many(RESULT),
)
SARIF = closed(["version", "runs"], **{"$schema": TEXT, "version": {"enum": ["2.1.0"]}, "runs": many(RUN)})


@settings(max_examples=examples(100))
@given(st.lists(remarks(), max_size=5), st.sampled_from([FindingState.OPEN, FindingState.WAIVED]))
def test_sarif_follows_the_schema(found: list[Remark], state: FindingState) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    waiver = Waiver("ada", "", "2026-01-01") if state is FindingState.WAIVED else None
    findings = tuple(replace(one, state=state, waiver=waiver) for one in numbered(found))

    log = json.loads(json.dumps(write_sarif(findings, version="1", identity="p/1.1")))

    jsonschema.Draft7Validator(SARIF).validate(log)
    if path := os.environ.get("BURNISH_SARIF_SCHEMA"):
        jsonschema.validate(log, json.loads(Path(path).read_text("utf-8")))
    ids = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert all(ids[one["ruleIndex"]] == one["ruleId"] for one in log["runs"][0]["results"])


def test_the_schema_refuses_what_sarif_does_not_have() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    log = write_sarif((finding(file="a.py", line=3),), version="1")
    log["runs"][0]["results"][0]["severity"] = "error"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SARIF).validate(log)
