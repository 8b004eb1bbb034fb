"""Calls of `gh`, and what burnish remembers of a task's pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.adapters.github_cli import find_gh, last_line, run_gh
from burnish.errors import BadInput, BurnishError
from burnish.git.files import disk_errors, write_whole
from burnish.proc.folders import private_folder
from burnish.sanitize import terminal_text

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.runtime.app import App

# gh fills the owner and the name of the repository in
_REPOSITORY = "repos/{owner}/{repo}"
_PULL_FIELDS = "number,state,url,headRefOid,baseRefName,title"
_MAX_PAGES = 100
_COMMIT = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_THREADS = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 100, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes { isResolved comments(first: 1) { nodes { databaseId } } } } } } }"""


@dataclass(frozen=True, slots=True)
class PullState:
    """A pull request as GitHub has it."""

    number: int
    state: str  # OPEN, MERGED or CLOSED
    url: str
    head: str
    base: str
    title: str


@dataclass(frozen=True, slots=True)
class GitHub:
    root: Path
    gh: str

    @classmethod
    def of(cls, root: Path) -> GitHub:
        return cls(root, find_gh("so GitHub cannot be asked"))

    def pull(self, name: str) -> PullState | None:
        """The pull request with this number or of this branch; None if there is none."""
        result = run_gh(self.root, self.gh, "pr", "view", name, f"--json={_PULL_FIELDS}")
        text = result.stderr.decode(errors="replace").lower()
        if result.exit_code and ("no pull requests found" in text or "could not resolve to a pullrequest" in text):
            return None
        if result.exit_code:
            raise _failed(last_line(result))
        found = _object(result.stdout)
        number, words = found.get("number"), [found.get(name) for name in _PULL_FIELDS.split(",")[1:]]
        if type(number) is not int or not 0 < number < 2**53 or not all(isinstance(word, str) for word in words):
            raise _failed("gh printed something else than a pull request")
        pull = PullState(number, *(terminal_text(str(word)) for word in words))
        if pull.state not in ("OPEN", "MERGED", "CLOSED") or not _COMMIT.fullmatch(pull.head):
            raise _failed("gh printed something else than a pull request")
        return pull

    def rows(self, path: str) -> list[dict[str, Any]]:
        """All pages of a list."""
        pages = _values(self._ask("api", "--paginate", f"{_REPOSITORY}/{path}"))
        return [row for page in pages for row in _rows_of(page)]

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return _object(self._ask("api", "--method=POST", f"{_REPOSITORY}/{path}", "--input=-", text=json.dumps(body)))

    def resolved_threads(self, number: int) -> frozenset[int]:
        """The first comments of the threads that a person resolved."""
        found: set[int] = set()
        after = ""
        for _ in range(_MAX_PAGES):
            cursor = (f"--raw-field=after={after}",) if after else ()
            answer = self._ask(
                *("api", "graphql", f"--raw-field=query={_THREADS}", "--field=owner={owner}", "--field=name={repo}"),
                *(f"--field=number={number}", *cursor),
            )
            try:
                threads = _object(answer)["data"]["repository"]["pullRequest"]["reviewThreads"]
                for node in threads["nodes"]:
                    if node["isResolved"]:
                        found |= {int(one["databaseId"]) for one in node["comments"]["nodes"]}
                if not threads["pageInfo"]["hasNextPage"]:
                    return frozenset(found)
                after = str(threads["pageInfo"]["endCursor"])
            except (KeyError, TypeError, ValueError):
                raise _failed("the threads of the pull request cannot be read") from None
        raise _failed(f"the pull request has more than {_MAX_PAGES * 100:,} threads")

    def _ask(self, *args: str, text: str = "") -> bytes:
        result = run_gh(self.root, self.gh, *args, text=text)
        if result.exit_code:
            raise _failed(last_line(result))
        return result.stdout

    def failed_log(self, job: int) -> str:
        """The output of a job's failed steps; "" if GitHub has none (another CI, or it was removed)."""
        result = run_gh(self.root, self.gh, "run", "view", f"--job={job}", "--log-failed")
        return "" if result.exit_code else result.stdout.decode(errors="replace")


def _failed(why: str) -> BurnishError:
    return BurnishError(f"GitHub could not be asked: {why}", hint="Check your login: gh auth status")


def _object(data: bytes) -> dict[str, Any]:
    values = list(_values(data))
    if len(values) != 1 or not isinstance(values[0], dict):
        raise _failed("gh printed something else than one JSON object")
    return values[0]


def _values(data: bytes) -> Iterator[Any]:
    """The JSON values of the output: `--paginate` prints one after the other."""
    text, decoder, at = data.decode("utf-8", "replace").strip(), json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise _failed("gh printed no JSON") from None
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def _rows_of(page: Any) -> list[dict[str, Any]]:
    rows = page if isinstance(page, list) else page.get("check_runs", []) if isinstance(page, dict) else []
    return [row for row in rows if isinstance(row, dict)]


# -- what burnish remembers -----------------------------------------------------------------------


@dataclass
class PullRecord:
    """What was posted to a pull request and what came back. In the burnish home: a comment cannot forge it."""

    number: int = 0
    # `run-cycle-commit` of the reviews that were posted
    rounds: list[str] = field(default_factory=list)
    # ids of our reviews on GitHub
    reviews: list[int] = field(default_factory=list)
    # id of a comment (`c1`, `i1`, `r1`) or of a CI run (`ci:NAME`) → finding, "" if it was not taken
    findings: dict[str, str] = field(default_factory=dict)
    # `ci:NAME` → id of the last run that failed
    failed_runs: dict[str, int] = field(default_factory=dict)
    # ids of comments of people without write access that were reported
    left_out: list[str] = field(default_factory=list)


def read_record(app: App, task: Task) -> PullRecord:
    try:
        data = json.loads(_place(app, task).read_bytes())
        return PullRecord(**data)
    except FileNotFoundError:
        return PullRecord()
    except (OSError, ValueError, TypeError):
        raise BadInput(
            f"What burnish remembers of the pull request of task {task.id} cannot be read.",
            hint=f"Remove {_place(app, task)}; comments are then taken again.",
        ) from None


def save_record(app: App, task: Task, record: PullRecord) -> None:
    place = _place(app, task)
    with disk_errors(f"writing {place}"):
        private_folder(place.parent)
        write_whole(place, json.dumps(asdict(record)).encode())


def recorded_ids(app: App) -> list[int]:
    """The tasks for which `burnish pr` opened a pull request."""
    return sorted(int(path.stem) for path in _folder(app).glob("*.json") if path.stem.isdigit())


def _place(app: App, task: Task) -> Path:
    return _folder(app) / f"{task.id}.json"


def _folder(app: App) -> Path:
    return app.home / "projects" / app.key / "pulls"
