"""Everything that the command line does can be asked for over HTTP, or there is a reason why not."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.cli.main import VERBS
from testing.at_hand import AtHand

OF_PROJECT = "/api/v1/projects/{project}"
TASK = f"{OF_PROJECT}/tasks/{{task}}"
ROUTES = {
    "projects": ["GET /api/v1/projects", "DELETE /api/v1/projects/{project}"],
    "doctor": [f"GET {OF_PROJECT}/doctor"],
    "config": [f"GET {OF_PROJECT}/config"],
    "add": [f"POST {OF_PROJECT}/tasks"],
    "list": [f"GET {OF_PROJECT}/tasks", "GET /api/v1/tasks"],
    "status": [f"GET {OF_PROJECT}/tasks"],
    "show": [f"GET {TASK}", f"GET {TASK}/artifacts", f"GET {TASK}/artifacts/{{name}}"],
    "edit": [f"PATCH {TASK}"],
    "rm": [f"DELETE {TASK}"],
    "run": [f"POST {OF_PROJECT}/run", f"POST {TASK}/run", f"POST {TASK}/stop"],
    "work": [f"POST {OF_PROJECT}/run"],
    "review": [
        f"POST {TASK}/review",
        f"POST {TASK}/review-from",
        f"GET {TASK}/review-json",
        f"GET {TASK}/draft",
        f"POST {TASK}/draft/comments",
        f"PATCH {TASK}/draft/comments/{{comment}}",
        f"DELETE {TASK}/draft/comments/{{comment}}",
        f"POST {TASK}/draft/send",
    ],
    "handoff": [f"POST {TASK}/handoff"],
    "improve": [f"POST {TASK}/improve"],
    "retry": [f"POST {TASK}/retry"],
    "decide": [f"POST {TASK}/decide"],
    "override": [f"POST {TASK}/override"],
    "inbox": [f"GET {OF_PROJECT}/inbox", "GET /api/v1/inbox"],
    "stop": [f"POST {OF_PROJECT}/stop", f"POST {TASK}/stop"],
    "limits": ["GET /api/v1/limits", "DELETE /api/v1/limits/{login}"],
    "serve": [f"GET {OF_PROJECT}/auto", f"POST {OF_PROJECT}/auto"],
    "pause": [f"POST {TASK}/pause"],
    "unpause": [f"POST {TASK}/unpause"],
    "cancel": [f"POST {TASK}/cancel"],
    "done": [f"POST {TASK}/done"],
    "findings": [f"GET {TASK}/findings"],
    "comment": [f"POST {TASK}/comments", f"POST {TASK}/findings/{{finding}}/reply"],
    "apply": [f"POST {TASK}/apply"],
    "resolve": [f"POST {TASK}/findings/{{finding}}/resolve"],
    "waive": [f"POST {TASK}/findings/{{finding}}/waive"],
    "reopen": [f"POST {TASK}/findings/{{finding}}/reopen"],
    "prompts": [
        f"GET {OF_PROJECT}/prompts",
        f"GET {OF_PROJECT}/prompts/{{name}}",
        f"PUT {OF_PROJECT}/prompts/{{name}}",
        f"DELETE {OF_PROJECT}/prompts/{{name}}",
        f"POST {OF_PROJECT}/prompts/reset",
        f"POST {OF_PROJECT}/prompts/{{name}}/preview",
        f"GET {TASK}/prompts",
    ],
    "export": [f"GET {TASK}/export", f"GET {OF_PROJECT}/export"],
    "diff": [f"GET {TASK}/diff"],
    "path": [f"GET {TASK}/path"],
    "merge": [f"POST {TASK}/merge", f"POST {OF_PROJECT}/merge-verified"],
    "rebase": [f"POST {TASK}/rebase"],
    "pr": [f"POST {TASK}/pr", f"POST {TASK}/pr/sync"],
    "log": [f"GET {TASK}/logs", f"GET {TASK}/logs/{{name}}", f"GET {TASK}/transcript"],
    "events": [f"GET {OF_PROJECT}/events"],
    "stats": [f"GET {OF_PROJECT}/stats"],
    "people": [
        "GET /api/v1/people",
        "POST /api/v1/people",
        "PATCH /api/v1/people/{name}",
        "DELETE /api/v1/people/{name}",
        "POST /api/v1/people/{name}/link",
    ],
    "audit": ["GET /api/v1/audit"],
    "cost": [f"GET {OF_PROJECT}/cost"],
    "clean": [f"GET {OF_PROJECT}/clean", f"POST {OF_PROJECT}/clean"],
    "rebuild": [f"POST {OF_PROJECT}/rebuild"],
    "version": ["GET /api/v1/server"],
}
# verbs that belong to the machine they are typed on
EXCEPTIONS = {
    "attest": "signs with the key of the person, in whose terminal a passphrase can be asked for",
    "verify": "needs a repository and a list of signers, and no server",
    "init": "writes settings into a checkout that the server does not know yet: paths are not taken over HTTP",
    "import": "reads files of this machine: paths are not taken over HTTP, and single tasks have a route",
    "trust": "lets programs of a checkout run, which a person decides in a terminal and never through a page",
    "untrust": "belongs to trust, and is typed where that was",
    "demo": "makes a repository to look at, in the terminal",
    "hook": "installs itself into a program's settings on this machine",
    "open": "starts an editor on the person's screen",
    "service": "installs itself into the login of a person on this machine",
    "help": "describes the command line",
    "uninstall": "removes the home that the server itself uses",
    "store": "moves the database that the server itself has open",
    "sync": "pushes to a git remote with the credentials of the person at the terminal",
    "tui": "is a screen of its own",
    "mcp": "is spoken over the pipes of the program that starts it",
    "worker": "is a process on another machine",
}


def described(server: AtHand) -> dict[str, dict[str, Any]]:
    paths = server.api("GET", "/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}": what for path, ways in paths.items() for method, what in ways.items()}


def test_every_verb_has_a_route_or_a_reason(server: AtHand) -> None:
    known = described(server)
    new = [verb for verb in VERBS if verb not in ROUTES and verb not in EXCEPTIONS]
    assert not new, "Add the verb's route to ROUTES in this file, or the reason why it has none to EXCEPTIONS."
    assert [route for verb, routes in ROUTES.items() if verb in VERBS for route in routes if route not in known] == []
    assert not ROUTES.keys() & EXCEPTIONS.keys()


@pytest.mark.slow
def test_every_route_is_described_with_an_example_and_its_problems(server: AtHand) -> None:
    schema = server.api("GET", "/openapi.json").json()
    parts = schema["components"]["schemas"]
    assert "Problem" in parts and schema["security"] == [{"token": []}]
    for name, what in described(server).items():
        assert what["tags"] and what.get("description"), name
        assert "application/problem+json" in what["responses"]["409"]["content"], name
        body = what.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        refs = [one["$ref"] for one in (body, *body.get("anyOf", ()), *body.get("allOf", ())) if "$ref" in one]
        shape = parts[refs[0].rpartition("/")[2]] if refs else {}
        if shape:
            assert shape.get("examples"), (name, shape)


@pytest.mark.parametrize("verb", sorted(EXCEPTIONS))
def test_a_reason_is_a_sentence(verb: str) -> None:
    assert len(EXCEPTIONS[verb].split()) >= 3
