"""What the settings change in the loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, Lab

QUIET = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')"


def test_a_required_review_is_skipped_by_nothing(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE, extra="review: {agents: [judge], enabled: false}\n")
    lab.add()
    lab.burnish("run", "--no-review")
    assert lab.task()["review_status"] == "passed"
    assert [c["phase"] for c in lab.calls()] == ["implement", "review"]


def test_a_review_that_is_not_required_can_be_skipped_and_that_is_on_record(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE, extra="review: {agents: [judge], required: false}\n")
    lab.add("First")
    lab.add("Second")
    lab.burnish("run", "1", "--no-review")
    task = lab.task()
    assert (task["status"], task["review_status"], task["final_verdict"]) == ("verified", "skipped", None)
    assert [c["phase"] for c in lab.calls()] == ["implement"]
    lab.burnish("run", "2")
    assert lab.task(2)["review_status"] == "passed"


def test_approval_required_waits_for_a_person(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE, extra="approval: required\n")
    lab.add()
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["review_status"]) == ("waiting_approval", "passed")
    assert len(lab.events("gate.opened")) == 1
    assert "No task is ready" in lab.burnish("run").err


@pytest.mark.long
def test_tests_that_were_skipped_need_a_person_and_lint_still_runs(tmp_path: Path) -> None:
    extra = "checks: {test: 'touch ran-test; false', lint: 'true'}\n"
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE, extra=extra)
    lab.add("Task", "--skip-tests")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "waiting_approval"
    assert [c["name"] for c in lab.show(1)["cycles"][0]["checks"]] == ["lint"]


@pytest.mark.long
def test_without_auto_review_it_stops_in_code_review_and_run_leaves_it_there(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=QUIET, judge=APPROVE)
    lab.add("Task", "-A")
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["review_status"]) == ("code_review", None)
    lab.burnish("run")
    lab.burnish("run", "1", code=1)
    assert [c["phase"] for c in lab.calls()] == ["implement"]


@pytest.mark.long
def test_a_task_without_auto_review_that_changed_nothing_is_not_reviewed_after_a_retry(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="pass", judge=APPROVE)
    lab.add("Task", "-A")
    lab.burnish("run", code=1)
    lab.agent("robot", QUIET)
    lab.burnish("retry", "1", code=1)
    assert lab.task()["status"] == "code_review"
    assert [c["phase"] for c in lab.calls()] == ["implement", "implement"]


@pytest.mark.long
def test_a_plan_is_kept_ends_completed_and_is_handed_to_those_who_need_it(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.agent("robot", "print('1. Mind the gap.') if 'plan' in phase or task == '1' else app.write_text('x = 1\\n')")
    lab.add("Think first", "-t", "plan")
    lab.add("Then act", "--depends-on", "1")
    lab.burnish("run", "--all")
    assert [lab.task(n)["status"] for n in (1, 2)] == ["completed", "verified"]
    assert lab.commits(lab.task(1)["branch"] or "main") == []
    prompts = [c["prompt"] for c in lab.calls() if c["task"] == "2"]
    assert len(prompts) == 2 and all("Mind the gap" in prompt for prompt in prompts)


@pytest.mark.long
def test_what_lint_fix_does_is_part_of_the_commit(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: null, lint: null, lint_fix: 'echo tidy >> app.py'}\n")
    lab.add()
    lab.burnish("run")
    assert lab.text(lab.task()["branch"]).endswith("tidy")


@pytest.mark.parametrize("command", ["no-such-formatter .", "[no-such-formatter, .]"])
def test_a_lint_fix_that_cannot_be_started_is_reported(tmp_path: Path, command: str) -> None:
    checks = f"checks: {{test: null, lint: null, lint_fix: {command}}}\n"
    lab = Lab.make(tmp_path, judge=APPROVE, extra=checks)
    lab.add()
    ended = lab.burnish("run")
    assert ended.code == 0 and "checks.lint_fix could not be started" in ended.err, ended.err
    assert "no-such-formatter" in ended.err


@pytest.mark.slow
def test_setup_runs_once_again_when_a_lock_file_changes_and_leaves_tracked_files_alone(tmp_path: Path) -> None:
    log = tmp_path / "setups"
    setup = f"echo ran >> {log}; echo spoiled > app.py; mkdir -p deps; echo x > deps/y"
    lab = Lab.make(tmp_path, extra=f"workspace: {{setup: '{setup}'}}\n")
    lab.repo.commit({".gitignore": "deps/\n"})
    lab.add("First")
    lab.burnish("run")
    assert log.read_text() == "ran\n"
    assert "spoiled" not in lab.text(lab.task()["branch"])
    assert (Path(lab.burnish("path", "1").out.strip()) / "deps/y").exists()

    lab.agent("robot", AUTHOR + "pathlib.Path('uv.lock').write_text('new\\n')")
    lab.agent("judge", "print(verdict('approved', inspected=['app.py', 'uv.lock']))")
    lab.add("Second")
    lab.burnish("run")
    assert log.read_text() == "ran\n" * 3
    assert "spoiled" not in lab.text(lab.task(2)["branch"])


@pytest.mark.long
def test_a_setup_that_fails_is_told_and_the_agents_are_not_paid_again(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=f"workspace: {{setup: 'test ! -f {tmp_path}/broken'}}\n")
    lab.agent(
        "robot", AUTHOR + f"pathlib.Path({str(tmp_path / 'broken')!r}).touch()\npathlib.Path('uv.lock').write_text('n')"
    )
    lab.agent("judge", "print(verdict('approved', inspected=['app.py', 'uv.lock']))")
    lab.add()
    said = lab.burnish("run", code=3)
    assert lab.task()["error"] == "SETUP_FAILED" and "workspace.setup" in said.out + said.err
    (tmp_path / "broken").unlink()
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert [c["phase"] for c in lab.calls()].count("implement") == 1


@pytest.mark.long
def test_the_commit_message_is_a_template(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="commit: {message: '[{task}.{cycle}] {title} ({phase})'}\n")
    lab.add()
    lab.burnish("run")
    branch = lab.task()["branch"]
    assert lab.commits(branch) == ["[1.1] Add division (implement)", "[1.2] Add division (improve)"]
    assert lab.phases_committed(branch) == [("1", "implement"), ("2", "improve")]


@pytest.mark.long
def test_isolation_gives_agents_and_checks_variables_of_their_own(tmp_path: Path) -> None:
    extra = (
        "isolation: {strategy: env_var, env: {TEST_DB: 'db_{task}_{agent}_{cycle}'}}\n"
        f"checks: {{test: 'echo $TEST_DB >> {tmp_path}/dbs', lint: null}}\n"
    )
    lab = Lab.make(tmp_path, author="here['db'] = os.environ.get('TEST_DB')\n" + AUTHOR, extra=extra)
    lab.add()
    lab.burnish("run")
    assert [c["db"] for c in lab.calls("end") if c["agent"] == "robot"] == ["db_1_robot_1", "db_1_robot_2"]
    assert (tmp_path / "dbs").read_text().split()[1:] == ["db_1_robot_1", "db_1_robot_2"]


@pytest.mark.long
def test_checks_on_a_clean_checkout_do_not_see_ignored_files(tmp_path: Path) -> None:
    hidden = "pathlib.Path('helper.tmp').write_text('cheat')\n"
    for where, status in (("workspace", "passed"), ("clean", "failed")):
        extra = "checks: {test: 'test -f helper.tmp', lint: null, on_failure: review}\n"
        lab = Lab.make(tmp_path / where, author=hidden + QUIET, judge=APPROVE, extra=extra)
        # the user's own word: a repository cannot ask for it
        lab.env["BURNISH__CHECKS__WHERE"] = where
        lab.repo.commit({".gitignore": "*.tmp\n"})
        lab.add("Task", "--max-cycles", "1")
        lab.burnish("run", code=None)
        assert [c["status"] for c in lab.show(1)["cycles"][0]["checks"]] == [status], where


@pytest.mark.slow
def test_a_broken_check_goes_straight_back_or_to_review_as_the_settings_say(tmp_path: Path) -> None:
    author = "app.write_text('ok\\n' if phase == 'improve' else 'broken\\n')"
    for choice, phases in (("fix", ["implement", "improve", "review"]), ("review", ["implement", "review"] * 2)):
        extra = f"checks: {{test: '! grep -q broken app.py', lint: null, on_failure: {choice}}}\n"
        lab = Lab.make(tmp_path / choice, author=author, judge=APPROVE, extra=extra)
        lab.add()
        lab.burnish("run")
        assert lab.task()["status"] == "verified"
        assert [c["phase"].replace("improve", "implement") for c in lab.calls()] == [
            p.replace("improve", "implement") for p in phases
        ]
        cycle = lab.show(1)["cycles"][0]
        assert cycle["review_status"] == "failed"
        assert lab.show(1)["findings"][0]["state"] == "resolved"


@pytest.mark.long
def test_what_checks_leave_behind_is_gone_before_the_next_phase(tmp_path: Path) -> None:
    extra = "checks: {test: 'echo junk > junk.txt; echo spoiled >> app.py', lint: null}\n"
    lab = Lab.make(tmp_path, extra=extra)
    lab.add()
    lab.burnish("run")
    branch = lab.task()["branch"]
    assert "spoiled" not in lab.text(branch)
    assert "junk.txt" not in lab.repo.git("ls-tree", "-r", "--name-only", branch)
