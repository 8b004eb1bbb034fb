"""Runs of a server: named, listed, queued, taken out of the queue and stopped, one task or all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.at_hand import AtHand, at_hand
from testing.lab import AUTHOR, Lab
from testing.program import PROGRAM, put_on_path

# works until it is let go
SLOW = f"""
while not pathlib.Path(LOG).with_name("go").exists():
    time.sleep(0.05)
{AUTHOR}
"""


@pytest.fixture
def server(tmp_path: Path, hermetic: object) -> Iterator[AtHand]:
    lab = Lab.make(tmp_path / "lab", author=SLOW)
    for title in ("Add division", "Add a root", "Add a power"):
        lab.add(title)
    with at_hand(lab) as opened:
        yield opened


def begun(server: AtHand, task: int) -> None:
    server.lab.until(lambda: any(call["task"] == str(task) for call in server.lab.calls()))


def over(server: AtHand) -> None:
    server.lab.until(lambda: server.api("GET", "/server").json()["runs"] == [])


def card(server: AtHand, task: int) -> str:
    _, headers = server.browser()
    return str(server.client.get(f"/p/{server.project}/cards?ids={task}", headers=headers).text)


def test_a_run_of_everything_is_listed_its_queue_is_shown_and_it_is_stopped_as_a_whole(server: AtHand) -> None:
    key = server.project
    assert server.of_project("POST", "/run", {"all": True}).status_code == 202
    begun(server, 1)
    (run,) = server.api("GET", "/server").json()["runs"]
    assert (run["project"], run["ids"], run["all"]) == (key, [], True) and run["since"] and run["id"]
    assert (run["spent_usd"], run["spent_tokens"]) == (0.0, 0)
    assert 'data-others="unqueue"' in card(server, 2) and ">queued<" in card(server, 2)
    assert f'data-runs="{run["id"]}"' in card(server, 2)

    # neither twice nor beside it
    for path in ("/tasks/1/run", "/tasks/2/run"):
        assert server.of_project("POST", path).status_code == 409
    assert "queued" in server.of_project("POST", "/tasks/2/run").json()["title"]
    assert server.of_project("POST", "/run", {"all": True}).status_code == 409

    # one is taken out, and a restart would remember it
    assert server.of_project("POST", "/tasks/2/stop").json()["status"] == "backlog"
    assert "queued" not in card(server, 2).partition("<li")[2] and "queued" in card(server, 3).partition("<li")[2]
    kept = json.loads((server.registry.home / "serve" / "runs.json").read_text())
    assert kept[run["id"]]["out"] == [2]

    assert server.of_project("POST", "/stop", {}).json() == {"stopped": [run["id"]]}
    over(server)
    assert [server.registry.store.task(key, n).status.value for n in (1, 2, 3)] == ["in_progress", "backlog", "backlog"]
    assert {call["task"] for call in server.lab.calls()} == {"1"}


@pytest.mark.long
def test_what_was_taken_out_is_left_while_the_rest_goes_on(server: AtHand) -> None:
    server.of_project("POST", "/run", {"all": True, "jobs": 1})
    begun(server, 1)
    server.of_project("POST", "/tasks/2/stop")
    (server.lab.root / "go").touch()
    over(server)
    key = server.project
    assert [server.registry.store.task(key, n).status.value for n in (1, 2, 3)] == ["verified", "backlog", "verified"]
    # and it can be run again, for itself
    assert server.of_project("POST", "/tasks/2/run").status_code == 202
    over(server)
    assert server.registry.store.task(key, 2).status.value == "verified"


def test_a_task_is_put_back_into_the_queue_that_it_was_taken_out_of(server: AtHand) -> None:
    server.of_project("POST", "/run", {"all": True, "jobs": 1})
    begun(server, 1)
    server.of_project("POST", "/tasks/2/stop")
    assert ">queued<" not in card(server, 2)
    # twice is no harm
    for _ in range(2):
        assert server.of_project("POST", "/tasks/2/queue").status_code == 202
    assert ">queued<" in card(server, 2)
    assert len(server.api("GET", "/server").json()["runs"]) == 1
    assert {call["task"] for call in server.lab.calls()} == {"1"}
    (server.lab.root / "go").touch()
    over(server)
    key = server.project
    assert {server.registry.store.task(key, n).status.value for n in (1, 2, 3)} == {"verified"}
    # a run that has ended has no queue
    number = server.lab.add("Add a sum")
    assert server.of_project("POST", f"/tasks/{number}/queue").status_code == 202
    over(server)
    assert server.registry.store.task(key, int(number)).status.value == "verified"


def test_a_task_is_stopped_in_the_moment_after_it_was_started(server: AtHand) -> None:
    assert server.of_project("POST", "/tasks/1/run").status_code == 202
    assert server.of_project("POST", "/tasks/1/stop").status_code == 202
    over(server)
    assert server.registry.store.task(server.project, 1).status.value in ("backlog", "in_progress")
    # nobody has it any more
    assert server.of_project("POST", "/tasks/1/stop").status_code == 409


def test_auto_takes_up_what_is_added_and_switched_off_lets_running_tasks_end(server: AtHand) -> None:
    assert server.of_project("GET", "/auto").json()["on"] is False
    answer = server.of_project("POST", "/auto", {"on": True, "jobs": 1, "until": "23:59", "budget": 5})
    assert answer.status_code == 202
    assert {"on": True, "jobs": 1, "budget": 5}.items() <= answer.json().items() and answer.json()["until"]
    begun(server, 1)
    assert "data-auto" in card(server, 2) and ">queued<" in card(server, 2)
    # it runs all of them: neither a second one nor a run of everything beside it
    for path, body in (("/auto", {"on": True}), ("/run", {"all": True})):
        refused = server.of_project("POST", path, body)
        assert refused.status_code == 409 and "Auto is on" in refused.json()["title"]

    (server.lab.root / "go").touch()
    added = server.of_project("POST", "/tasks", {"title": "Added later"}).json()["id"]
    server.lab.until(lambda: server.registry.store.task(server.project, int(added)).status.value == "verified")
    assert server.of_project("GET", "/auto").json()["on"] is True

    (server.lab.root / "go").unlink()
    added = server.of_project("POST", "/tasks", {"title": "Still at work"}).json()["id"]
    begun(server, int(added))
    assert server.of_project("POST", "/auto", {"on": False}).json()["on"] is False
    assert server.of_project("POST", "/auto", {"on": False}).status_code == 202
    later = server.of_project("POST", "/tasks", {"title": "Not any more"}).json()["id"]
    assert "data-auto" not in card(server, int(later)) and ">queued<" not in card(server, int(later))
    # a restart goes on with the task at work alone
    (kept,) = json.loads((server.registry.home / "serve" / "runs.json").read_text()).values()
    assert (kept["ids"], kept["watch"]) == ([int(added)], False)
    (server.lab.root / "go").touch()
    over(server)
    assert server.registry.store.task(server.project, int(added)).status.value == "verified"
    assert server.registry.store.task(server.project, int(later)).status.value == "backlog"


@pytest.mark.parametrize(
    "body", [{}, {"on": "maybe"}, {"on": True, "jobs": 0}, {"on": True, "until": "25:00"}, {"on": True, "until": ""}]
)
def test_auto_refuses_what_it_does_not_understand(server: AtHand, body: dict[str, object]) -> None:
    assert server.of_project("POST", "/auto", body).status_code in (400, 422)
    assert server.of_project("GET", "/auto").json()["on"] is False


# says what it does as Claude Code does, and works until it is let go
TALKER = """
import json, os, pathlib, time
words = {"type": "text", "text": "Reading <b>app.py</b> first"}
print(json.dumps({"type": "assistant", "message": {"id": "m1", "content": [words]}}), flush=True)
while not (pathlib.Path(os.path.dirname(os.environ["HOME"])) / "go").exists():
    time.sleep(0.05)
"""


def test_the_card_and_the_story_show_what_the_agent_does_while_it_works(tmp_path: Path, hermetic: object) -> None:
    lab = Lab.make(tmp_path / "lab")
    put_on_path(lab, "agent: claude\nreview: {agents: [claude]}", TALKER + PROGRAM)
    lab.add("Add division")
    with at_hand(lab) as server:
        server.of_project("POST", "/tasks/1/run")
        lab.until(lambda: "Reading &lt;b&gt;app.py&lt;/b&gt; first" in card(server, 1))
        _, headers = server.browser()
        page = server.client.get(f"/p/{server.project}/t/1", headers=headers).text
        assert '<ul class="steps' in page and "Reading &lt;b&gt;app.py&lt;/b&gt; first</li>" in page
        (lab.root / "go").touch()
        over(server)
        assert 'class="step ' not in card(server, 1)
