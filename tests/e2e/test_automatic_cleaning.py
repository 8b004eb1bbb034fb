"""Runs remove old files of tasks that are over, once a day at most, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from burnish.features.clean import automatic as automatic_cleaning
from burnish.features.clean.automatic import clean_if_due
from burnish.features.clean.record import CleaningRecord, read_record, write_record
from burnish.runtime import open_app
from burnish.runtime.app import App
from testing.lab import Lab
from tests.e2e.test_restored_home import restore_home

DAY = timedelta(days=1)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab.make(tmp_path)


@contextmanager
def app_of(lab: Lab) -> Iterator[App]:
    with mock.patch.dict(os.environ, lab.env):
        app = open_app(lab.repo.path)
        try:
            yield app
        finally:
            app.store.close()


def days_later(lab: Lab, days: float) -> CleaningRecord | None:
    with app_of(lab) as app:
        return clean_if_due(app, datetime.now(UTC) + days * DAY)


def completed(lab: Lab, title: str) -> Path:
    number = lab.add(title)
    lab.burnish("run", number)
    lab.burnish("merge", number)
    return Path(lab.burnish("path", number).out.strip())


def task_folder(lab: Lab, workspace: Path) -> Path:
    home = Path(lab.env["BURNISH_HOME"])
    return home / "projects" / workspace.parent.name / "tasks" / workspace.name


@pytest.mark.slow
def test_old_files_of_tasks_that_are_over_go_and_those_of_open_tasks_and_rescues_stay(lab: Lab) -> None:
    old = completed(lab, "Add division")
    (old / "idea.py").write_text("mine = 1\n")
    number = lab.add("Second")
    lab.burnish("run", number)
    unfinished = Path(lab.burnish("path", number).out.strip())
    before = {path: path.read_bytes() for path in task_folder(lab, unfinished).rglob("*") if path.is_file()}
    assert days_later(lab, 89) is None and (task_folder(lab, old) / "calls").is_dir()
    removed = days_later(lab, 91)
    assert removed and (removed.tasks, removed.environments) == (1, 0) and removed.bytes > 0
    assert not old.exists() and not any((task_folder(lab, old) / name).exists() for name in ("calls", "outputs"))
    assert list((task_folder(lab, old) / "artifacts").iterdir()), "reviews and the story stay"
    (rescue,) = lab.refs("refs/burnish/rescue/")
    assert lab.text(rescue, "idea.py") == "mine = 1"
    assert unfinished.is_dir() and all(path.read_bytes() == data for path, data in before.items())
    assert days_later(lab, 500) is None, "what is over is gone, what is open never goes"
    assert rescue in lab.refs("refs/burnish/rescue/") and unfinished.is_dir()
    assert lab.show("1")["cycles"]
    assert "was removed" in lab.burnish("log", "1").err
    assert "was removed" in lab.burnish("log", "1", "--phase", "review").err


@pytest.mark.long
def test_a_run_does_it_at_most_once_a_day_and_status_tells_it(lab: Lab) -> None:
    old = completed(lab, "Add division")
    lab.env["BURNISH__CLEAN__AFTER_DAYS"] = "0.000001"
    lab.add("Second")
    lab.burnish("run", "2")
    assert old.is_dir(), "the first run was today"
    home, key = Path(lab.env["BURNISH_HOME"]), old.parent.name
    assert "Removed on" not in lab.burnish("status").err
    write_record(home, key, CleaningRecord((datetime.now(UTC) - DAY).isoformat()))
    lab.add("Third")
    said = lab.burnish("run", "3")
    words = f"Removed on {datetime.now():%Y-%m-%d}: old files of 1 task that is over, "
    assert words in said.err and not old.exists()
    assert words in lab.burnish("status").err


@pytest.mark.long
def test_too_much_is_brought_below_the_limit_with_the_oldest_first(lab: Lab) -> None:
    first, second = completed(lab, "First"), completed(lab, "Second")
    for place in (first, second):
        (task_folder(lab, place) / "outputs" / "large").write_bytes(os.urandom(4_000_000))
    lab.env["BURNISH__CLEAN__MAX_GB"] = "0.006"
    lab.env["BURNISH__CLEAN__AFTER_DAYS"] = "0"
    with app_of(lab) as app:
        write_record(app.home, app.key, CleaningRecord((datetime.now(UTC) - DAY).isoformat()))
    assert days_later(lab, 0.5) is None and first.exists(), "what ended today stays"
    removed = days_later(lab, 2)
    assert removed and removed.tasks == 1
    assert not (task_folder(lab, first) / "outputs").exists() and (task_folder(lab, second) / "outputs").is_dir()


@pytest.mark.long
def test_both_limits_at_zero_switch_it_off_and_status_tells_it(lab: Lab) -> None:
    old = completed(lab, "Add division")
    lab.env |= {"BURNISH__CLEAN__AFTER_DAYS": "0", "BURNISH__CLEAN__MAX_GB": "0"}
    assert days_later(lab, 1000) is None and old.is_dir()
    assert "clean.after_days and clean.max_gb are 0" in lab.burnish("status").err
    del lab.env["BURNISH__CLEAN__AFTER_DAYS"]
    days_later(lab, 1001)
    assert not old.exists()
    assert "are 0" not in lab.burnish("status").err


@pytest.mark.long
def test_a_task_that_was_opened_again_meanwhile_is_left_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.env["BURNISH__REVIEW__TRIGGER"] = "explicit"
    number = lab.add("Add division")
    lab.burnish("run", number, code=None)
    lab.burnish("cancel", number)
    place = Path(lab.burnish("path", number).out.strip())
    find = automatic_cleaning._find_removable

    def find_and_open_again(app: App) -> list[automatic_cleaning.OldFiles]:
        found = list(find(app))
        lab.burnish("edit", number, "--status", "backlog")
        return found

    monkeypatch.setattr(automatic_cleaning, "_find_removable", find_and_open_again)
    assert days_later(lab, 91) is None
    assert place.is_dir() and (task_folder(lab, place) / "calls").is_dir()


@pytest.mark.long
def test_a_task_whose_work_an_open_task_continues_is_left_alone(lab: Lab) -> None:
    old = completed(lab, "Add division")
    lab.add("More of it", "--type", "improve", "--of", "1")
    assert days_later(lab, 91) is None and (task_folder(lab, old) / "calls").is_dir()


@pytest.mark.long
def test_environments_that_no_check_used_for_long_go(lab: Lab) -> None:
    completed(lab, "Add division")
    with app_of(lab) as app:
        cache = app.home / "environments" / app.key
        for name, age in (("old", 100), ("new", 10)):
            (cache / name).mkdir(parents=True)
            (cache / name / "file").write_text("x" * 5000)
            moment = (datetime.now(UTC) - age * DAY).timestamp()
            os.utime(cache / name, (moment, moment))
    removed = days_later(lab, 1.5)
    assert removed and (removed.tasks, removed.environments) == (0, 1)
    assert not (cache / "old").exists() and (cache / "new").is_dir()


@pytest.mark.long
def test_workspaces_of_a_restored_home_are_removed_and_their_work_is_rescued(lab: Lab) -> None:
    old, dirty = completed(lab, "Add division"), completed(lab, "Second")
    (dirty / "idea.py").write_text("mine = 1\n")
    restore_home(lab)
    removed = days_later(lab, 91)
    assert removed and (removed.tasks, removed.put_aside) == (2, 0)
    assert not list(old.parent.glob("*.replaced-*")) and not old.exists() and not dirty.exists()
    (rescue,) = lab.refs("refs/burnish/rescue/")
    assert lab.text(rescue, "idea.py") == "mine = 1"


@pytest.mark.long
def test_a_folder_in_the_place_of_a_workspace_is_counted_as_put_aside_and_stays(lab: Lab) -> None:
    place = completed(lab, "Add division")
    place.rename(place.with_name(".elsewhere"))
    place.mkdir()
    (place / "precious.txt").write_text("x" * 2_000_000)
    removed = days_later(lab, 91)
    assert removed and removed.put_aside == 1 and removed.bytes < 2_000_000
    assert "Moved aside on" in lab.burnish("status").err
    days_later(lab, 500)
    aside = place.with_name(f"{place.name}.replaced-1")
    assert (aside / "precious.txt").exists()
    (shown,) = lab.burnish("clean", "--json").json["put_aside"]
    assert shown["path"] == str(aside) and shown["bytes"] >= 2_000_000 and not shown["removable"]
    assert str(aside) in lab.burnish("clean").out
    assert lab.burnish("clean", "--all-completed", "--json").json["removed"] == [] and aside.is_dir()


@pytest.mark.long
def test_a_workspace_that_a_run_put_aside_goes_after_the_same_time_and_its_work_is_rescued(lab: Lab) -> None:
    lab.add("Add division")
    lab.apart("run", code=-signal.SIGKILL, BURNISH_FAILPOINT="work-replied")
    restore_home(lab)
    lab.apart("run")
    (aside,) = Path(lab.env["BURNISH_HOME"]).glob("workspaces/*/*.replaced-1")
    unsaved = (aside / "app.py").read_text() + "\nmore = 1\n"
    (aside / "app.py").write_text(unsaved)
    assert days_later(lab, 500) is None and aside.is_dir(), "the task is open"
    lab.burnish("merge", "1")
    assert days_later(lab, 89) is None and aside.is_dir()
    removed = days_later(lab, 91)
    assert removed and (removed.tasks, removed.put_aside) == (1, 0) and not aside.exists()
    assert any(lab.repo.git("show", f"{ref}:app.py") + "\n" == unsaved for ref in lab.refs("refs/burnish/rescue/"))


@pytest.mark.long
def test_a_record_that_cannot_be_read_counts_as_none(lab: Lab) -> None:
    old = completed(lab, "Add division")
    home, key = Path(lab.env["BURNISH_HOME"]), old.parent.name
    (home / "projects" / key / "last-cleaning.json").write_text('{"checked_at": "soon"}')
    assert read_record(home, key) is None
    assert days_later(lab, 91) is None and old.is_dir()
    assert "Removed" not in lab.burnish("status").err


def test_a_repository_does_not_choose_when_files_are_removed(lab: Lab) -> None:
    lab.settle("clean: {after_days: 0.000001}\n")
    shown = lab.burnish("config", "show").out
    assert "a repository must not choose when your files are removed" in shown
    with app_of(lab) as app:
        assert app.config.clean.after_days == 90
