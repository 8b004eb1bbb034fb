"""Events over `/ws`: none missed across reconnects, in both vocabularies, and a slow client holds up nobody."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from burnish.core.event import Event
from burnish.store import Store
from testing.lab import Lab
from testing.serving import Served, serving

# Another process that writes as fast as it can, in small transactions; to a task that is not run, because each step of
# a run reads the events of its task.
WRITER = """
import sys, time
from pathlib import Path
from burnish.core.event import Event
from burnish.store import Store
home, project, count, size, pause = sys.argv[1:]
with Store.open(Path(home)) as store:
    for n in range(int(count) // 10):
        told = {"at": time.time(), "n": n, "text": "x" * int(size)}
        store.record(project, 2, [Event("review.progress", {**told, "message": str(i)}) for i in range(10)])
        time.sleep(float(pause))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lab = Lab.make(tmp_path_factory.mktemp("socket") / "lab")
    lab.add("Add division")
    lab.add("Add a root")
    with serving(lab) as one:
        yield one


def write(served: Served, count: int, *, size: int = 10, pause: float = 0.0) -> subprocess.Popen[bytes]:
    home = served.lab.env["BURNISH_HOME"]
    return subprocess.Popen([sys.executable, "-c", WRITER, home, served.project, str(count), str(size), str(pause)])


def line(served: Served, project: str, since: int | None = None, **more: Any) -> ClientConnection:
    wanted = f"project={project}" + (f"&since={since}" if since is not None else "")
    wanted += "".join(f"&{name}={value}" for name, value in more.items())
    asked = {"Authorization": f"Bearer {served.token}"}
    where = f"ws://127.0.0.1:{served.port}/ws?{wanted}"
    return connect(where, additional_headers=asked, proxy=None, max_size=None, open_timeout=30, close_timeout=0.5)


def heard(socket: ClientConnection) -> dict[str, Any]:
    """The next event; beats only tell that the line is alive."""
    for _ in range(3):
        said: dict[str, Any] = json.loads(socket.recv(60))
        if "beat" not in said:
            return said
    raise AssertionError("nothing but beats")


def last(served: Served) -> int:
    return int(served.of_project("GET", "/events?limit=1").json()["last"])


@pytest.mark.long
def test_nothing_is_missed_over_fifty_disconnects(served: Served) -> None:
    chance, project, start = random.Random(7), served.project, last(served)
    got: list[int] = []
    writer = write(served, 1000, pause=0.004)
    cuts = 0
    while len(got) < 1000:
        seen = got[-1] if got else start
        with line(served, project, seen) as socket:
            assert heard(socket) == {"hello": project, "since": seen}
            for _ in range(chance.randrange(1, 25) if cuts < 50 else 1000):
                if len(got) == 1000:
                    break
                got.append(heard(socket)["id"])
            if chance.random() < 0.5:
                socket.socket.shutdown(SHUT_RDWR)  # as a cable that is pulled
        cuts += 1
    assert writer.wait(30) == 0
    assert cuts >= 50, cuts
    assert got == list(range(start + 1, start + 1001))


@pytest.mark.slow
def test_one_who_says_nothing_of_the_past_hears_what_comes(served: Served) -> None:
    start = last(served)
    with line(served, served.project) as socket:
        assert heard(socket)["since"] == start
        writer = write(served, 200, pause=0.05)
        events = [(heard(socket), time.time()) for _ in range(200)]
        assert writer.wait(30) == 0
    assert [event["id"] for event, _ in events] == list(range(start + 1, start + 201))
    late = sorted(at - event["data"]["at"] for event, at in events)
    # half of a tenth of a second is how often the store is looked at; the rest is for a machine that is busy
    assert late[100] < 5.0, late[::20]


# what is no event's id
SINCE = [{"since": word} for word in (-2, 2**70, "x", "", "1e3", "٣")]


@pytest.mark.parametrize("more", [{"project": "nowhere"}, {"project": ""}, {"names": "klingon"}, *SINCE])
def test_who_asks_for_what_there_is_not_is_told_so(served: Served, more: dict[str, Any]) -> None:
    asked = {"project": served.project, **more}
    with line(served, asked.pop("project"), **asked) as socket, pytest.raises(ConnectionClosedError) as closed:
        socket.recv(20)
    assert closed.value.rcvd and closed.value.rcvd.code == 4404 and "since" in closed.value.rcvd.reason


def test_what_a_client_says_does_not_matter(served: Served) -> None:
    with line(served, served.project, 0) as socket:
        socket.send("hello")
        socket.send(b"\x00\xff")
        socket.send('{"id": 7}')
        assert heard(socket)["hello"]
        assert heard(socket)["id"] == 1
    with line(served, served.project, 0) as socket:
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            for _ in range(100_000):
                socket.recv(20)


def test_a_name_that_is_no_text_breaks_nothing(served: Served) -> None:
    """Git takes any bytes for a name, and so do events."""
    with Store.open(Path(served.lab.env["BURNISH_HOME"])) as store:
        [event] = store.record(served.project, 1, [Event("review.progress", {"message": "caf\udce9.py", "at": 0})])
    with line(served, served.project, event.id - 1, names="both") as socket:
        heard(socket)
        assert heard(socket)["data"]["message"] == heard(socket)["payload"]["message"] == "caf\udce9.py"
    assert served.of_project("GET", f"/events?since={event.id - 1}").json()["events"][0]["id"] == event.id
    assert served.of_project("GET", "/tasks/1").status_code == 200


@pytest.mark.slow
def test_a_client_that_does_not_read_costs_the_server_nothing(served: Served) -> None:
    assert write(served, 2000, size=20_000).wait(60) == 0
    server, before = psutil.Process(served.process.pid), 0
    with line(served, served.project, last(served) - 2000) as slow, line(served, served.project) as quick:
        assert heard(slow)["hello"] and heard(quick)["hello"]
        before = server.memory_info().rss
        # from now on only one of them is listened to
        ended = threading.Event()
        assert write(served, 10).wait(30) == 0
        assert heard(quick)["data"]["message"] == "0"
        ended.wait(1.0)
        grown = server.memory_info().rss - before
    assert grown < 60 * 1024 * 1024, f"{grown / 1e6:.0f} MB"
    assert served.api("GET", "/projects").status_code == 200


def test_a_review_under_both_names(served: Served) -> None:
    """automaker's events, whole: from a task that is sent back once and approved then."""
    start = last(served)
    assert served.of_project("POST", "/tasks/1/run").status_code == 202
    told: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    with line(served, served.project, start, names="both") as socket:
        heard(socket)
        while not (own and own[-1]["type"] == "run.finished"):
            said = heard(socket)
            (told if said["type"].startswith("feature:") else own).append(said)
    names = [one["type"].removeprefix("feature:code-review-") for one in told]
    assert [name for name in names if name != "progress"] == [
        *("started", "completed", "rejected"),
        *("started", "completed", "approved"),
    ]
    payloads = {name: [one["payload"] for one in told if one["type"].endswith(name)] for name in set(names)}
    assert payloads["started"] == [{"featureId": "1", "iterationNumber": 1}, {"featureId": "1", "iterationNumber": 2}]
    first, second = payloads["completed"]
    assert (first["status"], first["summary"], first["iterationNumber"]) == ("rejected", "one error", 1)
    finding = {"category": "code", "severity": "error", "title": "Zero is not handled", "file": "app.py", "line": 4}
    assert finding.items() <= first["findings"][0].items() and first["findings"][0]["description"] == "b may be 0"
    assert (second["status"], second["findings"]) == ("approved", [])
    assert payloads["rejected"][0]["iterationNumber"] == 1 and payloads["rejected"][0]["rejectionReason"]
    assert payloads["approved"] == [{"featureId": "1", "nextStatus": "verified"}]
    assert {"featureId": "1", "iterationNumber": 1, "message": "F1 opened: Zero is not handled"} in payloads["progress"]
    # and those who know only these names resume by the same numbers
    with line(served, served.project, start, names="automaker") as socket:
        heard(socket)
        assert [heard(socket) for _ in told] == told
