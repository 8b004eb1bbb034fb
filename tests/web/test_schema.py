"""The API under what its own description allows, and under what it does not: never a server error."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import hypothesis
import pytest

from testing.at_hand import TOKEN, AtHand, at_hand
from testing.attack_counts import CountAttacks
from testing.both_stores import POSTGRESQL
from testing.lab import APPROVE, Lab
from testing.postgresql import postgresql_server

# `make torture` has one test for each part of the operations, so that workers share them
EXAMPLES, PARTS = (40, 10) if os.environ.get("BURNISH_TORTURE") else (4, 1)
QUICK = 'app.write_text(app.read_text() + "# more\\n")'
# what is asked about exists, so that requests get beyond "there is no such thing"
REAL = {
    "task": ["1", "2", "3"],
    "finding": ["F1"],
    "name": ["review.system", "fix.template", "review-cycle-1.md", "calls:run-1-cycle-1-implement-1:try-1:stdout"],
}


@pytest.fixture(scope="module", params=["sqlite", pytest.param(POSTGRESQL, marks=[pytest.mark.long, pytest.mark.slow])])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The address of the database for all tests of the module; None: SQLite in the home."""
    if request.param != POSTGRESQL:
        yield None
        return
    with postgresql_server().database() as url:
        yield url


@pytest.fixture(scope="module")
def played_with(tmp_path_factory: pytest.TempPathFactory, database: str | None) -> Lab:
    """Task 1 waits for a person; everything here may be broken by what comes."""
    where = tmp_path_factory.mktemp("schema") / "lab"
    lab = Lab.make(where, author=QUICK, judge=APPROVE, extra="approval: required\n")
    if database:
        for file in Path(lab.env["BURNISH_HOME"]).glob("burnish.db*"):
            file.unlink()  # the settings were trusted before
        lab.env["BURNISH__DATABASE"] = database
    for title in ("Add division", "Add a root", "Add a power"):
        lab.add(title)
    lab.burnish("run", "1", code=1)
    return lab


@pytest.fixture
def server(played_with: Lab, hermetic: object) -> Iterator[AtHand]:
    with at_hand(played_with) as opened:
        yield opened


def send(server: AtHand, case: Any, pick: int) -> int:
    """One generated request, with the token."""
    asked = case.as_transport_kwargs(base_url="http://127.0.0.1:4270")
    given = dict(case.path_parameters or {})
    if case.operation.path != "/api/v1/projects/{project}":  # forgetting it would end the game
        given |= {"project": server.project, **{key: REAL[key][pick % len(REAL[key])] for key in REAL if key in given}}
    path = case.operation.path
    for key, value in given.items():
        path = path.replace(f"{{{key}}}", quote(str(value), safe="") or "x")
    query = {key: value for key, value in (asked.get("params") or {}).items() if key != "probe"}
    body = {key: asked[key] for key in ("json", "data") if asked.get(key) is not None}
    headers = {"Authorization": f"Bearer {TOKEN}", **({"Content-Type": "application/json"} if "data" in body else {})}
    return int(server.client.request(asked["method"], path, params=query, headers=headers, **body).status_code)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_that_is_described_makes_a_server_error(
    server: AtHand, count_attacks: CountAttacks, part: int
) -> None:
    import schemathesis  # a second at the start of each worker, if it were above

    schema = schemathesis.openapi.from_dict(server.app.openapi())
    answered: dict[str, set[int]] = {}
    operations = list(schema.get_all_operations())
    for found in operations[part::PARTS]:
        operation = found.ok()
        seen = answered.setdefault(f"{operation.method.upper()} {operation.path}", set())

        @hypothesis.given(case=operation.as_strategy(), pick=hypothesis.strategies.integers(0, 11))
        @hypothesis.settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        def ask(case: Any, pick: int) -> None:
            seen.add(send(server, case, pick))  # noqa: B023

        ask()
    assert len(operations) > 45
    errors = [name for name, codes in answered.items() if max(codes, default=0) >= 500]
    count_attacks("crash the server by a request", EXAMPLES * len(answered), len(errors))
    assert errors == []
    # and it was not all refused at the gate
    assert sum(any(code < 300 for code in codes) for codes in answered.values()) > (20 if PARTS == 1 else 0)


@pytest.mark.slow
def test_every_example_of_the_description_is_understood(server: AtHand) -> None:
    described = server.app.openapi()
    for path, ways in described["paths"].items():
        for method, what in ways.items():
            body = what.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            shape = described["components"]["schemas"].get(str(body.get("$ref", "")).rpartition("/")[2], {})
            for example in shape.get("examples", ()):
                real = path.replace("{project}", server.project).replace("{task}", "99").replace("{finding}", "F9")
                real = real.replace("{comment}", "1")
                answer = server.client.request(
                    method.upper(),
                    real.replace("{name}", "review.system"),
                    json={**example, **({"dry_run": True} if real.endswith("/run") and "{task}" not in path else {})},
                    headers={"Authorization": f"Bearer {TOKEN}"},
                )
                assert answer.status_code < 500 and answer.status_code != 422, (method, path, answer.text)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{",
        b"\xff\xfe",
        b'{"title": "\\ud800"}',
        b'{"\\ud800": 1, "title": "x"}',
        b'{"title": "a\\u0000b"}',
        b'{"title": "x", "title": "y", "priority": 1e400}',
        b'{"title": "x", "priority": NaN}',
        b'{"title": "x", "priority": 1' + b"0" * 5000 + b"}",
        b'{"title": "x", "priority": 99999999999999999999}',
        b'{"title": "x", "depends_on": [99999999999999999999]}',
        b'{"title": "x", "depends_on": ["\\u0661"]}',
        b'{"title": "x", "checklist": [""]}',
        b'{"title": "x", "base": "--upload-pack=evil"}',
        b'{"title": "x", "base": "a\\nb"}',
        b'{"title": "x", "description": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"title": "x", "scope": {"$ref": "#"}}',
        json.dumps({"title": "x" * 100_000}).encode(),
        json.dumps({"title": "x", "criteria": ["y" * 300_000]}).encode(),
    ],
)
def test_a_strange_body_is_refused_and_nothing_is_added(server: AtHand, body: bytes) -> None:
    before = server.of_project("GET", "/tasks").json()["total"]
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    answer = server.client.post(f"/api/v1/projects/{server.project}/tasks", content=body, headers=headers)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["title"] and answer.headers["content-type"] == "application/problem+json"
    assert server.of_project("GET", "/tasks").json()["total"] == before


def test_lists_come_in_pages(server: AtHand) -> None:
    whole = server.of_project("GET", "/tasks").json()
    first, second = (server.of_project("GET", f"/tasks?limit=1&offset={n}").json() for n in (0, 1))
    assert whole["total"] == first["total"] == len(whole["tasks"])
    assert [first["tasks"][0], second["tasks"][0]] == whole["tasks"][:2]
    assert server.of_project("GET", "/tasks?limit=1001").status_code == 422
    assert server.of_project("GET", "/tasks?limit=0").status_code == 422
    assert server.of_project("GET", "/tasks?status=asleep").status_code == 400
    events = server.of_project("GET", "/events?limit=3").json()
    rest = server.of_project("GET", f"/events?since={events['events'][-1]['id']}&limit=2").json()["events"]
    assert [event["id"] for event in events["events"] + rest] == [1, 2, 3, 4, 5] and events["last"] >= 5
