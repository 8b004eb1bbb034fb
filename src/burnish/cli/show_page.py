"""The text of `burnish show`, from the values that `show --json` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from burnish.cli.findings import place, said_of
from burnish.cli.output import (
    BY_SEVERITY,
    BY_STATUS,
    clean,
    count,
    cut,
    duration,
    mark,
    one_line,
    pad,
    paint,
    width,
    wrap,
)
from burnish.core.agent import LOST_SESSION, UsageLimit
from burnish.core.check import check_words
from burnish.core.commit import TargetConflict
from burnish.core.cost import cost_with_source
from burnish.core.finding import ALIVE
from burnish.core.override import reason_words
from burnish.core.review import is_person
from burnish.core.status import Reason, Status
from burnish.core.task import PAUSABLE
from burnish.proc import clock
from burnish.views.inbox import answer_to
from burnish.views.status import MARKS

Story = Mapping[str, Any]
_SHUT = {"bubblewrap": "bubblewrap", "none": "none: it ran with your permissions"}


def page(story: Story, *, room: int, colour: bool, conflict: TargetConflict | None = None) -> list[str]:
    """`conflict`: with its target, where the task is approved."""
    parts = [
        list(_header(story, room, colour)),
        list(_wanted(story, room)),
        list(_plan(story, room, colour)),
        list(_cycles(story, room, colour)),
        list(_findings(story, room, colour)),
        _next(story, conflict),
    ]
    return [line for part in parts if any(part) for line in (*part, "")][:-1]


def _header(story: Story, room: int, colour: bool) -> Iterator[str]:
    status = story["status"]
    tone = BY_STATUS[status]
    title = cut(one_line(story["title"]), room - 10)
    name = paint(f"T{story['id']} {title}", "bold", on=colour)
    yield f"{paint(mark(MARKS[Status(status)]), tone, on=colour)} {name}"
    outcome = " ".join(str(story[key]) for key in ("final_verdict", "reason", "error") if story.get(key))
    past = (story.get("cycle") or 0) > story["max_cycles"]
    most = f" (max {story['max_cycles']})" if past else f"/{story['max_cycles']}"
    cycles = f"cycle {story['cycle']}{most}" if story.get("cycle") else "not started"
    yield f"  {paint(status, tone, on=colour)}  {outcome}  {cycles}".replace("    ", "  ")
    if words := _limit_words(story):
        yield from _wrap(words, room, "  ")
    if story.get("note"):
        yield from _wrap(story["note"], room, "  ")
    for line in str(story.get("output") or "").splitlines():
        yield cut(f"  {paint('│', 'dim', on=colour)} {clean(line)}", room)
    cost = cost_with_source(story.get("cost_usd"), story.get("cost_source"))
    facts = {
        "branch": story.get("branch"),
        "base": (story.get("base") or "")[:12],
        "commit": (story.get("commit") or "")[:12],
        "agent": " ".join(x for x in (story.get("agent"), story.get("model")) if x),
        "cost": ", ".join(x for x in (cost.removeprefix("cost "), _tokens(story.get("tokens"))) if x),
        "sandbox": _SHUT.get(str(story.get("sandbox") or "")),
        "after": ", ".join(story.get("depends_on") or ()),
    }
    for name, value in facts.items():
        if value:
            yield f"  {paint(f'{name:<9}', 'dim', on=colour)} {cut(one_line(value), room - 12)}"
    for over in story.get("overridden") or ():
        who = str(over.get("by") or "a person").removeprefix("user:")
        yield from _wrap(one_line(f"cycle {over['cycle']} overridden by {who}: {reason_words(over)}"), room, "  ")


def _limit_words(story: Story) -> str:
    """`waits for claude until 03:00: You've hit your session limit`"""
    if not story.get("usage_limit") or (story["status"] == Status.BACKLOG and story.get("paused")):
        return ""
    limit = UsageLimit(**story["usage_limit"])
    return f"{limit.wait_words(clock.now())}: {one_line(limit.message)}"


def _tokens(tokens: int | None) -> str:
    return f"{tokens:,} tokens" if tokens else ""


def _wanted(story: Story, room: int) -> Iterator[str]:
    for name in ("description", "scope"):
        if story.get(name):
            yield from _wrap(story[name], room, "  ", lines=8)
    for criterion in story.get("criteria") or ():
        yield from _wrap(f"must: {criterion}", room, "  ")
    for item in story.get("checklist") or ():
        box, text = ("x", item["text"]) if item.get("done") else (" ", item["text"])
        yield from _wrap(f"[{box}] {text}", room, "  ")


def _plan(story: Story, room: int, colour: bool) -> Iterator[str]:
    """The result of a plan task."""
    if not story.get("plan_text"):
        return
    yield paint("Plan", "bold", on=colour)
    yield from _wrap(story["plan_text"], room, "  ", lines=200)
    yield f"  burnish show review-cycle://{story['id']}/plan.md"


def _cycles(story: Story, room: int, colour: bool) -> Iterator[str]:
    for cycle in story.get("cycles") or ():
        verdict = str(cycle.get("verdict") or "").upper()
        review = f"review: {cycle['review_status']}" if cycle.get("review_status") else ""
        head = "  ".join(
            x for x in (f"Cycle {cycle['number']}", verdict, review, (cycle.get("commit") or "")[:12]) if x
        )
        yield paint(head, "bold", on=colour)
        yield from _wrap(_merge_with_target(story, cycle["number"]), room, "  note: ", lines=2)
        people = [
            str(reviewer["agent"]) for reviewer in cycle.get("reviewers") or () if is_person(str(reviewer.get("agent")))
        ]
        for phase in cycle.get("phases") or ():
            counts = phase.get("phase") == "review" and phase.get("state") == "finished" and not phase.get("superseded")
            by = f"  by {one_line(', '.join(dict.fromkeys(people)))}" if people and counts else ""
            yield cut(f"  {_phase(phase)}{by}", room)
        for words in _setbacks(story, cycle["number"]):
            yield from _wrap(words, room, "  note: ", lines=2)
        # for a plan task they are the plan, which is shown above
        if cycle.get("last_words") and not story.get("plan_text"):
            yield from _wrap(cycle["last_words"], room, "  agent: ", lines=6)
        for check in cycle.get("checks") or ():
            yield cut(f"  {_check(check)}", room)
            yield from _evidence(check)
        for warning in cycle.get("warnings") or ():
            yield from _wrap(warning, room, "  note: ", lines=2)
        yield from (cut(f"  {line}", room) for line in _moved(story, cycle["number"]))
        if cycle.get("but"):
            yield from _wrap(str(cycle["but"]), room, "  note: ", lines=2)
        if fix := cycle.get("fixed"):
            ids = f" ({', '.join(fix['issues'])})" if fix["issues"] else ""
            text = f"in {str(fix['commit'])[:12]}{ids}: {fix['summary']}".rstrip(": ")
            yield from _wrap(f"fixed by the reviewer {text}", room, "  ", lines=6)
        if cycle.get("summary"):
            yield from _wrap(cycle["summary"], room, "  > ", lines=6)
        if words := _reviewer_words(cycle):
            yield from _wrap(words, room, "  reviewer: ", lines=6)
        if cycle.get("artifact"):
            name = one_line(str(cycle["artifact"])).rpartition("/")[2]
            yield cut(f"  burnish show review-cycle://{story['id']}/{name}", room)


def _setbacks(story: Story, cycle: int) -> Iterator[str]:
    """What delayed a cycle: usage limits, lost sessions, agents that took over for another one, runs that died."""
    for event in story.get("events") or ():
        data = event["data"]
        if (event["run"], event["cycle"]) != (story.get("run"), cycle):
            continue
        if event["type"] == "lock.taken_over":
            yield "a run died; another one continued"
        elif event["type"] == "phase.progress" and (
            data.get("until") or data.get("fallback") or data.get("kind") == LOST_SESSION
        ):
            yield str(data.get("message") or "")


def _merge_with_target(story: Story, cycle: int) -> str:
    """That the target was merged into the branch before this cycle: `main is merged into the branch, with …`"""
    decisions = [
        event["data"]
        for event in story.get("events") or ()
        if event["type"] == "decision.made" and (event["run"], event["cycle"]) == (story.get("run"), cycle - 1)
    ]
    return next((str(data.get("why") or "") for data in decisions if data.get("target_commit")), "")


def _reviewer_words(cycle: Mapping[str, Any]) -> str:
    """What reviewers wrote beside their verdicts, unless they approved or the summary says the same."""
    words = str(cycle.get("review_findings") or "").strip()
    return "" if cycle.get("verdict") == "approved" or words == str(cycle.get("summary") or "").strip() else words


def _moved(story: Story, cycle: int) -> Iterator[str]:
    """Which findings this cycle raised and resolved."""
    findings = story.get("findings") or ()
    raised_ids = [str(f["id"]) for f in findings if f.get("first_cycle") == cycle]
    resolved_ids = [str(f["id"]) for f in findings if f.get("state") == "resolved" and f.get("last_cycle") == cycle]
    if raised_ids:
        yield f"raised    {', '.join(raised_ids)}"
    if resolved_ids:
        yield f"resolved  {', '.join(resolved_ids)}"


def _phase(phase: Mapping[str, Any]) -> str:
    name = phase.get("phase") or phase.get("name") or "phase"
    if phase.get("by_hand"):
        return f"{'as it is':<9} no agent ran: {one_line(str(phase.get('why') or 'the branch is reviewed as it is'))}"
    words = [f"{name:<9} {phase.get('state', '')}"]
    if phase.get("superseded"):
        words.append("superseded, done again")
    if (phase.get("attempt") or 1) > 1:
        words.append(f"attempt {phase['attempt']}")
    if phase.get("seconds") is not None and phase.get("state") == "finished":
        words.append(duration(phase["seconds"]))
    words.append(cost_with_source(phase.get("cost_usd"), phase.get("cost_source")))
    if phase.get("error"):
        words.append(one_line(str(phase["error"])))
    return "  ".join(word for word in words if word)


def _evidence(check: Mapping[str, Any]) -> Iterator[str]:
    """The files that the check left, as paths that can be opened: not cut."""
    folder = str(check.get("output_path") or "").rpartition("/")[0]
    for file in check.get("evidence") or ():
        reason = file.get("reason") or "type, size or number"
        where = f"{folder}/evidence/{file['name']}" if file.get("name") else f"not stored ({reason})"
        yield one_line(f"    evidence {file.get('path', '')}: {where}")


def _check(check: Mapping[str, Any]) -> str:
    return one_line(f"check {check.get('name', '')}: {check_words(check)}")


def _findings(story: Story, room: int, colour: bool) -> Iterator[str]:
    findings: Sequence[Mapping[str, Any]] = story.get("findings") or ()
    if not findings:
        return
    alive = sum(f["state"] in ALIVE for f in findings)
    yield paint(f"{count(len(findings), 'finding')}, {alive} open", "bold", on=colour)
    rows = [(f["id"], f["state"], f["severity"], place(f), one_line(f["title"])) for f in findings]
    sizes = [min(max(width(row[i]) for row in rows), room // 3) for i in range(4)]
    for row, finding in zip(rows, findings, strict=True):
        cells = [pad(cut(text, size), size) for text, size in zip(row[:4], sizes, strict=True)]
        cells[2] = paint(cells[2], BY_SEVERITY.get(finding["severity"], "dim"), on=colour)
        title_room = room - sum(sizes) - 2 * 5
        yield "  " + "  ".join([*cells, cut(row[4], max(title_room, 10))])
        for comment in said_of(finding):
            yield cut(f"      {comment}", room)


def _next(story: Story, conflict: TargetConflict | None = None) -> list[str]:
    number = story["id"]
    accept = f"burnish override {number}"
    status = Status(story["status"])
    if story.get("paused") and status in PAUSABLE and not story.get("running"):
        return [f"Next: burnish unpause {number}"]
    match status:
        case Status.BACKLOG:
            steps = [f"burnish run {number}", *_clear_limit(story)]
        case Status.IN_PROGRESS | Status.CODE_REVIEW if story.get("running"):
            steps = [f"burnish log {number} -f", *_clear_limit(story)]
        case Status.CODE_REVIEW if story.get("waits_for"):
            steps = _waiting(story)
        case Status.IN_PROGRESS | Status.CODE_REVIEW:
            steps = [f"burnish run {number}", f"burnish log {number}"]
        case Status.FAILED:
            steps = [f"burnish log {number}", f"burnish retry {number}"]
        case Status.BLOCKED:
            has_change = story.get("commit") not in (None, story.get("base"))
            # without a change, or without its branch, there is nothing to accept
            has_change = has_change and story.get("reason") != Reason.BRANCH_GONE
            steps = [*_answer(story), f"burnish retry {number}", *_waive(story), *([accept] if has_change else [])]
        case Status.WAITING_APPROVAL:
            # a plan changes no file, and its text is shown above
            look = [] if story["type"] == "plan" else [f"burnish diff {number}"]
            steps = [*look, f"burnish decide {number} approve   (or reject, fix)"]
        case Status.VERIFIED:
            steps = [
                f"burnish diff {number}",
                _merge_step(story, conflict),
                f"burnish done {number}   (if you merged it yourself)",
            ]
        case Status.CANCELLED:
            steps = [f"burnish edit {number} --status backlog   (restores it)"]
        case _:
            steps = []
    return [f"{'Next: ' if n == 0 else '      '}{step}" for n, step in enumerate(dict.fromkeys(steps))]


def _merge_step(story: Story, conflict: TargetConflict | None) -> str:
    if conflict is None:
        return f"burnish merge {story['id']}"
    why = "; ".join(part for part in (conflict.words, conflict.remedy(str(story["branch"]))) if part)
    return f"{conflict.command(story['id'])}   (it {one_line(why)})"


def _clear_limit(story: Story) -> list[str]:
    if not _limit_words(story):
        return []
    return [f"burnish limits --clear {str(story['usage_limit']['login']).partition(' (')[0]}   (use it again at once)"]


def _answer(story: Story) -> list[str]:
    """What the inbox names for a task that is blocked for this reason; a finding to waive is named by `_waive`."""
    command = answer_to(Reason(story["reason"]), story.get("note") or "") if story.get("reason") else ""
    return [command.format(story["id"])] if command and "{finding}" not in command else []


def _waiting(story: Story) -> list[str]:
    """For a review that a person must ask for or bring, or for an improve that a person starts."""
    number = story["id"]
    review = f"burnish review {number}"
    outside = f"burnish handoff {number}   (a person or another tool reviews)"
    match story["waits_for"]:
        case "improve":
            return [f"burnish improve {number}", f"{review}   (review it again)", f"burnish override {number}"]
        case "outside":
            return [f"{review} --from FILE", f"{review}   (with the configured reviewers)"]
    return [review, outside]


def _waive(story: Story) -> list[str]:
    """The command that waives the worst open finding."""
    alive = [f for f in story.get("findings") or () if f["state"] in ALIVE]
    worst = [f["id"] for f in alive if f["severity"] == "error"] or [f["id"] for f in alive]
    return [f'burnish waive {story["id"]} {worst[0]} --reason "…"'] if worst else []


def _wrap(text: str, room: int, indent: str, *, lines: int = 4) -> list[str]:
    blank = " " * len(indent)
    pieces = [piece for line in clean(text).strip().splitlines() for piece in wrap(line, room - len(indent))]
    visible_lines = pieces if len(pieces) <= lines else [*pieces[:lines], "…"]
    return [f"{indent if n == 0 else blank}{line}".rstrip() for n, line in enumerate(visible_lines)]
