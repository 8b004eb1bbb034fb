"""The inbox: all items of all projects that need a person, each with an action."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from burnish.core.decision import needs_description
from burnish.core.status import Reason
from burnish.features.hooks.news import hook_news
from burnish.features.server.registry import ProjectRegistry
from burnish.store.rows import ProjectRow
from burnish.views.board import Holders
from burnish.views.board_moves import is_budget_spent
from burnish.views.inbox import SECTIONS, InboxEntry, from_elsewhere, in_sections
from burnish.web.deps import RegistryDep
from burnish.web.pages.rendering import fragment, page

router = APIRouter(prefix="/inbox", include_in_schema=False)

# entries whose order the header names, so that a page knows its neighbours
MAX_ORDER = 300
# seconds that a count is cached; there is no event when a runner dies
FRESH = 30.0


@dataclass(frozen=True, slots=True)
class InboxAnswer:
    """The action of an item: a button that calls the API (`path`), or a link to a part of the task's page (`part`)."""

    label: str
    path: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    # part of the task's page, or `edit`: the form
    part: str = ""
    # text of the confirmation, if one is needed
    sure: str = ""
    # placeholder of the note, if one is required
    note: str = ""


DECIDE = InboxAnswer("Decide…", part="gate")
ANSWER = InboxAnswer("Answer…", part="gate")
RETRY = InboxAnswer("Retry", "/retry")
REVIEW = InboxAnswer("Review again", "/review")
MORE = InboxAnswer("Improve once more", "/improve", {"review": True})
SAY = InboxAnswer("Improve once more…", "/improve", {"review": True}, note="What should the agent do differently?")
RAISE = InboxAnswer("Raise and retry…", part="answer")
FINDINGS = InboxAnswer("View findings…", part="findings")
RUN = InboxAnswer("Review again", "/run")

BLOCKED = {
    Reason.MAX_CYCLES: MORE,
    Reason.NO_CHANGES: RETRY,
    Reason.SECRET: InboxAnswer("Let the agent remove it", "/retry"),
    Reason.NEEDS_DISCUSSION: InboxAnswer(
        "Answer…", "/improve", {"review": True}, note="Your answer to the reviewer's question"
    ),
    Reason.BRANCH_GONE: RETRY,
    Reason.CONFLICT: RETRY,
    Reason.UNREADABLE_REVIEW: REVIEW,
    Reason.INCOMPLETE_REVIEW: REVIEW,
    Reason.GUARD: FINDINGS,
}
# the task's page begins with what to type
TRUST = InboxAnswer("Trust it first…", part="main")
GO_ON = InboxAnswer("Continue", "/run")
DESCRIBE = InboxAnswer("Edit the description…", part="edit")


@dataclass(frozen=True, slots=True)
class InboxLine:
    entry: InboxEntry
    project: ProjectRow
    answer: InboxAnswer
    # a command that works in any directory
    command: str

    @property
    def id(self) -> str:
        return f"{self.project.key}-{self.entry.task.id}"

    @property
    def page(self) -> str:
        return f"/p/{self.project.key}/t/{self.entry.task.id}"

    @property
    def title(self) -> str:
        return self.entry.task.spec.title

    @property
    def link(self) -> str:
        """URL of the part of the page."""
        number, part = self.entry.task.id, self.answer.part
        return f"/p/{self.project.key}#edit-{number}" if part == "edit" else f"{self.page}#{part}"

    @property
    def cause(self) -> str:
        """Reason or error, e.g. `max cycles`."""
        task = self.entry.task
        word = {"blocked": task.reason, "failed": task.error}.get(self.entry.kind)
        return word.value.replace("_", " ").lower() if word else ""

    @property
    def why(self) -> str:
        is_named = self.cause or self.entry.kind == "waiting_approval"
        return (self.entry.task.note if is_named else "") or self.entry.why


@router.get("")
def show(request: Request, registry: RegistryDep, of: str = "") -> Response:
    rows = registry.projects()
    since = {row.key: registry.store.last_event(row.key) for row in rows}
    only = rows[0] if len(rows) == 1 else None
    return page(
        request, "inbox.html.j2", title="Inbox", here="inbox", project=only, since=since, **_view(registry, rows, of)
    )


@router.get("/part")
def part(registry: RegistryDep, of: str = "") -> Response:
    return fragment("inbox_part.html.j2", **_view(registry, registry.projects(), of))


@router.get("/count")
def count(request: Request, registry: RegistryDep) -> dict[str, Any]:
    """Number of items that need a person, and of tasks that are ready to merge, for the header."""
    rows, state = registry.projects(), request.app.state
    newest = tuple((row.key, registry.store.last_event(row.key)) for row in rows)
    events, at, counts = getattr(state, "waiting", ((), 0.0, {}))
    # every open page requests this after every event, so the counts are cached
    if events != newest or time.monotonic() - at > FRESH:
        found = registry.inbox(rows)
        ready = sum(entry.kind == "ready" for entry in found)
        counts = {
            "waiting": len(found) - ready,
            "ready": ready,
            "latest": _latest(found, rows),
            "order": [line.id for line in _lines(in_sections(found), rows)][:MAX_ORDER],
        }
        state.waiting = (newest, time.monotonic(), counts)
    return dict(counts)


@router.get("/next")
def next_item(registry: RegistryDep, after: str = "", then: str = "", peek: bool = False) -> Response:
    """Go to the task that needs a person next: the one below `after` (project and number), else the first.

    `then` are those that were below it when its page was opened, separated by commas: a task that was decided is not
    in the inbox any more, or is back at another place. `peek` names the next one instead, so that a page shows what
    the key leads to.
    """
    rows = registry.projects()
    lines = [line for line in _lines(in_sections(registry.inbox(rows)), rows) if line.id != after or not then]
    # what is only ready to be merged comes when nothing else is left
    groups = ([one for one in lines if one.entry.kind != "ready"], [one for one in lines if one.entry.kind == "ready"])
    others = [line for group in groups for line in _beginning_after(group, after, then.split(","))]
    if peek:
        return JSONResponse(
            [
                {"link": one.page, "id": one.entry.task.id, "title": one.title, "ready": one.entry.kind == "ready"}
                for one in others[:1]
            ]
        )
    return RedirectResponse(others[0].page if others else "/inbox", 303)


def _beginning_after(lines: Sequence[InboxLine], id: str, below: Sequence[str]) -> list[InboxLine]:
    """Begin with the first of `below` that is there, else after the line of `id`, else with the first line."""
    places = {line.id: number for number, line in enumerate(lines)}
    first = next((places[other] for other in below if other in places), None)
    if first is not None:
        return [*lines[first:], *lines[:first]]
    at = places.get(id)
    return list(lines) if at is None else [*lines[at + 1 :], *lines[:at]]


def _latest(found: Sequence[InboxEntry], rows: Sequence[ProjectRow]) -> dict[str, str] | None:
    """The entry that came last, for a notification."""
    entries = [entry for entry in found if entry.kind != "ready"]
    if not entries:
        return None
    entry = max(entries, key=lambda one: one.since)
    task = entry.task
    where = next((f"{row.name} " for row in rows if row.key == task.project and len(rows) > 1), "")
    link = f"/p/{task.project}/t/{task.id}"
    return {"title": f"{where}T{task.id} {task.spec.title}"[:200], "why": entry.why[:300], "link": link}


def _view(registry: ProjectRegistry, rows: list[ProjectRow], of: str) -> dict[str, Any]:
    selection = [row for row in rows if not of or row.key == of]
    holders = registry.holders()
    lines = [_trusted(line, holders) for line in _lines(registry.inbox(selection), rows)]
    waiting = [line for line in lines if line.entry.kind != "ready"]
    ready = [line for line in lines if line.entry.kind == "ready"]
    mergeable = [line.project.key for line in ready if line.answer is not TRUST]
    news = [(row, one) for row in selection for one in hook_news(registry.home, row.key, row.common_dir)]
    commits = [(row, one, from_elsewhere(one.command, str(row.root))) for row, one in news]
    sections = [(title, [line for line in waiting if line.entry.section == title]) for title in SECTIONS]
    return {
        "waiting": waiting,
        "sections": [(title, found) for title, found in sections if found],
        "ready": ready,
        "commits": commits,
        "mergeable": list(dict.fromkeys(mergeable)),
        "mergeable_number": len(mergeable),
        "of": of,
        "rows": rows,
    }


def _lines(entries: Sequence[InboxEntry], rows: Sequence[ProjectRow]) -> list[InboxLine]:
    by_key = {row.key: row for row in rows}
    return [_line(entry, by_key[entry.task.project]) for entry in entries]


def _line(entry: InboxEntry, project: ProjectRow) -> InboxLine:
    return InboxLine(entry, project, answer_of(entry), from_elsewhere(entry.command, str(project.root)))


def _trusted(line: InboxLine, holders: Holders) -> InboxLine:
    """Offers nothing that is refused because the checkout is not trusted."""
    needs_trust = line.answer.path not in ("", "/unpause") or line.answer.part in ("gate", "answer")
    return replace(line, answer=TRUST) if needs_trust and not holders.is_trusted(line.project.key) else line


def answer_of(entry: InboxEntry) -> InboxAnswer:
    task = entry.task
    match entry.kind:
        case "ready":
            words = f"Merges the approved commit into {task.target or 'its branch'}."
            return InboxAnswer("Merge", "/merge", {"commit": task.commit or ""}, sure=words)
        case "conflict":
            words = f"Merges {task.target} into the task's branch. The agent resolves the conflicts; a review follows."
            return InboxAnswer("Let the agent resolve", "/rebase", sure=words)
        case "waiting_approval":
            return ANSWER if entry.is_question else DECIDE
        case "failed":
            return RETRY
        case "waiver":
            return FINDINGS
        case "voided":
            return RUN
        case "interrupted":
            return GO_ON
        case "paused":
            return InboxAnswer("Unpause", "/unpause")
        case "review":
            return (
                InboxAnswer("Improve", "/improve") if "improve" in entry.command else InboxAnswer("Review", "/review")
            )
    if needs_description(task.reason, task.note):
        return DESCRIBE
    if task.reason is Reason.BUDGET:
        # a limit of the run is another one in the next run
        return RAISE if is_budget_spent(task) else RETRY
    return BLOCKED.get(task.reason, SAY) if task.reason else RETRY
