"""The MCP server with the real client of the SDK: what it offers, what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from testing.lab import REJECT, Lab
from testing.serving import serving

TOOLS = {
    *("list_tasks", "show_task", "read_findings", "read_events", "wait_for_task"),
    *("add_task", "dispute_finding", "request_review", "read_review"),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Task 1 is verified, task 2 is blocked with an open finding."""
    lab = Lab.make(tmp_path_factory.mktemp("mcp") / "lab")
    lab.add("Add division")
    lab.burnish("run")
    lab.agent("judge", REJECT)
    lab.add("Second", "--max-cycles", "1")
    lab.burnish("run", "2", code=1)
    return lab


Talk = Callable[[Client], Awaitable[Any]]


def over_stdio(lab: Lab, talk: Talk, **env: str) -> Any:
    argv = ["-P", "-m", "burnish.cli", "-C", str(lab.repo.path), "mcp"]
    server = StdioServerParameters(command=sys.executable, args=argv, env={**os.environ, **lab.env, **env})

    async def conversation() -> Any:
        async with Client(stdio_client(server)) as client:
            return await talk(client)

    return asyncio.run(asyncio.wait_for(conversation(), 100))


async def answer(client: Client, tool: str, **values: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, values)
    assert not result.is_error, result.content
    text = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert text == result.structured_content
    return text  # type: ignore[no-any-return]


async def refusal(client: Client, tool: str, **values: Any) -> str:
    result = await client.call_tool(tool, values)
    assert result.is_error, result.structured_content
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_client_reads_tasks_findings_and_events(lab: Lab) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
        assert {name for name, only_reads in hints.items() if not only_reads} == {
            *("add_task", "dispute_finding", "request_review")
        }
        tasks = await answer(client, "list_tasks")
        assert [task["status"] for task in tasks["tasks"]][-2:] == ["blocked", "verified"]
        assert (await answer(client, "list_tasks", status=["verified"]))["total"] == 1
        assert "Unknown status" in await refusal(client, "list_tasks", status=["fine"])
        story = await answer(client, "show_task", task="2")
        assert story["cycles"][0]["verdict"] == "changes_requested" and "events" not in story
        found = await answer(client, "read_findings", task="T2")
        assert found["findings"][0]["title"] == "Zero is not handled"
        assert "There is no task 99" in await refusal(client, "show_task", task="99")
        first = await answer(client, "read_events", limit=3)
        after = await answer(client, "read_events", since=first["events"][-1]["id"], limit=1)
        assert first["more"] and after["events"][0]["id"] > first["events"][-1]["id"]
        ended = await answer(client, "wait_for_task", task="2")
        assert ended["ended"] and not ended["running"]

    over_stdio(lab, talk)


@pytest.mark.slow
def test_a_client_adds_a_task_and_disputes_a_finding_but_decides_nothing(lab: Lab) -> None:
    async def talk(client: Client) -> None:
        added = await answer(client, "add_task", title="From outside", criteria=["it works"], depends_on=["1"])
        assert added["task"]["status"] == "backlog" and added["task"]["depends_on"] == ["1"]
        waiting = await answer(client, "wait_for_task", task=added["task"]["id"], seconds=0)
        assert not waiting["ended"]
        assert "at most 500" in await refusal(client, "add_task", title="x" * 501)
        # what would skip a check or a review is not taken
        for sly in ({"skip_tests": True}, {"auto_review": False}):
            assert f"no argument '{next(iter(sly))}'" in await refusal(client, "add_task", title="Sly", **sly)
        ruled = await answer(client, "dispute_finding", task="2", finding="f1", evidence="b is never 0 @here")
        assert ruled["state"] == "disputed" and ruled["disputes"] == 1
        assert "no finding F9" in await refusal(client, "dispute_finding", task="2", finding="F9", evidence="x")
        assert "is resolved" in await refusal(client, "dispute_finding", task="1", finding="F1", evidence="x")
        for name in ("waive", "decide", "merge", "override", "trust", "run", "resolve_finding"):
            result = await client.call_tool(name, {"task": "2"})
            assert result.is_error

    over_stdio(lab, talk)
    assert "Sly" not in [task["title"] for task in lab.burnish("list", "--json").json["tasks"]]
    assert lab.task(2)["status"] == "blocked" and lab.task(2)["open_findings"] == 1


@pytest.mark.slow
def test_an_argument_that_a_tool_does_not_have_is_refused_and_a_number_names_a_task(lab: Lab) -> None:
    async def talk(client: Client) -> None:
        refused = await refusal(client, "request_review", rev="HEAD~1")
        assert refused.startswith("request_review has no argument 'rev'. Its arguments: ")
        shown = await client.call_tool("show_task", {"task": 1})
        assert not shown.is_error and shown.structured_content["id"] == "1"  # type: ignore[index]
        assert "There is no task 99." in await refusal(client, "show_task", task=99)

    over_stdio(lab, talk)


@pytest.mark.slow
def test_a_value_of_a_wrong_type_and_a_missing_argument_are_named_in_one_line(
    lab: Lab,
) -> None:
    async def talk(client: Client) -> None:
        refused = await refusal(client, "list_tasks", limit="many")
        assert refused.startswith("list_tasks: limit cannot be 'many'. It should be a valid integer")
        assert "\n" not in refused and "pydantic" not in refused
        assert await refusal(client, "show_task") == "show_task needs the argument task."
        too_much = await refusal(client, "list_tasks", limit=201)
        assert too_much == "list_tasks: limit cannot be 201. It should be less than or equal to 200."
        secret = await refusal(client, "list_tasks", limit="x" * 40 + "blue-orchid-4711-xyz")
        assert "blue" not in secret

    over_stdio(lab, talk, SOME_API_KEY="blue-orchid-4711-xyz")


def test_events_of_an_unknown_task_are_refused(lab: Lab) -> None:
    async def talk(client: Client) -> str:
        return await refusal(client, "read_events", task="99")

    assert "There is no task 99." in over_stdio(lab, talk)


def test_a_comment_of_a_person_cannot_be_disputed(lab: Lab) -> None:
    lab.burnish("comment", "2", "Rename it")

    async def talk(client: Client) -> str:
        return await refusal(client, "dispute_finding", task="2", finding="F2", evidence="no")

    assert "comment of a person" in over_stdio(lab, talk)


@pytest.mark.slow
def test_inside_a_phase_a_client_can_only_read(lab: Lab) -> None:
    before = lab.burnish("list", "--json").json

    async def talk(client: Client) -> None:
        assert (await answer(client, "list_tasks"))["total"] == len(before["tasks"])
        for tool, values in (
            ("add_task", {"title": "x"}),
            ("dispute_finding", {"task": "2", "finding": "F1", "evidence": "x"}),
            ("request_review", {"task": "2"}),
            ("request_review", {}),
        ):
            assert "inside a phase" in await refusal(client, tool, **values)

    over_stdio(lab, talk, BURNISH_TASK="2")
    assert lab.burnish("list", "--json").json == before


@pytest.mark.slow
def test_a_review_of_a_change_and_of_a_task_can_be_asked_for(lab: Lab) -> None:
    lab.agent("judge", "import time; time.sleep(1)\n" + REJECT)

    async def talk(client: Client) -> None:
        begun = await answer(client, "request_review", revision="HEAD", seconds=0)
        assert begun == {"review": "r1", "running": True}
        result = await answer(client, "read_review", review="r1", seconds=60)
        assert result["verdict"] == "changes_requested" and not result["passed"]
        assert result["findings"][0]["title"] == "Zero is not handled"
        assert "nothere" in await refusal(client, "request_review", revision="nothere")
        assert "cannot be combined" in await refusal(client, "request_review", revision="HEAD", task="2")
        assert "no review" in await refusal(client, "read_review", review="r9")
        last = (await answer(client, "read_events", task="2", limit=200))["events"][-1]["id"]
        started = await answer(client, "request_review", task="2")
        assert started["started"]
        ended = await answer(client, "wait_for_task", task="2", seconds=60)
        assert ended["task"]["status"] == "blocked"
        types = [event["type"] for event in (await answer(client, "read_events", task="2", since=last))["events"]]
        assert "review.completed" in types

    over_stdio(lab, talk)


@pytest.mark.slow
def test_texts_are_redacted_and_limited(lab: Lab) -> None:
    secret = "ghp_" + "a1B2" * 9
    lab.add("Long", "-d", f"{'z' * 9000} {secret}")

    async def talk(client: Client) -> str:
        tasks = await answer(client, "list_tasks", limit=1)
        story = await client.call_tool("show_task", {"task": tasks["tasks"][0]["id"]})
        return str(story.content[0].text)  # type: ignore[union-attr]

    text = over_stdio(lab, talk)
    assert secret not in text and "more characters)" in text and len(text) < 30_000


def test_without_the_extra_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    from burnish.errors import BurnishError
    from burnish.mcp.server import serve_stdio

    with mock.patch("burnish.mcp.server.find_spec", return_value=None), pytest.raises(BurnishError) as raised:
        serve_stdio(tmp_path)
    assert "burnish[mcp]" in raised.value.hint


@pytest.mark.slow
def test_over_http_the_token_of_the_server_is_needed(lab: Lab) -> None:
    lab.agent("judge", REJECT)
    with serving(lab) as served:
        project = httpx.get(
            f"{served.url}/api/v1/projects", headers={"Authorization": f"Bearer {served.token}"}
        ).json()["projects"][0]["key"]
        address = f"{served.url}/mcp/{project}"
        with pytest.raises(BaseExceptionGroup):
            over_http(address, "wrong-token-of-this-test", lambda client: answer(client, "list_tasks"))

        async def talk(client: Client) -> None:
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            added = await answer(client, "add_task", title="Over HTTP")
            assert (await answer(client, "show_task", task=added["task"]["id"]))["title"] == "Over HTTP"
            result = await answer(client, "request_review", revision="HEAD")
            assert result["verdict"] == "changes_requested"
            assert (await answer(client, "request_review", task="2"))["task"]["status"] == "code_review"
            assert (await answer(client, "wait_for_task", task="2", seconds=60))["ended"]

        over_http(address, served.token, talk)
        head = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        statuses = {
            "no project": httpx.post(f"{served.url}/mcp/nothing", headers=head, json=call).status_code,
            "get": httpx.get(address, headers=head).status_code,
            "no token": httpx.post(address, json=call).status_code,
            "other site": httpx.post(address, headers={**head, "Origin": "http://evil.example"}, json=call).status_code,
            "other host": httpx.post(address, headers={**head, "Host": "evil.example"}, json=call).status_code,
        }
        assert statuses == {"no project": 404, "get": 405, "no token": 401, "other site": 403, "other host": 421}


def over_http(address: str, token: str, talk: Talk) -> Any:
    async def conversation() -> Any:
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
        async with http, Client(streamable_http_client(address, http_client=http)) as client:
            return await talk(client)

    return asyncio.run(asyncio.wait_for(conversation(), 100))


def test_a_server_starts_without_the_modules_that_run_tasks() -> None:
    names = ("server", "access", "tools", "reviews")
    code = f"import sys, {', '.join(f'burnish.mcp.{name}' for name in names)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    slow = {"burnish.adapters.agents", "burnish.runtime.app", "burnish.features.run.run", "burnish.checks.discover"}
    assert not slow & set(done.stdout.split())
