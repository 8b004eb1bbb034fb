"""One of several machines is killed, cut off from the network, or paused and woken: at every place of a task.

The other machine ends the task. Nothing is lost, nothing is paid twice beyond the phase in flight, and no two machines
write to one branch. Rows of `make torture` count the faults by kind.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from testing.both_stores import POSTGRESQL_NAME
from testing.lab import AUTHOR, CRITIC
from testing.machines import Machine, Machines, WorkerProcess
from testing.network import HOST, Host, git_server, hosts, require_namespaces
from testing.postgresql import PostgresqlServer, postgresql_programs

pytestmark = [pytest.mark.timeout(900)]

KILLED, CUT_OFF, PAUSED = "killed", "cut off", "paused"
FAULTS = (KILLED, CUT_OFF, PAUSED)
# An agent or a check is at work.
PHASES = ("implement", "check", "review", "improve")
# Nothing is at work: the task waits for a person.
GATE = "gate"
# Between the steps of the engine: before and after an event, a commit, a push and the files of a cycle.
STEPS = (
    "run-started", "workspace-created", "work-put-right", "work-started", "work-replied", "work-committed",
    "work-finished", "check-started", "check-run", "check-finished", "review-started", "review-replied",
    "review-finished", "decided", "archived", "work-put-right:2", "work-started:2", "work-replied:2",
    "work-committed:2", "work-finished:2", "check-run:2", "review-replied:2", "review-finished:2", "decided:2",
    "archived:2",
    # between commit and push, and between push and event: of the start, of each phase and of the approval
    *(f"{place}:{nth}" for nth in range(1, 6) for place in ("share-claimed", "share-pushed")),
)  # fmt: skip
# An agent was called, or the worker does so when it goes on: what it did there may be paid twice.
IN_FLIGHT = ("implement", "review", "improve", "work-replied", "work-committed", "review-replied", "share-")
CALLS_NEXT = ("work-started", "review-started")
WAITS = """
while os.path.exists(GATE + phase) and any(f"/{name}/home/" in os.getcwd() for name in HELD):
    time.sleep(0.05)
"""


@dataclass(frozen=True)
class Network:
    """Two hosts, and a server with the database and the git remotes that both can reach."""

    hosts: list[Host]
    server: PostgresqlServer
    address: str
    folder: Path

    def machines(self, place: Path, url: str, *names: str, extra: str = "", waits_on: str = "a") -> Machines:
        """Machines whose processes reach the database and the remote by the network.

        `waits_on`: the names of those whose agents wait while the file of their phase is there.
        """
        database = conninfo_to_dict(url)["dbname"]
        far = f"postgresql://burnish@{HOST}/{database}?tcp_user_timeout=2000"
        checks = f"sh {place}/check.sh"
        waits = f"while [ -e {place}/gate-check ]; do echo >> {place}/checking; sleep 0.05; done"
        (place / "check.sh").write_text(f'case "$PWD" in */a/home/*) {waits};; esac\ntest -f app.py\n')
        machines = Machines.make(place, far, extra=f"checks: {{test: '{checks}', lint: null}}\n{extra}")
        # what every push changed
        subprocess.run(["git", "-C", machines.remote, "config", "core.logAllRefUpdates", "always"], check=True)
        for name in names:
            machine = machines.add(name)
            where = f"{self.address}/{machines.remote.relative_to(self.folder)}"
            machine.lab.repo.git("remote", "set-url", "origin", where)
        text = f"GATE, HELD = {str(place / 'gate-')!r}, {waits_on!r}\n" + WAITS
        machines.lab.agent("robot", text + AUTHOR)
        machines.lab.agent("judge", text + CRITIC)
        return machines


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    require_namespaces()
    programs = postgresql_programs()
    assert programs, "tests/store reports it"
    folder = tmp_path_factory.getbasetemp()
    with ExitStack() as stack:
        found = stack.enter_context(hosts(3))
        server = PostgresqlServer.make(programs, listen=HOST)
        stack.callback(server.remove)
        yield Network(found, server, stack.enter_context(git_server(folder)), folder)


# -- a fault on the first machine -----------------------------------------------------------------


@dataclass
class Fault:
    kind: str
    host: Host

    def strike(self, worker: WorkerProcess) -> None:
        """The worker may be stopped at a failpoint already."""
        if self.kind == CUT_OFF:
            self.host.cut_off()
            worker.signal(signal.SIGCONT)
        elif self.kind == KILLED:
            worker.signal(signal.SIGKILL)
            worker.process.wait(30)
        else:
            # as a machine that sleeps: the agents, too
            for process in [psutil.Process(worker.process.pid), *children(worker)]:
                process.suspend()

    def heal(self, worker: WorkerProcess) -> None:
        if self.kind == CUT_OFF:
            self.host.connect()
        elif self.kind == PAUSED:
            for process in [*children(worker), psutil.Process(worker.process.pid)]:
                # woken by the one before, a process may have ended meanwhile
                with suppress(psutil.NoSuchProcess):
                    process.resume()


def children(worker: WorkerProcess) -> list[psutil.Process]:
    return psutil.Process(worker.process.pid).children(recursive=True)


def is_stopped(worker: WorkerProcess) -> bool:
    return psutil.Process(worker.process.pid).status() == psutil.STATUS_STOPPED


def at_place(machines: Machines, place: str) -> tuple[dict[str, str], Callable[[Machine, WorkerProcess], bool]]:
    """The variables of a worker that is to be struck there, and whether it is there."""
    if place in STEPS:
        return {"BURNISH_FAILPOINT": f"{place}@stop"}, lambda machine, worker: is_stopped(worker)
    if place == GATE:
        return {}, lambda machine, worker: machine.statuses() == {"waiting_approval"} and not machine.holders()
    (machines.root / f"gate-{place}").touch()
    if place == "check":
        return {}, lambda machine, worker: (machines.root / "checking").exists()
    return {}, lambda machine, worker: any(call["phase"] == place for call in machines.lab.calls())


def counted(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.attacks(kind, 1, store=POSTGRESQL_NAME)


def cases(faults: tuple[str, ...], places: tuple[str, ...]) -> list[object]:
    return [
        pytest.param(
            fault, place, marks=pytest.mark.attacks(f"one of several machines is {fault}", 1, store=POSTGRESQL_NAME)
        )
        for place in places
        for fault in faults
    ]


def play(network: Network, machines: Machines, fault_kind: str, place: str) -> None:
    """Strike the first machine, let the second end the task, and let the first come back."""
    a, b = machines.all["a"], machines.all["b"]
    fault = Fault(fault_kind, network.hosts[0])
    variables, is_there = at_place(machines, place)
    a.burnish("add", "Add division")
    with ExitStack() as stack:
        stack.callback(network.hosts[0].connect)
        first = stack.enter_context(a.worker("--label", "first", prefix=network.hosts[0].prefix, **variables))
        first.until(lambda: is_there(a, first), seconds=120)
        fault.strike(first)
        second = stack.enter_context(b.worker(prefix=network.hosts[1].prefix))
        if place == GATE:
            b.burnish("decide", "1", "fix")
            second.until(lambda: b.statuses() == {"waiting_approval"}, seconds=120)
            b.burnish("decide", "1", "approve", "--reason", "read it")
        second.until(lambda: b.statuses() == {"verified"}, seconds=120)
        for file in machines.root.glob("gate-*"):
            file.unlink()
        fault.heal(first)
        if fault.kind != KILLED:
            # with one place it can run this task only after it has let go of the other
            b.burnish("add", "Add a sum", "--needs", "first", "--no-auto-review", "--skip-tests")
            first.until(lambda: a.status_of(2) not in ("backlog", "in_progress"), seconds=180)
            assert "bug in burnish" not in first.text(), first.text()
    judge(machines, allowed_repeats(fault.kind, place))


def allowed_repeats(kind: str, place: str) -> int:
    may_call = place.startswith(IN_FLIGHT) or (kind != KILLED and place.startswith(CALLS_NEXT))
    return int(may_call)


def judge(machines: Machines, repeats: int) -> None:
    """Nothing lost, nothing paid twice but `repeats` phases, one writer at a time."""
    b = machines.all["b"]
    b.burnish("diff", "1")
    with psycopg.connect(b.url) as connection:
        branch, commit = connection.execute("SELECT branch, commit_sha FROM burnish.tasks WHERE id = 1").fetchall()[0]
        events = connection.execute("SELECT id, type, task FROM burnish.events ORDER BY id").fetchall()
    numbers = [id for id, *_ in events]
    take_overs = sum(event[1:] == ("lock.taken_over", 1) for event in events)
    assert numbers == list(range(1, len(numbers) + 1))
    assert b.lab.phases_committed(str(branch)) == [("1", "implement"), ("2", "improve")]
    assert "if b else None" in b.lab.text(str(branch))
    ref = f"refs/burnish/shared/heads/{branch}"
    assert machines.on_remote()[ref] == commit
    paid = {key: count for key, count in machines.lab.paid().items() if key[0] == "1"}
    # Leases last 3 seconds here. A busy machine may lose one beside the fault, and with it the phase in flight.
    further_losses = max(0, take_overs - 1)
    assert sum(paid.values()) - len(paid) <= repeats + further_losses, paid
    pushes_only_advance(machines, ref)
    for machine in machines.all.values():
        machine.lab.repo.git("fsck", "--connectivity-only", "--no-dangling")


def pushes_only_advance(machines: Machines, ref: str) -> None:
    """No push replaced what another machine had pushed."""
    log = (machines.remote / "logs" / ref).read_text().splitlines()
    for line in log:
        old, new = line.split(" ")[:2]
        if old.strip("0"):
            command = ["git", "-C", machines.remote, "merge-base", "--is-ancestor", old, new]
            assert subprocess.run(command, check=False).returncode == 0, log


@pytest.mark.slow
@pytest.mark.representatives(4)
@pytest.mark.parametrize(("fault", "place"), cases(FAULTS, PHASES))
def test_a_machine_that_fails_in_a_phase_is_replaced(network: Network, tmp_path: Path, fault: str, place: str) -> None:
    with network.server.database() as url:
        play(network, network.machines(tmp_path, url, "a", "b"), fault, place)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(("fault", "place"), cases(FAULTS, (GATE,)))
def test_a_task_that_waits_for_a_person_does_not_depend_on_the_machine_that_ran_it(
    network: Network, tmp_path: Path, fault: str, place: str
) -> None:
    with network.server.database() as url:
        extra = "review: {agents: [judge]}\nhitl_review: every\n"
        play(network, network.machines(tmp_path, url, "a", "b", extra=extra), fault, place)


@pytest.mark.slow
@pytest.mark.representatives(4)
@pytest.mark.parametrize(("fault", "place"), cases(FAULTS, STEPS))
def test_a_machine_that_fails_between_two_steps_is_replaced(
    network: Network, tmp_path: Path, fault: str, place: str
) -> None:
    with network.server.database() as url:
        play(network, network.machines(tmp_path, url, "a", "b"), fault, place)


# -- several faults at once -----------------------------------------------------------------------

# the fault of the first machine, and that of the one that took its task over
PAIRS = [(first, second) for first in FAULTS for second in FAULTS]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("first_fault", "second_fault"),
    [
        pytest.param(*pair, marks=pytest.mark.attacks("two of three machines fail together", 1, store=POSTGRESQL_NAME))
        for pair in PAIRS
    ],
)
def test_the_third_machine_ends_the_task_when_two_fail_and_the_database_restarts(
    network: Network, tmp_path: Path, first_fault: str, second_fault: str
) -> None:
    with network.server.database() as url, ExitStack() as stack:
        machines = network.machines(tmp_path, url, "a", "b", "c", waits_on="ab")
        a, b, c = machines.all.values()
        faults = [Fault(kind, host) for kind, host in zip((first_fault, second_fault), network.hosts, strict=False)]
        for host in network.hosts:
            stack.callback(host.connect)
        (machines.root / "gate-implement").touch()
        a.burnish("add", "Add division")
        first = stack.enter_context(a.worker("--label", "first", prefix=network.hosts[0].prefix))
        first.until(lambda: len(machines.lab.calls()) == 1, seconds=120)
        faults[0].strike(first)
        second = stack.enter_context(b.worker("--label", "second", prefix=network.hosts[1].prefix))
        second.until(lambda: len(machines.lab.calls()) == 2, seconds=120)
        faults[1].strike(second)
        network.server.stop()
        network.server.start()
        third = stack.enter_context(c.worker(prefix=network.hosts[2].prefix))
        third.until(lambda: c.statuses() == {"verified"}, seconds=180)
        (machines.root / "gate-implement").unlink()
        for fault, worker in zip(faults, (first, second), strict=True):
            fault.heal(worker)
        both = zip(("first", "second"), faults, (first, second), strict=True)
        back = [(label, worker) for label, fault, worker in both if fault.kind != KILLED]
        for number, (label, worker) in enumerate(back, start=2):
            # with one place it can run this task only after it has let go of the other
            c.burnish("add", f"Task {number}", "--needs", label, "--no-auto-review", "--skip-tests")
            worker.until(lambda n=number: c.status_of(n) not in ("backlog", "in_progress"), seconds=180)  # type: ignore[misc]
            assert "bug in burnish" not in worker.text(), worker.text()
        judge(machines, repeats=2)
