"""Reads the JSON reports of jest, vitest (same format) and mocha."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnish.checks.reading import MAX_CASES, Case, Reading, failures_of, local_name, make_counts, path_in_repository
from burnish.core.check import TestFile

_BAD = "failed"


def read_jest(data: bytes, *, root: Path | None = None) -> Reading:
    """Counts and failures of jest's or vitest's JSON report. Never raises."""
    report = _object(data)
    files = report.get("testResults") if report else None
    if not isinstance(files, list):
        return Reading(error="the JSON report has no testResults")
    cases: list[Case] = []
    passes = skips = 0
    for file in files:
        if not isinstance(file, dict):
            continue
        tests = [test for test in _list(file, "assertionResults") if isinstance(test, dict)]
        passes += sum(test.get("status") == "passed" for test in tests)
        skips += sum(test.get("status") not in ("passed", _BAD) for test in tests)
        cases += _of_file(file, tests, root)
        if len(cases) + passes + skips > MAX_CASES:
            return Reading(error=f"it has more than {MAX_CASES} cases")
    test_files = tuple(_results(files, root))
    partial = "the run was interrupted" if report and report.get("wasInterrupted") is True else ""
    counts = make_counts(passes=passes, failures=len(cases), skips=skips)
    return Reading(counts, failures_of(cases), partial=partial, test_files=test_files)


def _results(files: list[Any], root: Path | None) -> Iterator[TestFile]:
    for file in files:
        path = path_in_repository(str(file.get("name") or ""), root) if isinstance(file, dict) else None
        if path:
            states = [test.get("status") for test in _list(file, "assertionResults") if isinstance(test, dict)]
            run = sum(state in ("passed", _BAD) for state in states)
            yield TestFile(path, run, len(states) - run)


def _of_file(file: dict[str, Any], tests: list[dict[str, Any]], root: Path | None) -> Iterator[Case]:
    name = local_name(str(file.get("name") or ""), root)
    path = path_in_repository(name, root)
    failing = [test for test in tests if test.get("status") == _BAD]
    for test in failing:
        titles = [*map(str, _list(test, "ancestorTitles")), str(test.get("title") or "")]
        case = Case(" > ".join([name, *titles]), _BAD, path)
        for line in "\n".join(map(str, _list(test, "failureMessages"))).splitlines():
            case.add(line)
        yield case
    if file.get("status") == _BAD and not failing:
        # with results of its tests the file was loaded: a hook failed after them
        case = Case(name, "error", path, whole=not any(test.get("status") == "passed" for test in tests))
        for line in str(file.get("message") or "").splitlines():
            case.add(line)
        yield case


def read_mocha(data: bytes, *, root: Path | None = None) -> Reading:
    """Counts and failures of mocha's JSON report. Never raises."""
    report = _object(data)
    stats = report.get("stats") if report else None
    failures = report.get("failures") if report else None
    if not isinstance(stats, dict) or not isinstance(failures, list):
        return Reading(error="the JSON report has no stats and failures")
    cases: list[Case] = []
    for test in failures[:MAX_CASES]:
        if not isinstance(test, dict):
            continue
        case = Case(str(test.get("fullTitle") or test.get("title") or ""), _BAD)
        case.file = path_in_repository(str(test.get("file") or ""), root)
        problem = test.get("err")
        for line in str(_stack(problem)).splitlines():
            case.add(line)
        cases.append(case)
    counts = make_counts(passes=_count(stats, "passes"), failures=len(cases), skips=_count(stats, "pending"))
    return Reading(counts, failures_of(cases))


def _stack(problem: Any) -> str:
    return str(problem.get("stack") or problem.get("message") or "") if isinstance(problem, dict) else ""


def _count(stats: dict[str, Any], key: str) -> int:
    value = stats.get(key)
    return value if isinstance(value, int) and value >= 0 else 0


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []


def _object(data: bytes) -> dict[str, Any] | None:
    """The report; skips other output before it."""
    text = data.decode("utf-8", "replace")
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
