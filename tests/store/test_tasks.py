from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.core.status import Status
from burnish.core.task import Item, Spec, TaskType
from burnish.errors import BadInput
from burnish.store import Store


def add(store: Store, project: str, title: str = "x", *needs: int, priority: int = 0) -> int:
    spec = Spec(title, depends_on=needs, priority=priority)
    return store.add_task(project, spec, max_cycles=3, auto_review=True).id


def move(store: Store, project: str, id: int, *way: str) -> None:
    for there in way:
        here = store.task(project, id).status
        store.record(project, id, [Event("task.status", {"from": here, "to": there})])


def test_a_task_comes_back_as_it_was_asked_for(store: Store, project: str) -> None:
    add(store, project, "first")
    spec = Spec(
        title="Add login",
        description="with ümlauts and \x00 and \udc80",
        type=TaskType.IMPLEMENT,
        scope="src/",
        criteria=("rejects empty passwords",),
        checklist=(Item("docs", done=True), Item("tests")),
        plan="first this",
        depends_on=(1,),
        priority=5,
        agent="claude",
        max_cycles=4,
    )
    made = store.add_task(project, spec, max_cycles=4, auto_review=False)
    assert made.spec == spec
    assert (made.id, made.status, made.max_cycles, made.auto_review) == (2, Status.BACKLOG, 4, False)
    assert store.task(project, 2) == made
    assert store.tasks(project) == [store.task(project, 1), made]


def test_ids_count_from_one_in_each_project(store: Store, tmp_path: Path) -> None:
    keys = []
    for name in ("one", "two"):
        row = store.project_for(tmp_path / name / ".git", tmp_path / name, create=True)
        assert row
        keys.append(row.key)
        assert [add(store, row.key), add(store, row.key)] == [1, 2]
    assert [(task.project, task.id) for task in store.tasks()] == [(key, id) for key in keys for id in (1, 2)]


def test_a_removed_task_gives_its_number_to_nobody(store: Store, project: str) -> None:
    add(store, project)
    last = add(store, project)
    store.record(project, last, [Event("task.removed")])
    assert [task.id for task in store.tasks(project)] == [1]
    assert add(store, project) == last + 1
    assert [event.type for event in store.events(project, task=last)] == ["task.created", "task.removed"]


@pytest.mark.parametrize("id", [7, 2])
def test_an_unknown_or_removed_task_is_told_with_a_way_on(store: Store, project: str, id: int) -> None:
    add(store, project)
    add(store, project)
    store.record(project, 2, [Event("task.removed")])
    for act in (
        lambda: store.task(project, id),
        lambda: store.history(project, id),
        lambda: store.edit_task(project, id, {"title": "y"}),
        lambda: move(store, project, id, "in_progress"),
    ):
        with pytest.raises(BadInput, match=f"no task {id}") as caught:
            act()
        assert "burnish list" in caught.value.hint


def test_a_dependency_that_does_not_exist_is_refused(store: Store, project: str) -> None:
    add(store, project)
    with pytest.raises(BadInput, match="no task 7, 8 to depend on"):
        add(store, project, "y", 1, 7, 8)
    assert len(store.tasks(project)) == 1
    assert len(store.events(project)) == 1


def test_a_circle_is_refused_by_name(store: Store, project: str) -> None:
    add(store, project)
    add(store, project, "b", 1)
    add(store, project, "c", 2)
    with pytest.raises(BadInput, match="1 → 3 → 2 → 1"):
        store.edit_task(project, 1, {"depends_on": [3]})
    with pytest.raises(BadInput, match="3 → 3"):
        store.edit_task(project, 3, {"depends_on": [3]})
    assert store.task(project, 1).spec.depends_on == ()


def test_an_edit_changes_what_it_names_and_nothing_else(store: Store, project: str) -> None:
    add(store, project)
    add(store, project, "old", 1)
    before = store.task(project, 2)
    after = store.edit_task(
        project, 2, {"title": "new", "checklist": (Item("a", True),), "max_cycles": 7, "auto_review": False}
    )
    assert (after.spec.title, after.spec.checklist, after.max_cycles, after.auto_review) == (
        "new",
        (Item("a", True),),
        7,
        False,
    )
    assert (after.spec.depends_on, after.spec.description) == (before.spec.depends_on, "")
    assert store.edit_task(project, 2, {"depends_on": ()}).spec.depends_on == ()
    assert store.waiting(project) == []


@pytest.mark.parametrize("title", ["", "  "])
def test_a_task_without_a_title_is_refused(store: Store, project: str, title: str) -> None:
    with pytest.raises(BadInput, match="needs a title"):
        add(store, project, title)
    add(store, project)
    with pytest.raises(BadInput, match="needs a title"):
        store.edit_task(project, 1, {"title": title})


def test_a_field_that_no_task_has_is_our_mistake(store: Store, project: str) -> None:
    add(store, project)
    with pytest.raises(ValueError, match="no colour"):
        store.edit_task(project, 1, {"colour": "red"})


def test_a_brief_list_leaves_only_long_texts_out(store: Store, project: str) -> None:
    long = Spec("t", description="d" * 9999, plan="p", criteria=("c",), priority=3, agent="a")
    store.add_task(project, long, max_cycles=3, auto_review=True)
    (task,) = store.tasks(project, brief=True)
    assert task.spec == Spec("t", priority=3, agent="a")


def test_tasks_are_filtered_by_status_and_number(store: Store, project: str) -> None:
    for _ in range(4):
        add(store, project)
    move(store, project, 2, "in_progress")
    move(store, project, 3, "cancelled")
    assert [t.id for t in store.tasks(project, statuses=[Status.IN_PROGRESS, Status.CANCELLED])] == [2, 3]
    assert [t.id for t in store.tasks(project, ids=[1, 3])] == [1, 3]
    assert store.tasks(project, statuses=[]) == []


def test_who_waits_for_what_is_told(store: Store, project: str) -> None:
    add(store, project)
    add(store, project)
    add(store, project, "c", 1, 2)
    assert [(task.id, unmet) for task, unmet in store.waiting(project)] == [(3, (1, 2))]
    move(store, project, 1, "in_progress", "code_review", "verified")
    assert [(task.id, unmet) for task, unmet in store.waiting(project, [3])] == [(3, (2,))]
    assert store.waiting(project, [1, 2]) == []


def test_all_checkouts_of_a_repository_are_one_project(store: Store, tmp_path: Path) -> None:
    common = tmp_path / "My App" / ".git"
    common.mkdir(parents=True)
    first = store.project_for(common, tmp_path / "My App", create=True)
    (tmp_path / "link").symlink_to(tmp_path / "My App")
    second = store.project_for(tmp_path / "link" / ".git", tmp_path / "worktree", create=True)
    assert first and first == second
    assert first.key.startswith("my-app-") and first.name == "My App"
    assert store.project_for(tmp_path / "other/.git", tmp_path / "other", create=False) is None


def test_a_path_that_is_not_utf8_is_a_project_too(store: Store, tmp_path: Path) -> None:
    root = tmp_path / "caf\udce9"
    row = store.project_for(root / ".git", root, create=True)
    assert row and row.root == root
    add(store, row.key)
    # a plain column, not JSON: shown escaped rather than lost in a traceback
    started = {"run": 1, "branch": "b\udce9", "base": "0" * 40}
    store.record(row.key, 1, [Event("run.started", started, run=1)])
    assert store.task(row.key, 1).branch == "b\\udce9"


def test_a_forgotten_project_comes_back_with_its_tasks(store: Store, project: str, tmp_path: Path) -> None:
    add(store, project)
    store.forget(project)
    assert store.projects() == [] and store.tasks() == []
    assert store.project_for(tmp_path / "app/.git", tmp_path / "app", create=False) is None
    with pytest.raises(BadInput, match="no project"):
        store.forget(project)
    row = store.project_for(tmp_path / "app/.git", tmp_path / "app", create=True)
    assert row and store.projects() == [row]
    assert [task.id for task in store.tasks(row.key)] == [1]


def test_times_come_from_the_clock_that_was_passed_in(home: Path, tmp_path: Path) -> None:
    def clock() -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

    with Store.open(home, clock=clock) as store:
        row = store.project_for(tmp_path / "a/.git", tmp_path / "a", create=True)
        assert row
        add(store, row.key)
        assert store.task(row.key, 1).created_at == "2026-01-02T03:04:05.678Z"
        assert datetime.fromisoformat(row.created_at).tzinfo is not None


def test_what_was_spent_is_summed_over_all_tasks(store: Store, project: str) -> None:
    assert store.spent(project) == (0.0, 0)
    for cost in (0.25, None, 0.5):
        id = add(store, project)
        paid = {"phase": "implement", "attempt": 1, "cost_usd": cost, "tokens": 10}
        store.record(project, id, [Event("phase.finished", paid, run=1, cycle=1)])
    store.record(project, 3, [Event("task.removed")])
    assert store.spent(project) == (0.75, 30)


def test_a_task_is_unarchived_until_its_newest_event_is_in_a_file(store: Store, project: str) -> None:
    add(store, project)
    add(store, project)
    # never run: there is nothing to keep yet
    assert store.unarchived(project) == []
    (first,) = store.record(project, 2, [Event("run.started", {"run": 1}, run=1)])
    assert store.unarchived(project) == [2]
    store.mark_archived(project, 2, first.id)
    assert store.unarchived(project) == []
    (second,) = store.record(project, 2, [Event("phase.progress", {}, run=1)])
    assert store.unarchived(project) == [2]
    store.mark_archived(project, 2, second.id)
    # an older mark that comes late does not take it back
    store.mark_archived(project, 2, first.id)
    assert store.unarchived(project) == []


def test_the_files_of_a_task_that_is_being_run_are_its_runners_business(store: Store, project: str) -> None:
    add(store, project)
    store.record(project, 1, [Event("run.started", {"run": 1}, run=1)])
    store.claim(project, "r", ids=None, is_dead=lambda r: False)
    move(store, project, 1, "in_progress", "code_review")
    assert store.unarchived(project) == []
    # killed after the decision, before the files: nobody will claim it any more
    move(store, project, 1, "verified")
    assert store.unarchived(project) == [1]


def test_a_list_reads_again_only_what_has_changed_by_any_process(store: Store, project: str, home: Path) -> None:
    add(store, project)
    add(store, project)
    before = store.tasks(project, brief=True)
    with open_store(home) as other:
        other.edit_task(project, 2, {"title": "Another title"})
        other.claim(project, "r", ids=[2], is_dead=lambda r: False)
    after = store.tasks(project, brief=True)
    assert after[0] is before[0]
    assert (after[1].spec.title, after[1].runner) == ("Another title", "r")
