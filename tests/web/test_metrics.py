"""`/metrics` in the text format of Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish.core.people import Role
from burnish.store import Store
from testing.at_hand import TOKEN, AtHand
from testing.postgresql import postgresql_server

_SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)+\})? (-?[0-9.e+-]+)')


def scraped(server: AtHand) -> dict[str, float]:
    answer = server.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, float] = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            sample = _SAMPLE.fullmatch(line)
            assert sample, line
            assert line.rpartition(" ")[0] not in found
            found[line.rpartition(" ")[0]] = float(sample[3])
    return found


def test_tasks_phases_and_agents_are_counted(server: AtHand) -> None:
    found, project = scraped(server), server.project

    assert found[f'burnish_tasks{{project="{project}",status="waiting_approval"}}'] == 1
    assert found[f'burnish_tasks{{project="{project}",status="backlog"}}'] == 1
    assert found[f'burnish_queue_length{{project="{project}"}}'] == 1
    key = f'project="{project}",phase="implement",state="finished"'
    number = found[f"burnish_phases_total{{{key}}}"]
    assert number == found[f"burnish_phase_seconds_count{{{key}}}"] >= 2
    assert found[f'burnish_phase_seconds_bucket{{{key},le="+Inf"}}'] == number
    limits = [found[f'burnish_phase_seconds_bucket{{{key},le="{limit}"}}'] for limit in (1, 5, 15, 60, 300, 900, 3600)]
    assert limits == sorted(limits) and limits[-1] == number
    assert any(name.startswith("burnish_agent_calls_total") for name in found)
    assert "burnish_runners" in found


def test_requests_are_counted_by_route_and_paths_create_no_labels(server: AtHand) -> None:
    before = len(scraped(server))
    for number in range(30):
        server.client.get(f"/nowhere/{number}", headers={"Authorization": f"Bearer {TOKEN}"})
        server.of_project("GET", f"/tasks/{number + 1000}")

    found = scraped(server)
    assert found['burnish_http_request_seconds_count{method="",route="unmatched",status="404"}'] == 30
    route = "/api/v1/projects/{project}/tasks/{task}"
    assert found[f'burnish_http_request_seconds_count{{method="GET",route="{route}",status="404"}}'] == 30
    assert len(found) - before < 40
    assert not any("nowhere" in name for name in found)


def test_metrics_need_a_token_and_a_viewer_may_scrape(server: AtHand) -> None:
    assert server.client.get("/metrics").status_code == 401
    token = server.registry.store.people.add("prometheus", Role.VIEWER, "x")
    answer = server.client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    server.registry.store.people.revoke("prometheus")


@pytest.mark.slow
def test_both_databases_count_the_same(server: AtHand, tmp_path: Path) -> None:
    source = server.registry.store
    with postgresql_server().database() as url, Store.open(tmp_path, url=url) as target:
        source.copy_to(target)
        ours, theirs = source.counts(), target.counts()

    assert (ours.tasks, ours.queue, ours.agents) == (theirs.tasks, theirs.queue, theirs.agents)
    assert ours.agents
    for mine, other in zip(ours.phases, theirs.phases, strict=True):
        assert (mine.project, mine.phase, mine.state, mine.number) == (
            other.project,
            other.phase,
            other.state,
            other.number,
        )
        assert mine.buckets == other.buckets
        assert abs(mine.seconds - other.seconds) < 0.1
