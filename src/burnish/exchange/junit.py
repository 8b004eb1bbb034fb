"""Writes the last checks of a task as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

# characters that XML 1.0 does not allow, not even escaped
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(checks: Sequence[Mapping[str, Any]], *, name: str) -> str:
    """One suite for each check: its own result, and a test case for each test that is new, old or fixed.

    Tests that fail on the base as well are listed as skipped: the change has not broken them.
    """
    root = ElementTree.Element("testsuites", {"name": _text(name)})
    for check in checks:
        _suite(root, check)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _suite(root: ElementTree.Element, check: Mapping[str, Any]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(check.get("name"))})
    if check.get("seconds") is not None:
        suite.set("time", f"{check['seconds']:.3f}")
    _own_case(suite, check)
    messages = check.get("new_messages") or {}
    for test in check.get("new") or ():
        failure = ElementTree.SubElement(_case(suite, check, test), "failure", {"message": "fails since this change"})
        failure.text = _text(messages.get(test))
    for test in check.get("old") or ():
        ElementTree.SubElement(_case(suite, check, test), "skipped", {"message": "fails on the base as well"})
    for test in check.get("fixed") or ():
        _case(suite, check, test)
    cases = list(suite.findall("testcase"))
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))


def _own_case(suite: ElementTree.Element, check: Mapping[str, Any]) -> None:
    case, status = _case(suite, check, check.get("name")), check.get("status")
    why = _text(check.get("why") or check.get("error") or check.get("uncountable"))
    if status == "not_run":
        ElementTree.SubElement(case, "skipped", {"message": why or "not run"})
    elif status == "error":
        ElementTree.SubElement(case, "error", {"message": why or "could not be run"}).text = _text(check.get("tail"))
    elif status == "failed" and not check.get("new") and not check.get("old"):
        problem = ElementTree.SubElement(case, "failure", {"message": why or f"exit code {check.get('exit_code')}"})
        problem.text = _text(check.get("tail"))
    counts = check.get("counts") or {}
    figures = ", ".join(f"{counts[key]} {key}" for key in ("passed", "failed", "skipped") if counts.get(key))
    ElementTree.SubElement(case, "system-out").text = _text(f"{check.get('command') or ''}\n{figures}".strip())


def _case(suite: ElementTree.Element, check: Mapping[str, Any], name: Any) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": _text(check.get("name")), "name": _text(name)})


def _text(value: Any) -> str:
    return _FORBIDDEN.sub("\ufffd", str(value or ""))
