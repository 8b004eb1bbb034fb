"""What workers of several machines share: budgets, usage limits, limits of agents, artifacts, and an upgrade."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from burnish.core.images import image_reference
from burnish.core.task import NewTask, Spec
from burnish.store import Store
from testing.lab import AUTHOR, CRITIC
from testing.machines import Machine, Machines
from testing.moved_clock import moved_clock
from testing.postgresql import postgresql_server
from testing.program import PROGRAM, put_on_path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CLAUDE = "agent: claude\nreview: {agents: [claude]}\n"
LIMITED = """
import json, sys, time
until = int(time.time()) + 3600
print(json.dumps({"type": "result", "is_error": True, "result": f"Claude AI usage limit reached|{until}"}))
sys.exit(1)
"""
HELD = """
while os.path.exists(GATE):
    time.sleep(0.05)
"""


@pytest.fixture
def url() -> Iterator[str]:
    with postgresql_server().database() as found:
        yield found


def with_program(tmp_path: Path, url: str, settings: str, text: str = PROGRAM) -> tuple[Machine, Machine]:
    """Two machines with a program that reports a quarter of a dollar for each call."""
    machines = Machines.make(tmp_path, url)
    put_on_path(machines.lab, CLAUDE + settings, text)
    machines.publish()
    return machines.add("a"), machines.add("b")


def calls(machine: Machine) -> list[str]:
    log = Path(machine.lab.env["HOME"]).parent / "program.jsonl"
    return [json.loads(line)["phase"] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.parametrize(
    ("settings", "name", "phases"),
    [
        ("budget: {session_usd: 0.3}", "budget.session_usd", ["implement", "review"]),
        ("agents: {claude: {budget_usd: 0.6}}", "agents.claude.budget_usd", ["implement", "review", "improve"]),
    ],
)
def test_a_budget_counts_what_the_worker_of_another_machine_has_spent(
    tmp_path: Path, url: str, settings: str, name: str, phases: list[str]
) -> None:
    a, b = with_program(tmp_path, url, settings)
    with a.worker("--label", "a") as first, b.worker("--label", "b") as second:
        a.burnish("add", "Add division", "--needs", "a")
        first.until(lambda: a.status_of(1) == "blocked")
        a.burnish("add", "Add a sum", "--needs", "b")
        second.until(lambda: a.status_of(2) in ("blocked", "verified"))
    assert (calls(a), calls(b)) == (phases, [])
    assert a.status_of(2) == "blocked"
    assert all(name in event["data"]["why"] for event in a.lab.events("budget.reached"))


def test_a_budget_of_a_task_goes_with_it_to_another_machine(tmp_path: Path, url: str) -> None:
    a, b = with_program(tmp_path, url, "budget: {task_usd: 0.5}")
    a.burnish("add", "Add division")
    with a.worker(BURNISH_FAILPOINT="work-finished") as first:
        first.process.wait(120)
    with b.worker() as second:
        second.until(lambda: b.status_of(1) == "blocked")
    assert (calls(a), calls(b)) == (["implement"], ["review"])


def test_a_usage_limit_that_one_machine_has_met_rests_the_login_on_all(tmp_path: Path, url: str) -> None:
    a, b = with_program(tmp_path, url, "", LIMITED)
    with a.worker() as first:
        a.burnish("add", "Add division")
        first.until(lambda: "limit resets at" in first.text())
        with b.worker() as second:
            put_on_path_only(a, PROGRAM)
            b.burnish("add", "Add a sum")
            time.sleep(6)
            assert calls(b) == [] and b.status_of(2) == "backlog"
            assert "claude's limit resets at" in b.burnish("status").out
            b.burnish("limits", "--clear", "claude")
            second.until(lambda: a.statuses() == {"verified"}, seconds=180)


def put_on_path_only(machine: Machine, text: str) -> None:
    """Another program in the place of the one that is there."""
    program = Path(machine.lab.env["PATH"].split(":")[0]) / "claude"
    program.write_text(program.read_text().splitlines()[0] + "\n" + text)


def test_artifacts_of_one_machine_are_restored_on_the_other(tmp_path: Path, url: str) -> None:
    machines = Machines.make(tmp_path, url, "a", "b")
    a, b = machines.all["a"], machines.all["b"]
    a.burnish("add", "Add division")
    with a.worker(BURNISH_FAILPOINT="work-put-right:2") as first:
        first.process.wait(120)
    with b.worker() as second:
        second.until(lambda: b.statuses() == {"verified"})
    (written,) = Path(a.lab.env["BURNISH_HOME"]).rglob("review-cycle-1.md")
    (restored,) = Path(b.lab.env["BURNISH_HOME"]).rglob("review-cycle-1.md")
    assert restored.read_bytes() == written.read_bytes()
    assert "Zero is not handled" in b.burnish("show", "review-cycle://1/review-cycle-1.md").out


def test_images_of_a_description_reach_the_machine_that_runs_the_task(tmp_path: Path, url: str) -> None:
    machines = Machines.make(tmp_path, url, "a", "b")
    a, b = machines.all["a"], machines.all["b"]
    picture = tmp_path / "screen.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\0\x08" * 2 + b"\x08" + b"\0" * 20)
    a.burnish("add", "Add division", "--image", str(picture))
    with b.worker() as worker:
        worker.until(lambda: b.statuses() == {"verified"})
    (stored,) = (Path(b.lab.env["BURNISH_HOME"]) / "images").iterdir()
    assert stored.read_bytes() == picture.read_bytes()
    # what somebody else pushed under that name is not taken
    stored.unlink()
    (name,) = machines.on_remote("refs/burnish/shared/images/")
    commands = (("hash-object", "-w", "--stdin"), ("update-ref", name))
    other = subprocess.run(["git", "-C", machines.remote, *commands[0]], input=b"other", capture_output=True).stdout
    subprocess.run(["git", "-C", machines.remote, *commands[1], other.decode().strip()], check=True)
    a.burnish("add", "Add a sum", "--description", image_reference(stored.name, "screen"), "--needs", "b")
    with b.worker("--label", "b") as worker:
        worker.until(lambda: b.status_of(2) == "verified")
        assert "of its description is not on the remote" in worker.text()
    assert not stored.exists()


def test_a_worker_ends_with_code_3_after_an_upgrade_and_its_task_goes_on(tmp_path: Path, url: str) -> None:
    machines = Machines.make(tmp_path, url, "a", "b")
    a, b = machines.all["a"], machines.all["b"]
    gate = tmp_path / "gate"
    gate.touch()
    machines.lab.agent("robot", f"GATE = {str(gate)!r}\n{HELD}{AUTHOR}")
    a.burnish("add", "Add division")
    with a.worker() as first:
        first.until(lambda: machines.lab.calls())
        newer(url, "INSERT INTO burnish.migrations SELECT 999, name FROM burnish.migrations LIMIT 1")
        first.until(lambda: "A newer burnish has changed the database" in first.text())
        gate.unlink()
        assert first.process.wait(120) == 3, first.text()
    assert "newer" in b.burnish("worker", code=3).err
    newer(url, "DELETE FROM burnish.migrations WHERE version = 999")
    with b.worker() as second:
        second.until(lambda: b.statuses() == {"verified"})
    assert set(machines.lab.paid().values()) == {1}


def newer(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def test_tasks_of_an_agent_at_its_limit_do_not_hide_those_of_others(tmp_path: Path, url: str) -> None:
    machines = Machines.make(tmp_path, url)
    machines.lab.agent("second", AUTHOR)
    machines.lab.agent("judge", CRITIC)
    machines.lab.settle("limits: {agents: {robot: 1}}\n")
    machines.publish()
    a = machines.add("a")
    gate = tmp_path / "gate"
    gate.touch()
    machines.lab.agent("robot", f"GATE = {str(gate)!r}\n{HELD}{AUTHOR}")
    a.lab.user_settings(f"database: {url}\nlimits: {{agents: {{robot: 1}}}}\n")
    a.burnish("add", "Task 1")
    with Store.open(Path(a.lab.env["BURNISH_HOME"]), url=url) as store:
        key = store.projects()[0].key
        many = [NewTask(Spec(f"Task {number}"), 3, True) for number in range(2, 131)]
        others = [NewTask(Spec("Another agent", agent="second"), 3, True)]
        store.add_tasks(key, lambda first, tasks: many + others)
    with a.worker("-j", "2", BURNISH_FAILPOINT="") as worker:
        worker.until(lambda: a.status_of(131) == "verified", seconds=120)
        assert len([call for call in machines.lab.calls() if call["agent"] == "robot"]) == 1
        worker.signal(signal.SIGKILL)


def test_an_idle_worker_removes_old_files(tmp_path: Path, url: str) -> None:
    machines = Machines.make(tmp_path, url, "a")
    a = machines.all["a"]
    a.burnish("add", "Add division")
    with a.worker() as worker:
        worker.until(lambda: a.statuses() == {"verified"})
    a.burnish("merge", "1")
    workspace = Path(a.burnish("path", "1").out.strip())
    with a.worker(**moved_clock(tmp_path, 100 * 86_400)) as worker:
        worker.until(lambda: not workspace.exists(), seconds=60)
