"""A server that is killed and started again: logins end with it, runs go on, nothing is paid twice."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import httpx
import pytest

from testing.lab import AUTHOR, CRITIC, Lab
from testing.program import put_on_path
from testing.serving import Served, serving

FIXED = "a-token-that-the-user-has-set"

# The first review waits until somebody lets it go on, or for ever.
SLOW = f"""
if cycle == 1 and not pathlib.Path(LOG).with_name("go").exists():
    pathlib.Path(LOG).with_name("reviewing").touch()
    time.sleep(60)
{CRITIC}
"""


def browser(served: Served) -> tuple[dict[str, str], str]:
    """Cookie and key, as a browser gets them."""
    answer = httpx.get(served.login)
    key = answer.text.split('data-key="')[1].split('"')[0]
    return dict(answer.cookies), key


@pytest.mark.slow
def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=SLOW)
    lab.add("Add division")
    with serving(lab) as served:
        port, project = served.port, served.project
        cookies, key = browser(served)
        assert served.of_project("POST", "/tasks/1/run").status_code == 202
        lab.until((lab.root / "reviewing").exists, 60)
        served.kill()
    (lab.root / "go").touch()
    with serving(lab, port=port) as again:
        assert again.port == port and again.token != served.token
        where = f"/api/v1/projects/{project}/tasks"
        headers = {"Origin": again.url, "X-Burnish-Key": key}
        with httpx.Client(base_url=again.url, cookies=cookies, headers=headers, timeout=30) as page:
            assert page.get(where).status_code == 401
        assert httpx.get(f"{again.url}{where}", headers={"Authorization": f"Bearer {served.token}"}).status_code == 401
        # and the run goes on by itself: the review that was cut is asked for again, nothing else
        lab.until(lambda: lab.task(1)["status"] == "verified", 90)
        lab.until(lambda: again.api("GET", "/server").json()["running"] == {project: 0}, 60)
        assert set(lab.paid().values()) == {1}
        assert [(phase, cycle) for _, cycle, phase, _ in lab.paid()] == [
            ("implement", 1),
            ("review", 1),
            ("improve", 2),
            ("review", 2),
        ]
    # what is done is done: a third start has nothing to go on with
    assert json.loads((Path(lab.env["BURNISH_HOME"]) / "serve" / "runs.json").read_text()) == {}


@pytest.mark.slow
def test_auto_is_on_from_the_command_line_and_after_a_restart(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    with serving(lab, "--auto", "-j", "2") as served:
        assert {"on": True, "jobs": 2}.items() <= served.of_project("GET", "/auto").json().items()
        lab.add("Add division")
        lab.until(lambda: lab.task(1)["status"] == "verified", 90)
        served.kill()
    lab.add("Add a root")
    with serving(lab) as again:
        assert again.of_project("GET", "/auto").json()["on"] is True
        lab.until(lambda: lab.task(2)["status"] == "verified", 90)
    assert set(lab.paid().values()) == {1}


@pytest.mark.slow
def test_the_budget_of_an_agent_counts_from_the_beginning_of_a_run_that_is_continued(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    settings = "agent: claude\nagents: {claude: {budget_usd: 1}}\nreview: {agents: [claude]}\n"
    put_on_path(lab, settings)
    with serving(lab, "--auto") as served:
        lab.add("Add division")
        lab.until(lambda: lab.task(1)["status"] == "verified", 90)
        served.kill()
    assert lab.task(1)["cost_usd"] == 1.0
    lab.add("Add a root")
    with serving(lab):
        lab.until(lambda: lab.task(2)["status"] in ("blocked", "verified"), 90)
    assert (lab.task(2)["status"], lab.task(2)["reason"], lab.task(2)["cost_usd"]) == ("blocked", "budget", None)
    assert "agents.claude.budget_usd" in lab.burnish("show", "2").out


def test_auto_is_refused_at_once_outside_of_a_repository_and_without_trust(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.burnish("untrust")
    assert "is not trusted" in lab.burnish("serve", "--auto", code=4).err
    assert "repository" in lab.burnish("-C", str(tmp_path), "serve", "--auto", code=2).err


@pytest.mark.long
def test_what_a_program_on_the_port_collected_while_the_server_was_down_opens_nothing(tmp_path: Path) -> None:
    """An open page reconnects to whatever listens on the port, and its cookie and key go there."""
    lab = Lab.make(tmp_path / "lab", extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", "1", code=1)
    folder = Path(lab.env["BURNISH_HOME"]) / "serve"
    with serving(lab, BURNISH_SERVE_TOKEN=FIXED) as served:
        port, project = served.port, served.project
        stolen, key = browser(served)
        assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["lock", "runs.json"]
    # what earlier versions stored, with the digests of the stolen session
    digests = [hashlib.sha256(value.encode()).hexdigest() for value in (stolen[f"burnish_{port}"], key)]
    (folder / "sessions.json").write_text(json.dumps({digests[0]: [digests[1], time.time()]}))
    before = lab.task(1)
    with serving(lab, port=port, BURNISH_SERVE_TOKEN=FIXED) as again:
        assert again.port == port and not (folder / "sessions.json").exists()
        headers = {"Origin": again.url, "X-Burnish-Key": key}
        tasks = f"/api/v1/projects/{project}/tasks"
        with httpx.Client(base_url=again.url, cookies=stolen, headers=headers, timeout=30) as thief:
            refused = thief.get("/", headers={"Accept": "text/html"})
            assert refused.status_code == 401
            assert "burnish serve was restarted" in refused.text and "burnish serve --open" in refused.text
            decision = {"choice": "approve", "commit": before["commit"]}
            assert thief.post(f"{tasks}/1/decide", json=decision).status_code == 401
            upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
            nonce = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
            assert thief.get(f"/ws?project={project}", headers={**upgrade, **nonce}).status_code == 403
        # neither half of an old session works beside a new one, which does work
        cookies, new_key = browser(again)
        for cookie, its_key, status in ((cookies, key, 403), (stolen, new_key, 401), (cookies, new_key, 201)):
            headers = {"Origin": again.url, "X-Burnish-Key": its_key}
            with httpx.Client(base_url=again.url, cookies=cookie, headers=headers, timeout=30) as page:
                assert page.post(tasks, json={"title": "Another one"}).status_code == status
    assert lab.task(1) == before
