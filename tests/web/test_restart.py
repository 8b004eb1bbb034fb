"""A server that is killed and started again: browsers stay known, runs go on, nothing is paid twice."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from testing.lab import AUTHOR, CRITIC, Lab
from testing.serving import Served, serving

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
        # nobody has to log in again to look, nor to act; the old token is worth nothing
        headers = {"Origin": again.url, "X-Burnish-Key": key}
        with httpx.Client(base_url=again.url, cookies=cookies, headers=headers, timeout=30) as page:
            where = f"/api/v1/projects/{project}/tasks"
            assert page.get(where).json()["total"] == 1
            assert page.post(where, json={"title": "Another one"}).status_code == 201
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
