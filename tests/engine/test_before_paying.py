"""What cannot work stops a task before an agent is paid, and says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, AUTHOR, Lab


def checks(text: str) -> str:
    return f"checks: {{test: null, lint: null, {text}}}\n"


@pytest.mark.slow
def test_a_check_that_cannot_be_started_stops_before_the_agent_and_retry_works(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: null, lint: golangci-lint-nowhere run}\n")
    lab.add()
    told = lab.burnish("run", code=3)
    task = lab.task()
    assert (task["status"], task["error"], task["cycle"]) == ("failed", "CHECK_ERROR", 0)
    assert lab.calls() == []
    assert "golangci-lint-nowhere: not found" in told.out
    lab.settle("checks: {test: null, lint: 'true'}\n")
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_what_was_missing_at_the_base_is_tried_again(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    lab = Lab.make(tmp_path, judge=APPROVE, extra=checks(f"extra: {{scan: '{tool}'}}"))
    lab.add()
    lab.burnish("run", code=3)
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_check_that_times_out_at_the_base_stops_before_the_agent(tmp_path: Path) -> None:
    slow = checks("extra: {slow: {command: 'echo ..; sleep 60', timeout_minutes: 0.01}}")
    lab = Lab.make(tmp_path, judge=APPROVE, extra=slow)
    lab.add()
    said = lab.burnish("run", code=3).out
    assert lab.task()["error"] == "CHECK_ERROR" and lab.calls() == []
    # the dots are pytest's progress, not a reason
    assert "It timed out after 0.01 minutes. If it only needs more time" in " ".join(said.split())
    assert "raise `timeout_minutes` of checks.extra.slow" in said
    assert "timeout_minutes" in lab.burnish("init", "--try", code=None).out


@pytest.mark.long
def test_a_check_that_does_not_block_is_left_out_with_a_note(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=checks("extra: {scan: {command: nowhere-x, blocking: false}}"))
    lab.add()
    assert "scan is left out" in lab.burnish("run").err
    assert lab.task()["status"] == "verified"


def test_a_base_whose_tests_fail_is_no_reason_to_stop(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=checks("extra: {old: 'exit 1'}"))
    lab.add()
    lab.burnish("run", code=None)
    assert [call["phase"] for call in lab.calls()][:1] == ["implement"]


def test_without_any_agent_the_message_names_what_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path)
    lab.commit_settings("agent: auto\nchecks: {test: null, lint: null}\nreview: {agents: [static]}\n")
    bare = tmp_path / "bin"
    bare.mkdir()
    (bare / "git").symlink_to("/usr/bin/git")
    lab.env["PATH"] = str(bare)
    lab.add()
    told = lab.burnish("run", code=3)
    task = lab.task()
    assert (task["status"], task["error"], task["cycle"]) == ("failed", "AGENT_MISSING", 0)
    assert "No agent program was found on PATH: looked for claude, codex, gemini" in told.out
    assert "''" not in told.out


def test_a_reviewer_that_is_not_there_stops_before_the_author(lab: Lab) -> None:
    lab.settle("review: {agents: [gemini]}\n")
    lab.env["PATH"] = "/usr/bin:/bin"
    lab.add()
    assert "gemini was not found on PATH" in lab.burnish("run", code=3).out
    assert lab.task()["error"] == "AGENT_MISSING" and lab.calls() == []


BROKEN = "printf 'collecting\\\\nModuleNotFoundError: No module named trustme\\\\nhint: read the manual\\\\n'; exit 3"


@pytest.mark.long
def test_a_failed_setup_shows_its_first_error_and_its_end(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=f'workspace: {{setup: "{BROKEN}"}}\n')
    lab.add()
    told = lab.burnish("run", code=3)
    assert "exit code 3: ModuleNotFoundError: No module named trustme." in " ".join(told.out.split())
    assert "│ hint: read the manual" in told.err
    assert "│ hint: read the manual" in lab.burnish("show", "1").out
    assert lab.burnish("show", "1", "--json").json["output"].endswith("hint: read the manual")
    assert "hint: read the manual" in lab.burnish("log", "1", "--phase", "setup").out
    assert lab.calls() == []


@pytest.mark.long
def test_a_check_that_breaks_names_the_cause_in_its_finding(tmp_path: Path) -> None:
    author = "app.write_text('raise ImportError(\"no trustme\")\\n')"
    check = f"{Path('/usr/bin/env')} python3 app.py"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra=checks(f"extra: {{start: '{check}'}}"))
    lab.add()
    lab.burnish("run", code=1)
    assert "ImportError: no trustme" in lab.burnish("findings", "1").out


@pytest.mark.long
def test_the_log_of_the_checks_has_every_run(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=checks("extra: {talk: 'echo checked'}"))
    lab.add()
    lab.burnish("run")
    shown = lab.burnish("log", "1", "--phase", "check").out
    assert shown.count("checked") == 3  # the base and both cycles
    assert "── cycle 2 check" in shown and "── baseline" in shown


@pytest.mark.slow
def test_a_check_that_printed_nothing_is_reported_as_such(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=checks("extra: {quiet: 'true'}"))
    lab.add()
    assert "No output yet" in lab.burnish("log", "1", "--phase", "check").err
    lab.burnish("run")
    told = lab.burnish("log", "1", "--phase", "check").err
    assert "Check ran and printed nothing." in told and "burnish run" not in told
    assert "No output yet" in lab.burnish("log", "1", "--phase", "improve").err


@pytest.mark.long
def test_a_sarif_report_is_named_in_the_log_and_not_printed(tmp_path: Path) -> None:
    rules = '{"version":"2.1.0","$schema":"https://example.org/sarif-2.1.0.json","runs":[{"tool":{"driver":{"name":"x"}},"results":[]}]}'
    (tmp_path / "report").write_text(rules)
    lab = Lab.make(tmp_path, extra=checks(f"extra: {{scan: {{command: cat {tmp_path}/report, sarif: '-'}}}}"))
    lab.add()
    lab.burnish("run")
    shown = lab.burnish("log", "1", "--phase", "check").out
    assert "SARIF report," in shown and "driver" not in shown


@pytest.mark.long
def test_retry_after_a_failed_setup_works_in_the_sandbox(tmp_path: Path) -> None:
    """The `.venv` that the first attempt left must not be mounted read-only."""
    needs_bubblewrap()
    made = "mkdir -p .venv/bin && touch .venv/bin/tool && echo x >> .venv/pyvenv.cfg"
    lab = Lab.make(tmp_path, judge=APPROVE, confined=True, extra=f"workspace: {{setup: '{made} && exit 1'}}\n")
    lab.repo.commit({".gitignore": ".venv/\n"})
    lab.add()
    lab.burnish("run", code=3)
    lab.settle(f"workspace: {{setup: '{made}'}}\n")
    lab.burnish("retry", "1", code=None)
    assert lab.task()["error"] is None, lab.burnish("show", "1").out


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "settings",
    ["workspace: {setup: test -f deps.txt}\n", "checks: {test: test -f deps.txt || exit 127, lint: null}\n"],
    ids=["set-up", "baseline"],
)
def test_retry_of_a_task_whose_author_was_never_called_starts_from_the_new_base(tmp_path: Path, settings: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra=settings)
    lab.add()
    lab.burnish("run", code=3)
    assert lab.calls() == []
    lab.repo.commit({"deps.txt": "attrs\n"})
    lab.burnish("retry", "1")
    task = lab.show()
    assert task["status"] == "verified" and task["base"] == lab.repo.git("rev-parse", "main").strip()


@pytest.mark.slow
def test_retry_of_a_task_whose_author_was_called_keeps_its_base(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author="sys.exit(3)")
    lab.add()
    lab.burnish("run", code=None)
    base = lab.show()["base"]
    lab.repo.commit({"deps.txt": "attrs\n"})
    lab.agent("robot", AUTHOR)
    lab.burnish("retry", "1")
    assert lab.show()["base"] == base


@pytest.mark.long
def test_every_command_tells_why_a_set_up_failed(tmp_path: Path) -> None:
    fails = "echo start; echo error: no such package x; echo the end; exit 2"
    lab = Lab.make(tmp_path, extra=f"checks: {{test: 'true', lint: null}}\nworkspace: {{setup: '{fails}'}}\n")
    lab.add()
    lab.burnish("run", code=3)
    assert lab.burnish("findings", "1", "--json").json["error"] == "SETUP_FAILED"
    for told in (lab.burnish("show", "1").out, lab.burnish("findings", "1").err):
        assert "exit code 2: error: no such package x" in " ".join(told.split()) and "│ the end" in told
    assert "error: no such package x" in lab.burnish("log", "1", "--phase", "setup").out
    assert "burnish log 1 --phase setup" in lab.burnish("log", "1", "--phase", "check").err
