"""A stand-in for gh, GitHub's command line, that keeps pull requests, comments and CI runs in a JSON file."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# `pr create` reads the branch of the remote, so that the head is what was pushed.
_PROGRAM = """#!{python} -I
import fcntl, json, pathlib, re, subprocess, sys
place = pathlib.Path({place!r})
lock = place.with_name("lock").open("w")
fcntl.flock(lock, fcntl.LOCK_EX)
state = json.loads(place.read_text())
argv, body = sys.argv[1:], sys.stdin.read()
state["calls"].append({{"argv": argv, "body": body}})
flags = dict(word[2:].split("=", 1) if "=" in word else (word[2:], "") for word in argv if word.startswith("--"))
words = [word for word in argv if not word.startswith("--")]
def tip(branch):
    argv = ["git", "--git-dir", {remote!r}, "rev-parse", "--verify", "-q", "refs/heads/" + branch]
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()
def end(value=None, error=""):
    place.write_text(json.dumps(state))
    if error:
        sys.exit(error)
    print(value if isinstance(value, str) else json.dumps(value))
    sys.exit(0)
def pull_of(name):
    for pull in state["pulls"]:
        if str(pull["number"]) == name or pull["headRefName"] == name:
            head = tip(pull["headRefName"])
            return {{**pull, "headRefOid": head or pull["headRefOid"]}}
    end(error="no pull requests found for branch " + repr(name))
if state.get("broken"):
    end(error="gh: " + state["broken"])
if words[:2] == ["pr", "create"]:
    if any(pull["headRefName"] == flags["head"] for pull in state["pulls"]):
        end(error="a pull request for branch already exists:\\nhttps://example.org/pull/7")
    state["pulls"].append({{"number": 7, "state": "OPEN", "url": "https://example.org/pull/7", "title": flags["title"],
        "headRefName": flags["head"], "headRefOid": tip(flags["head"]), "baseRefName": flags["base"]}})
    end("https://example.org/pull/7")
if words[:2] == ["pr", "edit"]:
    end("https://example.org/pull/7")
if words[:2] == ["pr", "view"]:
    pull = pull_of(words[2])
    end({{key: pull[key] for key in flags["json"].split(",")}})
if words[:2] == ["issue", "list"]:
    states = {{"open": ("OPEN",), "closed": ("CLOSED",), "all": ("OPEN", "CLOSED")}}[flags.get("state", "open")]
    chosen = [issue for issue in reversed(state["issues"]) if issue["state"] in states][:int(flags.get("limit", "30"))]
    end([{{key: issue[key] for key in flags["json"].split(",")}} for issue in chosen])
if words[:2] == ["run", "view"]:
    log = state["logs"].get(flags["job"])
    end(log) if log else end(error="log not found")
if words[:2] == ["api", "graphql"]:
    nodes = [{{"isResolved": True, "comments": {{"nodes": [{{"databaseId": id}}]}}}} for id in state["resolved"]]
    threads = {{"pageInfo": {{"hasNextPage": False, "endCursor": None}}, "nodes": nodes}}
    end({{"data": {{"repository": {{"pullRequest": {{"reviewThreads": threads}}}}}}}})
path = words[1].removeprefix("repos/{{owner}}/{{repo}}/")
if flags.get("method") == "POST":
    review, id = json.loads(body), 9000 + len(state["reviews"])
    if state.get("refuse_lines") and review["comments"]:
        end(error="gh: Unprocessable Entity (HTTP 422)")
    state["reviews"].append({{"id": id, "state": "COMMENTED", "body": review["body"], "user": state["me"],
        "author_association": "OWNER"}})
    for number, comment in enumerate(review["comments"]):
        state["review_comments"].append({{**comment, "id": id * 10 + number, "pull_request_review_id": id,
            "user": state["me"], "author_association": "OWNER"}})
    end({{"id": id, "html_url": "https://example.org/pull/7#review-" + str(id)}})
rows = {{"pulls/7/comments": "review_comments", "issues/7/comments": "issue_comments", "pulls/7/reviews": "reviews"}}
if path in rows:
    # as --paginate prints two pages
    found = state[rows[path]]
    end(json.dumps(found[:1]) + json.dumps(found[1:]))
if re.fullmatch("commits/[0-9a-f]+/check-runs", path):
    end({{"check_runs": state["check_runs"].get(path.split("/")[1], [])}})
end(error="unknown call " + " ".join(argv))
"""
_EMPTY: dict[str, Any] = {
    **{name: [] for name in ("calls", "pulls", "issues", "review_comments", "issue_comments", "reviews", "resolved")},
    "check_runs": {},
    "logs": {},
    "me": {"login": "me", "type": "User"},
}


@dataclass(frozen=True)
class GhStandIn:
    folder: Path

    @classmethod
    def make(cls, folder: Path, remote: Path) -> GhStandIn:
        folder.mkdir()
        place = folder / "state.json"
        place.write_text(json.dumps(_EMPTY))
        program = folder / "gh"
        program.write_text(_PROGRAM.format(python=sys.executable, place=str(place), remote=str(remote)))
        program.chmod(0o755)
        return cls(folder)

    @property
    def state(self) -> dict[str, Any]:
        with self._locked():
            return self._read()

    def _read(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "state.json").read_text()))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """A call of the program that is under way ends first."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def change(self) -> Iterator[dict[str, Any]]:
        with self._locked():
            state = self._read()
            yield state
            (self.folder / "state.json").write_text(json.dumps(state))

    @property
    def path(self) -> str:
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"
