"""Rules by which burnish recognizes its own findings cannot come from a reviewer, a report or a test."""

from __future__ import annotations

import json

import pytest

from burnish.checks.rdjson import read_rdjson
from burnish.checks.sarif import read_sarif
from burnish.core.criteria import criterion_rule
from burnish.core.finding import COMMENT_RULE, REMARK_RULE
from burnish.core.ledger.remark_grouping import MORE_REMARKS_RULE
from burnish.review.reading import remark

OWN = [
    COMMENT_RULE,
    REMARK_RULE,
    criterion_rule("no crash"),
    "group:same:0123456789abcdef",
    f"{MORE_REMARKS_RULE}:judge",
]


@pytest.mark.parametrize("rule", OWN)
def test_a_rule_of_burnish_named_by_a_reviewer_is_another_rule(rule: str) -> None:
    finding = {"title": "Typo", "description": "A typo.", "category": "compliance", "severity": "error", "rule": rule}
    assert remark(finding, "judge", []).rule == f"reported:{rule}"


@pytest.mark.parametrize("rule", OWN)
def test_a_rule_of_burnish_named_by_a_report_is_another_rule(rule: str) -> None:
    result = {"ruleId": rule, "message": {"text": "Typo"}}
    sarif = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "lint"}}, "results": [result]}]}
    diagnostic = {"message": "Typo", "code": {"value": rule}, "location": {"path": "app.py"}}
    found = [
        *read_sarif(json.dumps(sarif).encode(), source="check:lint").remarks,
        *read_rdjson(json.dumps({"diagnostics": [diagnostic]}).encode(), source="check:lint").remarks,
    ]
    assert [one.rule for one in found] == [f"reported:{rule}"] * 2
