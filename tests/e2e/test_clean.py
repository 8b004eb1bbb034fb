"""`burnish clean`: room is made, and nothing that was not saved is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnish.adapters.checks.environments import CheckEnvironment, CheckEnvironments
from burnish.adapters.checks.stored_environments import delete_unused, environment_in_use
from testing.lab import APPROVE, Lab


def workspace(lab: Lab, number: str = "1") -> Path:
    return Path(lab.burnish("path", number).out.strip())


def done(lab: Lab, title: str = "Add division") -> tuple[str, Path]:
    number = lab.add(title)
    lab.burnish("run", number)
    place = workspace(lab, number)
    lab.burnish("merge", number)
    return number, place


@pytest.mark.slow
def test_it_shows_what_lies_there_and_removes_nothing_by_itself(lab: Lab) -> None:
    number, place = done(lab)
    said = lab.burnish("clean", "--json").json
    (one,) = said["tasks"]
    assert one["id"] == number and one["status"] == "completed"
    assert all(one["bytes"][part] > 0 for part in ("workspace", "calls"))
    assert one["bytes"]["snapshot"] == 0, "the clean tree went when the run ended"
    assert said["removed"] == [] and place.is_dir()
    assert "burnish clean --all-completed" in lab.burnish("clean").err
    lab.burnish("clean", "--all-completed", "--dry-run")
    assert place.is_dir()


@pytest.mark.long
def test_all_completed_takes_what_is_over_and_leaves_what_is_not(lab: Lab) -> None:
    _, place = done(lab)
    lab.add("Second")
    lab.burnish("run", "2")
    second, before = workspace(lab, "2"), lab.repo.fingerprint()
    said = lab.burnish("clean", "--all-completed", "--json").json
    assert [one["name"] for one in said["removed"]] == ["1-add-division"]
    assert not place.exists() and second.is_dir() and lab.repo.fingerprint() == before
    assert lab.refs("refs/heads/burnish/") and lab.show()["cycles"], "branch and story stay"
    assert lab.burnish("clean", "--json").json["tasks"][-1]["bytes"]["workspace"] == 0


@pytest.mark.slow
def test_unsaved_work_is_under_a_rescue_ref_before_it_goes(lab: Lab) -> None:
    number, place = done(lab)
    (place / "idea.py").write_text("mine = 1\n")
    (place / "app.py").write_text("changed\n")
    (saved,) = lab.burnish("clean", number, "--json").json["removed"]
    assert lab.text(saved["rescue"], "idea.py") == "mine = 1" and lab.text(saved["rescue"]) == "changed"
    assert not place.exists()
    assert saved["rescue"] in lab.burnish("clean", "--rescues").out
    assert [r["ref"] for r in lab.burnish("clean", "--rescues", "--json").json["rescues"]] == [saved["rescue"]]


@pytest.mark.long
def test_what_is_never_committed_because_of_its_name_is_kept_beside_and_said(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="workspace: {copy: [.env.local]}\n")
    lab.repo.commit({".gitignore": "ignored/\n*.p12\n"})
    (lab.repo.path / ".env.local").write_text("of the checkout\n")
    number, place = done(lab)
    for name in (".env", ".env.local", "keys/id_rsa", "ignored/server.pem", "mine.p12"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(f"in {name}\n")
    outside = tmp_path / "outside"
    outside.write_text("theirs\n")
    outside.chmod(0o644)
    (place / "link.pem").symlink_to(outside)
    said = lab.burnish("clean", number)
    (kept,) = place.parent.glob(f".withheld-{place.name}-*")
    assert str(kept) in said.err and "'.env'" in said.err and not place.exists()
    assert {str(p.relative_to(kept)) for p in kept.rglob("*") if not p.is_dir()} == {".env", "keys/id_rsa", "link.pem"}
    assert (kept / "keys" / "id_rsa").read_text() == "in keys/id_rsa\n"
    assert kept.stat().st_mode & 0o777 == 0o700 and (kept / ".env").stat().st_mode & 0o777 == 0o600
    assert outside.stat().st_mode & 0o777 == 0o644, "what a link points to is not ours"
    assert not lab.refs("refs/burnish/rescue/")


@pytest.mark.long
def test_a_repository_inside_the_workspace_may_hold_such_files_too(lab: Lab) -> None:
    number, place = done(lab)
    lab.repo.git("init", "-q", str(place / "inner"))
    (place / "inner" / ".env").write_text("inside\n")
    removed = lab.burnish("clean", number, "--json").json["removed"]
    (kept,) = place.parent.glob(f".withheld-{place.name}-*")
    assert removed[0]["withheld"] == str(kept)
    assert (kept / "inner" / ".env").read_text() == "inside\n"


@pytest.mark.long
def test_commits_that_an_agent_made_itself_are_kept_too(lab: Lab) -> None:
    number, place = done(lab)
    (place / "idea.py").write_text("mine = 1\n")
    lab.repo.git("-C", str(place), "add", "-A")
    lab.repo.git("-C", str(place), "commit", "-q", "-m", "my own commit")
    lab.burnish("clean", number)
    assert any(lab.repo.git("show", f"{ref}:idea.py", check=False) for ref in lab.refs("refs/burnish/rescue/"))


@pytest.mark.long
def test_a_workspace_whose_branch_is_gone_is_rescued_as_well(lab: Lab) -> None:
    number = lab.add()
    lab.burnish("run")
    place = workspace(lab)
    lab.burnish("merge", number, "--delete-branch")
    (place / "idea.py").write_text("mine = 1\n")
    lab.burnish("clean", "--all-completed")
    assert not place.exists() and not lab.refs("refs/heads/burnish/")
    assert any(lab.repo.git("show", f"{ref}:idea.py", check=False) for ref in lab.refs("refs/burnish/rescue/"))


@pytest.mark.long
def test_what_a_removed_task_left_is_taken_too(lab: Lab) -> None:
    lab.add()
    lab.burnish("run")
    place = workspace(lab)
    lab.burnish("rm", "1")
    (place / "late.py").write_text("late = 1\n")
    said = lab.burnish("clean", "--all-completed", "--json").json
    assert said["tasks"][0]["status"] == "removed" and not place.exists()
    assert any(lab.repo.git("show", f"{ref}:late.py", check=False) for ref in lab.refs("refs/burnish/rescue/"))


@pytest.mark.long
def test_the_next_run_lays_a_cleaned_workspace_again_and_sets_it_up(tmp_path: Path) -> None:
    extra = "workspace: {setup: 'echo up >> .git/../ready; touch ready'}\n"
    lab = Lab.make(tmp_path, judge="print(verdict('needs_discussion'))", extra=extra)
    lab.repo.commit({".gitignore": "ready\n"})
    lab.add()
    lab.burnish("run", code=1)
    place = workspace(lab)
    assert (place / "ready").exists()
    lab.burnish("clean", "1")
    assert not place.exists()
    lab.agent("judge", APPROVE)
    lab.burnish("retry", "1")
    assert lab.task()["status"] == "verified"
    assert (place / "ready").exists() and "div_1" in (place / "app.py").read_text()


def test_a_task_that_is_being_run_is_refused(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="time.sleep(30)")
    lab.add()
    with lab.start("run") as running:
        try:
            lab.until(lambda: lab.calls())
            said = lab.burnish("clean", "1", code=4)
            assert "being run" in said.err and workspace(lab).is_dir()
        finally:
            running.terminate()
            running.communicate()
    lab.burnish("clean", "1")
    assert lab.task()["status"] == "in_progress"


@pytest.mark.long
def test_what_stands_in_the_place_of_a_workspace_is_put_aside(lab: Lab) -> None:
    number, place = done(lab)
    place.rename(place.with_name("moved"))
    place.mkdir()
    (place / "precious.txt").write_text("not burnish's\n")
    said = lab.burnish("clean", number)
    aside = place.with_name(f"{place.name}.replaced-1")
    assert str(aside) in said.err and "cannot tell which files of the workspace are saved" in said.err
    assert (aside / "precious.txt").exists()
    lab.burnish("clean", "--all-completed", code=4)
    assert (aside / "precious.txt").exists()
    assert (place.with_name("moved") / "app.py").exists(), "what is in there is not known"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab.make(tmp_path)


@pytest.mark.long
def test_environments_of_checks_are_listed_and_removed_unless_a_run_uses_them(tmp_path: Path) -> None:
    setup = "mkdir node_modules; touch node_modules/here"
    settings = f"checks: {{test: 'test -f node_modules/here'}}\nworkspace: {{setup: '{setup}'}}\n"
    lab = Lab.make(tmp_path, extra=settings)
    done(lab)
    (one,) = lab.burnish("clean", "--json").json["environments"]
    assert one["bytes"] > 0 and not one["in_use"] and one["used_at"]
    assert one["name"] in lab.burnish("clean").out

    layer = next(Path(lab.env["BURNISH_HOME"]).glob(f"environments/*/{one['name']}"))
    with environment_in_use(layer):
        kept = lab.burnish("clean", "--environments", "--json").json
        assert kept["removed_environments"] == [] and kept["environments"][0]["in_use"] and layer.is_dir()
        assert "in use by a run and was kept" in lab.burnish("clean", "--environments").err
    assert f"Would remove environment {one['name']}" in lab.burnish("clean", "--environments", "--dry-run").out
    assert lab.burnish("clean", "--environments", "--json").json["removed_environments"] == [one["name"]]
    assert not layer.exists() and lab.burnish("clean", "--json").json["environments"] == []

    second = lab.add("Second")
    lab.burnish("run", second)
    assert lab.show(second)["status"] == "verified", "the next run installs again"


@pytest.mark.long
def test_an_environment_is_in_use_from_the_moment_it_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = "mkdir node_modules; touch node_modules/here"
    settings = f"checks: {{test: 'test -f node_modules/here'}}\nworkspace: {{setup: '{setup}'}}\n"
    lab = Lab.make(tmp_path, extra=settings)
    choose, deleted = CheckEnvironments.prepare, []

    def choose_while_another_process_cleans(*words: Any, **options: Any) -> CheckEnvironment:
        chosen = choose(*words, **options)
        if chosen.layer:
            deleted.append(delete_unused(chosen.layer))
        return chosen

    monkeypatch.setattr(CheckEnvironments, "prepare", choose_while_another_process_cleans)
    number = lab.add()
    lab.burnish("run", number)

    assert deleted and not any(deleted)
    assert lab.show(number)["status"] == "verified"


@pytest.mark.long
def test_sessions_of_agents_are_weighed_and_go_with_a_task_that_is_over(lab: Lab) -> None:
    number, _ = done(lab)
    open_task = lab.add("Second")
    lab.burnish("run", open_task)
    folders = {
        path.name.partition("-")[0]: path / "sessions"
        for path in Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks/*")
    }
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
        (folder / "talk.jsonl").write_text("{}\n" * 2000)
    weights = {one["id"]: one["bytes"]["sessions"] for one in lab.burnish("clean", "--json").json["tasks"]}
    assert weights[number] > 0 and weights[open_task] > 0
    lab.burnish("clean", number)
    lab.burnish("clean", open_task)
    assert not folders[number].exists() and folders[open_task].is_dir(), "an open task can still resume its session"
