"""burnish export: what other tools get to read of a task and of a night."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Person


@pytest.fixture
def blocked(person: Person) -> Person:
    """Task 1 is blocked with one open finding."""
    person.types("add", "Divide", "--max-cycles", "1")
    person.types("run", "1", code=1)
    return person


@pytest.mark.slow
def test_each_format_of_a_task_can_be_read_by_its_tools(blocked: Person, tmp_path: Path) -> None:
    log = json.loads(blocked.types("export", "1", "--format", "sarif"))
    (result,) = log["runs"][0]["results"]
    assert result["message"]["text"].startswith("Zero is not handled")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert json.loads(blocked.types("export", "1", "--format", "rdjson"))["diagnostics"][0]["severity"] == "ERROR"
    assert blocked.types("export", "1", "--format", "github").startswith("::error title=F1 Zero")
    assert ElementTree.fromstring(blocked.types("export", "1", "--format", "junit")).tag == "testsuites"
    assert blocked.asks("export", "1")["findings"][0]["id"] == "F1"
    target = tmp_path / "report.html"
    assert blocked.types("export", "1", "-o", str(target)) == "" and "report.html" in blocked.err
    assert "Zero is not handled" in target.read_text()
    assert blocked.types("export", "1").startswith("# Task 1: Divide")


def test_an_ending_that_stands_for_no_format_is_refused(person: Person, tmp_path: Path) -> None:
    person.types("add", "Divide")
    for name in ("report.pdf", "report.csv"):
        person.types("export", "1", "-o", str(tmp_path / name), code=2)
        assert f"of {name} stands for no format of a task" in person.err and "--format" in person.err
        assert not (tmp_path / name).exists()
    person.types("export", "--night", "-o", str(tmp_path / "night.sarif"), code=2)
    person.types("export", "1", "--format", "html", "-o", str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").read_text().startswith("<!doctype html>")
    person.types("export", "1", "-o", str(tmp_path / "README"))
    assert (tmp_path / "README").read_text().startswith("# Task 1")
    person.types("export", "1", "-o", str(tmp_path / "out.sarif.json"))
    assert json.loads((tmp_path / "out.sarif.json").read_text())["version"] == "2.1.0"


@pytest.mark.slow
def test_an_exported_report_is_a_review_of_another_task(blocked: Person, tmp_path: Path) -> None:
    blocked.types("export", "1", "-o", str(tmp_path / "r.sarif"))
    blocked.types("add", "Divide again", "--no-auto-review")
    blocked.types("run", "2", code=1)
    blocked.types("review", "2", "--from", str(tmp_path / "r.sarif"), code=1)
    before, after = (blocked.asks("findings", number)["findings"][0] for number in ("1", "2"))
    names = ("title", "description", "severity", "category", "file", "line", "rule", "suggestion", "quote")
    assert {name: before[name] for name in names} == {name: after[name] for name in names}


@pytest.mark.slow
def test_a_night_tells_what_was_done_what_waits_and_the_cost(blocked: Person) -> None:
    night = blocked.asks("export", "--night", "--since", "1h")
    assert night["headline"].startswith("0 done, 1 waiting for a person")
    assert [row["id"] for row in night["tasks"]] == ["1"] and night["waits"][0]["command"].startswith("burnish ")
    assert "cost" in night["figures"]
    assert "Divide" in blocked.types("export", "--night", "--format", "html")
    assert blocked.asks("export", "--night", "--since", "2099-01-01")["tasks"] == []


def test_secrets_of_the_environment_are_redacted(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.types("add", "Use the word blue-orchid-4711-xyz")
    monkeypatch.setenv("SHOP_API_KEY", "blue-orchid-4711-xyz")
    for name in ("markdown", "html", "json"):
        assert "blue-orchid" not in person.types("export", "1", "--format", name)
        assert "blue-orchid" not in person.types("export", "--night", "--format", name)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["export"], "Name a task, or --night."),
        (["export", "1", "--night"], "TASK and --night cannot be combined."),
        (["export", "1", "--since", "1h"], "--since belongs to --night."),
        (["export", "1", "--format", "pdf"], "'pdf' is not a format of a task."),
        (["export", "--night", "--format", "sarif"], "'sarif' is not a format of a night."),
        (["export", "--night", "--since", "soon"], "'soon' is not a time."),
        (["export", "9"], "task 9"),
        (["export", "1", "-o", "missing/x.md"], "Cannot write missing/x.md"),
    ],
)
def test_a_wrong_command_line_is_refused_in_two_lines(person: Person, argv: list[str], words: str) -> None:
    person.types("add", "Divide")
    person.types(*argv, code=2)
    assert words in person.err and len(person.err.splitlines()) == 2
