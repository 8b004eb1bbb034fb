"""Writes findings as SARIF 2.1.0. `checks/sarif.py` reads them back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from burnish.core.finding import Finding, FindingState, Remark, Severity, is_withdrawn

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# what SARIF has no place for; the reader takes it from here
OWN_FIELDS = ("title", "description", "suggestion", "quote", "rule", "confidence")


def write_sarif(findings: Sequence[Finding], *, version: str, identity: str = "") -> dict[str, Any]:
    """Open findings as results; waived and withdrawn ones as suppressed results. Resolved ones are left out.

    `identity` names the task and its run, within which the id of a finding is unique and stays the same.
    """
    selection = [finding for finding in findings if finding.alive or _suppression(finding)]
    ids = list(dict.fromkeys(rule_id(finding.remark) for finding in selection))
    rules = [_rule(name, next(f.remark for f in selection if rule_id(f.remark) == name)) for name in ids]
    driver = {"name": "burnish", "version": version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, ids.index(rule_id(finding.remark)), identity) for finding in selection],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def rule_id(remark: Remark) -> str:
    """The rule that raised it, else its category: code scanning groups results by rule."""
    return remark.rule or f"burnish/{remark.category}"


def _rule(name: str, example: Remark) -> dict[str, Any]:
    security = {"security-severity": "7.0"} if example.category == "security" else {}
    about = f"{example.category} finding" if not example.rule else f"{example.rule} ({example.category})"
    source = "A reviewer or a check" if not example.rule else f"The rule {example.rule}"
    return {
        "id": name,
        "shortDescription": {"text": about[0].upper() + about[1:]},
        # code scanning of GitHub requires both
        "fullDescription": {"text": f"{source} found a problem of the category {example.category}."},
        "help": {"text": "Each result has its own description, and a suggestion if the reviewer made one."},
        "defaultConfiguration": {"level": LEVELS[example.severity]},
        "properties": {"tags": [example.category.value], **security},
    }


def _result(finding: Finding, index: int, identity: str) -> dict[str, Any]:
    remark = finding.remark
    result: dict[str, Any] = {
        "ruleId": rule_id(remark),
        "ruleIndex": index,
        "level": LEVELS[remark.severity],
        "message": {"text": message(remark)},
        "partialFingerprints": _fingerprints(finding, identity),
        "properties": {
            "burnish": {
                "id": finding.id,
                "state": finding.state.value,
                "category": remark.category.value,
                "reviewers": list(finding.reviewers),
                **{name: value for name in OWN_FIELDS if (value := getattr(remark, name)) not in ("", None)},
            }
        },
    }
    if remark.file:
        result["locations"] = [{"physicalLocation": _place(remark)}]
    if suppression := _suppression(finding):
        result["suppressions"] = [suppression]
    return result


def message(remark: Remark) -> str:
    """Title and description as one text; most tools show nothing else."""
    description = remark.description.strip()
    if not description or description == remark.title:
        return remark.title
    return description if description.startswith(remark.title) else f"{remark.title}\n\n{description}"


def _place(remark: Remark) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri(remark.file or ""), "uriBaseId": "%SRCROOT%"}}
    if remark.line:
        has_end = remark.end_line and remark.end_line >= remark.line
        place["region"] = {"startLine": remark.line} | ({"endLine": remark.end_line} if has_end else {})
    return place


def uri(path: str) -> str:
    """A relative URI reference. A colon would make the first folder a scheme; other bytes than UTF-8 stay the same."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/")


def _fingerprints(finding: Finding, identity: str) -> Mapping[str, str]:
    """`burnishFinding` stays with the finding through all cycles; `burnishContent` is the same in any review."""
    remark = finding.remark
    content = (remark.file or "", rule_id(remark), " ".join((remark.quote or remark.title).casefold().split()))
    own = {"burnishFinding/v1": _hash(identity, finding.id)} if identity else {}
    return {**own, "burnishContent/v1": _hash(*content)}


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _suppression(finding: Finding) -> dict[str, Any] | None:
    if finding.state is FindingState.WAIVED:
        reason = finding.waiver.reason if finding.waiver else finding.note
    elif is_withdrawn(finding):
        reason = finding.note
    else:
        return None
    return {"kind": "external", "status": "accepted", "justification": reason}
