from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity
from burnish.core.journal import Failure, WorkResult
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.errors import BurnishError
from burnish.store import Store
from burnish.store.database import Database, Params, ResultRow
from testing.storydump import execute


@pytest.fixture
def task(store: Store, project: str) -> int:
    id = store.add_task(project, Spec("x"), max_cycles=3, auto_review=True).id
    begun = {
        "run": 1,
        "branch": "burnish/1-x",
        "target": "main",
        "base": "b" * 40,
        "max_cycles": 4,
        "auto_review": True,
        "agent": "scripted",
        "model": "m",
    }
    store.record(
        project,
        id,
        [Event("task.status", {"from": "backlog", "to": "in_progress"}), Event("run.started", begun, run=1)],
    )
    return id


def phase(kind: str, name: str, *, cycle: int = 1, run: int = 1, attempt: int = 1, **more: object) -> Event:
    return Event(f"phase.{kind}", {"phase": name, "attempt": attempt, **more}, run=run, cycle=cycle)


def finding(id: str, state: FindingState = FindingState.OPEN) -> Finding:
    return Finding(id, Remark(Category.CODE, Severity.ERROR, "wrong", file="a.py", line=3), state=state)


def test_a_started_run_is_seen_on_the_task(store: Store, project: str, task: int) -> None:
    now = store.task(project, task)
    assert (now.run, now.branch, now.target, now.base, now.max_cycles, now.agent, now.model) == (
        1,
        "burnish/1-x",
        "main",
        "b" * 40,
        4,
        "scripted",
        "m",
    )


def test_a_phase_is_in_the_journal_from_its_start(store: Store, project: str, task: int) -> None:
    store.record(project, task, [phase("started", "implement", runner="r1")])
    (record,) = store.history(project, task).phases
    assert (record.state, record.runner, record.finished_at, record.result) == ("started", "r1", None, None)
    now = store.task(project, task)
    assert (now.cycle, now.phase, now.phase_started) == (1, "implement", record.started_at)


def test_a_finished_phase_keeps_its_result_and_is_paid_for_once(store: Store, project: str, task: int) -> None:
    result = {"commit": "c" * 40, "tree": "t" * 40, "cost_usd": 0.25, "tokens": 10, "changed": True}
    store.record(project, task, [phase("started", "implement"), phase("finished", "implement", **result)])
    store.record(project, task, [phase("started", "check"), phase("finished", "check", checks=[])])
    first, second = store.history(project, task).phases
    assert first.state == "finished" and first.finished_at
    assert isinstance(first.result, WorkResult)
    assert (first.result.tree, first.cost_usd, first.tokens) == ("t" * 40, 0.25, 10)
    assert second.cost_usd is None
    now = store.task(project, task)
    assert (now.commit, now.cost_usd, now.tokens, now.phase) == ("c" * 40, 0.25, 10, None)


def test_an_unknown_cost_is_not_zero(store: Store, project: str, task: int) -> None:
    store.record(project, task, [phase("started", "implement"), phase("finished", "implement", tokens=5)])
    assert (store.task(project, task).cost_usd, store.task(project, task).tokens) == (None, 5)


def test_a_failed_phase_costs_too_and_moves_no_commit(store: Store, project: str, task: int) -> None:
    failed = phase("failed", "implement", error="TIMEOUT", what="too long", hint="", cost_usd=1.0, commit="d")
    store.record(project, task, [phase("started", "implement"), failed])
    now = store.task(project, task)
    assert (now.commit, now.cost_usd, now.error, now.phase) == (None, 1.0, None, None)
    (failure,) = [p.result for p in store.phases(project, task)]
    assert isinstance(failure, Failure) and failure.what == "too long"
    assert store.history(project, task).work(1) is None


def test_an_interruption_shows_until_the_next_start(store: Store, project: str, task: int) -> None:
    cut = phase("failed", "implement", error="INTERRUPTED", what="stopped", hint="")
    store.record(project, task, [phase("started", "implement"), cut])
    assert store.task(project, task).error == "INTERRUPTED"
    store.record(project, task, [phase("started", "implement", attempt=2)])
    assert store.task(project, task).error is None
    assert [(p.attempt, p.state) for p in store.phases(project, task)] == [(1, "failed"), (2, "started")]


def test_a_phase_that_was_finished_is_never_started_again(store: Store, project: str, task: int) -> None:
    store.record(project, task, [phase("started", "implement"), phase("finished", "implement")])
    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        store.record(project, task, [phase("started", "implement")])
    assert store.phases(project, task)[0].state == "finished"


def test_a_decision_can_have_a_phase_done_again(store: Store, project: str, task: int) -> None:
    for cycle in (1, 2):
        store.record(project, task, [phase("finished", n, cycle=cycle) for n in ("implement", "check", "review")])
    again = {"action": "again", "by": "ann", "why": "unsure", "supersede": ["review", "gate"]}
    store.record(project, task, [Event("decision.made", again, run=1, cycle=2)])
    history = store.history(project, task)
    assert [(p.cycle, p.phase) for p in history.phases if p.superseded] == [(2, "review")]
    assert (history.decisions[0].action, history.decisions[0].by, history.decision(2)) == (
        "again",
        "ann",
        None,
    )
    assert history.decisions[0].data.why == "unsure"


def test_open_findings_are_counted_as_they_live_and_die(store: Store, project: str, task: int) -> None:
    def tell(kind: str, one: Finding, run: int = 1) -> int:
        store.record(project, task, [Event(f"finding.{kind}", {"finding": one}, run=run, cycle=1)])
        return store.task(project, task).open_findings

    assert tell("opened", finding("F1")) == 1
    assert tell("opened", finding("F10")) == 2
    assert tell("opened", finding("F2")) == 3
    assert tell("disputed", finding("F2", FindingState.DISPUTED)) == 3
    assert tell("resolved", finding("F1", FindingState.RESOLVED)) == 2
    # a person's word, who need not know the run
    assert tell("waived", finding("F10", FindingState.WAIVED), run=0) == 1
    assert tell("reopened", finding("F1", FindingState.REOPENED)) == 2
    assert store.findings(project, task) == (
        finding("F1", FindingState.REOPENED),
        finding("F2", FindingState.DISPUTED),
        finding("F10", FindingState.WAIVED),
    )
    assert store.history(project, task).findings == store.findings(project, task)


def test_a_new_run_begins_with_a_clean_table(store: Store, project: str, task: int) -> None:
    opened = Event("finding.opened", {"finding": finding("F1")}, run=1, cycle=1)
    store.record(project, task, [phase("finished", "implement", commit="c", cost_usd=0.5), opened])
    store.record(project, task, [Event("run.started", {"run": 2, "base": "e" * 40}, run=2)])
    history = store.history(project, task)
    assert (history.task.run, history.task.cycle, history.task.commit, history.task.open_findings) == (
        2,
        0,
        None,
        0,
    )
    assert (history.task.base, history.task.branch, history.task.cost_usd) == ("e" * 40, "burnish/1-x", 0.5)
    assert history.phases == () and history.findings == ()
    assert len(store.phases(project, task)) == 1 and len(store.phases(project, task, run=1)) == 1
    store.record(project, task, [Event("run.finished", {"status": "verified"}, run=2)])


def test_an_approval_is_bound_and_can_be_voided(store: Store, project: str, task: int) -> None:
    assert store.approval(project, task) is None
    bound = {"base": "b", "tree": "t", "judge": "j", "commit": "c"}
    (told,) = store.record(project, task, [Event("review.approved", bound, run=1, cycle=1)])
    approval = store.approval(project, task)
    assert approval and (approval.base, approval.tree, approval.judge, approval.commit) == (
        "b",
        "t",
        "j",
        "c",
    )
    assert (approval.valid, approval.event_id, approval.ts) == (True, told.id, told.ts)
    store.record(project, task, [Event("approval.voided", {"why": "the base moved"})])
    voided = store.approval(project, task)
    assert voided and not voided.valid
    store.record(project, task, [Event("review.approved", {**bound, "tree": "u"}, run=1, cycle=2)])
    newer = store.approval(project, task)
    assert newer and newer.valid and newer.tree == "u"


@pytest.mark.parametrize("field", ["base", "tree", "judge", "commit_sha", "event_id"])
def test_an_approval_that_no_event_gave_is_not_believed(store: Store, project: str, task: int, field: str) -> None:
    bound = {"base": "b", "tree": "t", "judge": "j", "commit": "c"}
    store.record(project, task, [Event("review.approved", bound, run=1, cycle=1)])
    execute(store, f"UPDATE approvals SET {field} = '1'")
    with pytest.raises(BurnishError, match="damaged"):
        store.approval(project, task)


@pytest.mark.parametrize("field", ["base", "tree", "judge", "commit_sha", "event_id", "valid"])
def test_the_record_of_all_approvals_shows_which_no_event_gave(
    store: Store, project: str, task: int, home: Path, field: str
) -> None:
    bound = {"base": "bbb", "tree": "ttt", "judge": "jjj", "commit": "ccc"}
    store.record(project, task, [Event("run.started", {"run": 1, "base": "bbb"}, run=1)])
    store.record(project, task, [Event("review.approved", bound, run=1, cycle=1)])
    statuses = list(Status)
    (before,) = [one for one in store.recorded_approvals(project, statuses) if one.id == task]
    execute(store, f"UPDATE approvals SET {field} = '999'")
    with open_store(home) as opened_again:
        (after,) = [one for one in opened_again.recorded_approvals(project, statuses) if one.id == task]
    assert (bool(before.is_unchanged), bool(after.is_unchanged)) == (True, False)


def test_an_approval_is_compared_with_its_event_again_only_if_something_changed(
    store: Store, project: str, task: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = {"base": "bbb", "tree": "ttt", "judge": "jjj", "commit": "ccc"}
    store.record(project, task, [Event("run.started", {"run": 1, "base": "bbb"}, run=1)])
    store.record(project, task, [Event("review.approved", bound, run=1, cycle=1)])
    compared: list[object] = []
    real = Database.all

    def remember(db: Database, name: str, params: Params) -> list[ResultRow]:
        if name == "recorded_approvals":
            compared.append((params["every"], params["ids"]))
        return real(db, name, params)

    monkeypatch.setattr(Database, "all", remember)

    def read() -> list[bool]:
        compared.clear()
        return [one.is_unchanged for one in store.recorded_approvals(project, list(Status))]

    assert (read(), compared) == ([True], [(1, [])])
    assert (read(), compared) == ([True], [])
    store.edit_task(project, task, {"description": "Something else."})
    assert (read(), compared) == ([False], [(0, [task])])
    assert (read(), compared) == ([False], [])
    store.record(project, task, [Event("task.removed", {})])
    assert (read(), compared) == ([], [(0, [task])])


def test_a_task_that_cannot_be_read_among_the_approvals_is_a_damaged_database(
    store: Store, project: str, task: int
) -> None:
    execute(store, "UPDATE tasks SET head = '{broken'")
    with pytest.raises(BurnishError, match="damaged"):
        store.recorded_approvals(project, list(Status))


def test_overrides_are_counted(store: Store, project: str, task: int) -> None:
    store.record(project, task, [Event("override.recorded", {"category": "infra"})] * 2)
    assert store.task(project, task).overrides == 2


def test_a_phase_that_was_cut_stays_visible_until_the_task_leaves_the_loop(
    store: Store, project: str, task: int
) -> None:
    store.record(project, task, [phase("started", "implement")])
    store.record(project, task, [Event("task.status", {"from": "in_progress", "to": "code_review"})])
    assert store.task(project, task).phase == "implement"
    store.record(project, task, [Event("task.status", {"from": "code_review", "to": "cancelled"})])
    assert (store.task(project, task).phase, store.task(project, task).phase_started) == (None, None)
