"""Reads tasks from Markdown: spec-runner, spec-kitty, PLAN.md, spec-kit, OpenSpec, checklists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from burnish.bounded_yaml import load_yaml
from burnish.core.task import Item
from burnish.exchange.source_task import Fields, ReviewItem, SourceFile, SourceTask, as_findings, first_line, tags

# No two parts beside each other match the same characters: a line of a hostile file would else take hours.
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+)")
# OpenSpec also takes `[ x]` for done, and `[]`, `[~]` and `[-]` for not done.
_BOX = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+\[(?:[ \t]*([xX~-]))?[ \t]*\][ \t]+(.+)")
_RULE = re.compile(r"[ \t]*-{3,}[ \t]*")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_MAX_FRONT_ENTRIES = 2000


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading and the lines below it, up to the next heading."""

    level: int
    title: str
    lines: tuple[str, ...]


def sections(text: str) -> list[MarkdownSection]:
    """The text cut at its headings; what stands above the first has level 0. Code blocks hold no headings."""
    found: list[MarkdownSection] = []
    lines: list[str] = []
    title, level, fence = "", 0, ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if mark := _FENCE.match(line):
            fence = "" if fence and line.strip().startswith(fence) else fence or mark[1]
        heading = None if fence else _HEADING.fullmatch(line)
        words = heading[2].rstrip(" \t").rstrip("#").rstrip(" \t") if heading else ""
        if heading and words:
            found.append(MarkdownSection(level, title, tuple(lines)))
            level, title, lines = len(heading[1]), words, []
        else:
            lines.append(line)
    return [*found, MarkdownSection(level, title, tuple(lines))]


def boxes(lines: Sequence[str]) -> list[Item]:
    """The items of a checklist, also nested ones."""
    return [Item(found[3].strip(), done=found[2] in ("x", "X")) for line in lines if (found := _BOX.fullmatch(line))]


def prose(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()


def _text_between(lines: Sequence[str]) -> str:
    """The text of lines whose checklists are gone, without the gaps that they leave."""
    return re.sub(r"\n[ \t]*\n\s*\n", "\n\n", prose(lines))


def _without_boxes(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not _BOX.fullmatch(line) and not _RULE.fullmatch(line)]


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The YAML between `---` lines at the begin, and the rest. Raises ValueError if it cannot be read."""
    found = re.match(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", text.replace("\r\n", "\n"), re.DOTALL)
    if not found:
        return {}, text
    from ruamel.yaml.error import YAMLError

    try:
        facts = load_yaml(found[1], most=_MAX_FRONT_ENTRIES)
    except YAMLError as error:
        raise ValueError(f"its front matter is not valid YAML: {first_line(str(error))}") from error
    return (facts if isinstance(facts, dict) else {}), text.replace("\r\n", "\n")[found.end() :]


# -- spec-runner ----------------------------------------------------------------------------------

SPEC_RUNNER_TASK = re.compile(r"([A-Z][A-Z0-9]*-\d+):[ \t]+(.+)")
_META = re.compile(r"\W*(P\d)[ \t]*\|\W*(TODO|IN_PROGRESS|REVIEW|DONE|BLOCKED)\b(?:.*?\bEst:[ \t]{0,9}(\S+))?.*", re.I)
_LABEL = re.compile(r"\*\*([A-Z][\w ()-]*):\*\*[ \t]*(.*)")
# labels that are fields here; the text of any other label stays in the description
_SPEC_RUNNER_FIELDS = ("depends on", "blocks", "traces to", "touches")
_REFERENCE = re.compile(r"\[?\b([A-Z][A-Z0-9]*-\d+)\b\]?")


def read_spec_runner(file: SourceFile, states: Mapping[str, str]) -> list[SourceTask]:
    """`states`: the status that spec-runner's own database has, by task."""
    headings = [(SPEC_RUNNER_TASK.fullmatch(one.title), one) for one in sections(file.text) if one.level == 3]
    tasks = [_spec_runner_task(found[1], found[2], one, states) for found, one in headings if found]
    # `Blocks: X` of one task is `Depends on` of X
    blocking = {(key, task.key) for task, keys in tasks for key in keys}
    # a reference to a requirement (`REQ-1`) is not a dependency
    prefixes = {task.key.split("-")[0] for task, _ in tasks}
    found_tasks = []
    for task, _ in tasks:
        needs = [*task.depends_on, *(other for key, other in sorted(blocking) if key == task.key)]
        keys = (key for key in dict.fromkeys(needs) if key.split("-")[0] in prefixes)
        found_tasks.append(replace(task, depends_on=tuple(keys)))
    return found_tasks


def _spec_runner_task(
    key: str, title: str, section: MarkdownSection, states: Mapping[str, str]
) -> tuple[SourceTask, tuple[str, ...]]:
    found: dict[str, Any] = {"title": title}
    text_lines = []
    for number, line in enumerate(section.lines):
        label = _LABEL.fullmatch(line.strip())
        name = label[1].lower() if label else ""
        if meta := _META.fullmatch(line):
            found |= {"priority": meta[1].upper(), "status": meta[2].upper(), "estimate": meta[3]}
        elif label and name in _SPEC_RUNNER_FIELDS:
            found[name] = label[2].strip() if label[2].strip() not in ("—", "-", "–") else ""
        elif label and name == "description":
            text_lines.append(label[2])
        elif label and not label[2] and _is_heading_of_boxes(section.lines[number + 1 :]):
            continue
        elif not _BOX.fullmatch(line) and not _RULE.fullmatch(line):
            text_lines.append(line)
    found |= {"items": boxes(section.lines), "description": _text_between(text_lines), "state": states.get(key)}
    fields = Fields(found)
    fields.leave("estimate", "burnish has no estimates")
    status, state = fields.text("status"), fields.text("state")
    if status == "BLOCKED":
        fields.leave("status", "BLOCKED there, and ready to run here; `burnish pause` keeps it back")
    traces, touches = fields.text("traces to"), fields.text("touches")
    level = fields.text("priority")
    task = SourceTask(
        key=key,
        title=fields.text("title"),
        description="\n\n".join(filter(None, (fields.text("description"), f"Traces to: {traces}" if traces else ""))),
        scope=f"Files: {touches}" if touches else "",
        checklist=tuple(fields.take("items") or ()),
        depends_on=tuple(_REFERENCE.findall(fields.text("depends on"))),
        priority=max(0, 3 - int(level[1:])) if level else 0,
        is_finished=status == "DONE" or state in ("success", "done", "completed"),
    )
    blocks = tuple(_REFERENCE.findall(fields.text("blocks")))
    return replace(task, notes=fields.notes()), blocks


def _is_heading_of_boxes(lines: Sequence[str]) -> bool:
    return bool(_BOX.fullmatch(next(filter(str.strip, lines), "")))


# -- spec-kitty -----------------------------------------------------------------------------------

_FINISHED_LANES = ("approved", "done", "canceled", "cancelled")


@dataclass(frozen=True, slots=True)
class SourceReview:
    """A review of a work package: `review-cycle-N.md`, or what a `feedback://` pointer leads to."""

    name: str
    text: str
    is_approval: bool = False

    @classmethod
    def of(cls, name: str, text: str) -> SourceReview:
        facts, body = front_matter(text)
        return cls(name, body.strip(), str(facts.get("verdict") or "").strip().lower() in ("approved", "approve"))


def read_work_package(
    file: SourceFile, *, mission: str, lane: str, reviews: Sequence[SourceReview], subtasks: Sequence[Item]
) -> SourceTask:
    """`reviews`: oldest first. `subtasks`: the items of the mission's list, which a work package names by their ids."""
    facts, body = front_matter(file.text)
    key = str(facts.get("work_package_id") or "")
    fields = Fields({**facts, "text": body.strip(), "lane in status.events.jsonl": lane, "reviews": list(reviews)})
    fields.take("work_package_id")
    fields.take("lane in status.events.jsonl")
    fields.take("reviews")
    files, ids = fields.texts("owned_files"), fields.texts("subtasks")
    items = {words[0]: item for item in subtasks if (words := item.text.split())}
    requirements = fields.texts("requirement_refs")
    parts = [fields.text("text")]
    parts += [f"Requirements: {', '.join(requirements)}"] if requirements else []
    # the author of the first cycle reads what the findings are about
    parts += [f"A review asked for changes ({one.name}):\n\n{one.text}" for one in reviews[-1:] if not one.is_approval]
    findings, notes = as_findings(_open_and_settled(reviews), "spec-kitty")
    return SourceTask(
        key=f"{mission}/{key}",
        title=fields.text("title") or key,
        description="\n\n".join(filter(None, parts)),
        scope="Files: " + ", ".join(files) if files else "",
        checklist=tuple(items.get(id, Item(id)) for id in ids),
        depends_on=tuple(f"{mission}/{other}" for other in fields.texts("dependencies")),
        tags=tags([mission]),
        is_finished=lane in _FINISHED_LANES,
        findings=findings,
        problem="" if key else "it has no work_package_id",
        notes=(*fields.notes(), *notes),
    )


def _open_and_settled(reviews: Sequence[SourceReview]) -> list[ReviewItem]:
    """The items of all reviews. Only the newest review can still be open: a later one did not name the others again."""
    found: dict[str, ReviewItem] = {}
    for review in reviews:
        note = f"{review.name} approved it" if review.is_approval else f"{review.name} does not name it again"
        found = {title: item if item.settled else replace(item, settled=note) for title, item in found.items()}
        if not review.is_approval:
            found |= {item.title: item for item in review_items(review.text)}
    return list(found.values())


_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+(.+)")
# headings that only group what follows, or that are not a problem
_NO_FINDING = re.compile(
    r"(?i)\W*(?:review(?: feedback| cycle.*)?|feedback|summary|verdict.*|(?:issues?|findings?|problems?)(?: found)?|"
    r"required changes|what (?:is|was|looks) good.*|strengths|positives?|approved.*)\W*"
)


def review_items(text: str) -> list[ReviewItem]:
    """The findings of a review in prose: its headings with words below, else its bullets, else its first line."""
    found: list[tuple[str, str]] = []
    for section in sections(text):
        if section.level and not _NO_FINDING.fullmatch(section.title):
            found += [(section.title, prose(section.lines))] if prose(section.lines) else []
        else:
            found += [(bullet[1], "") for line in section.lines if (bullet := _BULLET.fullmatch(line))]
    items = {title: words for name, words in found if (title := " ".join(name.replace("**", "").split()))}
    line = first_line(text, 200)
    items = items or ({line: text if text != line else ""} if line else {})
    return [ReviewItem(title, words) for title, words in items.items()]


# -- PLAN.md --------------------------------------------------------------------------------------

PLAN_TASK = re.compile(r"[-*][ \t]+\[([ xX])\][ \t]+\*\*(.+?)\*\*(?:[ \t]+`\[(\w+)\]`)?[ \t]*")
_PLAN_FIELD = re.compile(r"[ \t]+(?:[-*][ \t]+)?([A-Z]\w+):[ \t]*(.*)")
_NUMBER = re.compile(r"(\d+(?:\.\d+)+)[ \t.:]+(.+)")


def read_plan(file: SourceFile) -> list[SourceTask]:
    tasks, phase = [], 0
    for section in sections(file.text):
        entries = _plan_entries(section.lines)
        phase += bool(entries)
        for index, (head, lines) in enumerate(entries, 1):
            tasks.append(_plan_task(head, lines, f"{phase}.{index}", section.title))
    return tasks


def _plan_entries(lines: Sequence[str]) -> list[tuple[re.Match[str], list[str]]]:
    entries: list[tuple[re.Match[str], list[str]]] = []
    for line in lines:
        if head := PLAN_TASK.fullmatch(line):
            entries.append((head, []))
        elif entries and (line.startswith((" ", "\t")) or not line.strip()):
            entries[-1][1].append(line)
    return entries


def _plan_task(head: re.Match[str], lines: Sequence[str], number: str, phase: str) -> SourceTask:
    title = _NUMBER.fullmatch(head[2])
    found: dict[str, Any] = {"title": title[2] if title else head[2], "status": head[3], "phase": phase}
    text_lines = []
    for line in lines:
        if field := _PLAN_FIELD.fullmatch(line):
            found[field[1].lower()] = field[2]
        else:
            text_lines.append(line.strip())
    fields = Fields({**found, "description": prose(text_lines)})
    spec, phase_name = fields.text("spec"), fields.text("phase")
    parts = [fields.text("description"), f"Phase: {phase_name}" if phase_name else "", f"Spec: {spec}" if spec else ""]
    acceptance, status = fields.text("acceptance"), fields.text("status")
    return SourceTask(
        key=title[1] if title else number,
        title=fields.text("title"),
        description="\n\n".join(filter(None, parts)),
        scope=fields.text("scope"),
        criteria=(acceptance,) if acceptance else (),
        depends_on=fields.texts("depends"),
        is_finished=head[1] != " " or status in ("complete", "completed", "done", "skipped"),
        notes=fields.notes(),
    )


# -- spec-kit and OpenSpec ------------------------------------------------------------------------

SPEC_KIT_ITEM = re.compile(r"T\d{3,4}\b")
OPEN_SPEC_ITEM = re.compile(r"\d+\.\d+\b")


def read_phases(file: SourceFile, *, plan: str, group: str = "") -> list[SourceTask]:
    """One task for each phase with a checklist. Each waits for the phase above, as the tools run them."""
    tasks: list[SourceTask] = []
    for section in _phases(file.text):
        items = boxes(section.lines)
        if not items:
            continue
        title = re.sub(r"^\d+[.)]?\s+", "", section.title) or first_line(items[0].text)
        found = {"title": title, "items": items, "description": _text_between(_without_boxes(section.lines))}
        fields = Fields({**found, "specification": plan, "folder": group})
        task = SourceTask(
            key=section.title or "1",
            title=fields.text("title"),
            description=fields.text("description"),
            checklist=tuple(fields.take("items")),
            plan=fields.text("specification"),
            # phases of several features have equal titles
            tags=tags([fields.text("folder")]),
            depends_on=(tasks[-1].key,) if tasks else (),
            is_finished=all(item.done for item in items),
        )
        tasks.append(replace(task, notes=fields.notes()))
    return _with_unique_keys(tasks)


def _phases(text: str) -> list[MarkdownSection]:
    """The sections of the highest level below the title: a phase with headings for tests and code is one task."""
    parts = sections(text)
    top = min((part.level for part in parts if part.level > 1), default=2)
    phases: list[MarkdownSection] = []
    for part in parts:
        if part.level > top and phases:
            heading = (f"{'#' * part.level} {part.title}",) if prose(_without_boxes(part.lines)) else ()
            phases[-1] = replace(phases[-1], lines=(*phases[-1].lines, *heading, *part.lines))
        else:
            phases.append(part)
    return phases


# -- checklists -----------------------------------------------------------------------------------


def read_checklist(file: SourceFile) -> list[SourceTask]:
    """One task for each item that is not indented; indented items are its checklist."""
    return _with_unique_keys([task for section in sections(file.text) for task in _items(section)])


def _items(section: MarkdownSection) -> Iterator[SourceTask]:
    entries: list[tuple[re.Match[str], list[str]]] = []
    for line in section.lines:
        box = _BOX.fullmatch(line)
        if box and not box[1]:
            entries.append((box, []))
        elif entries and line.startswith((" ", "\t")):
            entries[-1][1].append(line)
    for box, lines in entries:
        rest = [line.strip() for line in lines if not _BOX.fullmatch(line)]
        fields = Fields({"title": box[3], "items": boxes(lines), "description": prose(rest), "section": section.title})
        heading = fields.text("section")
        parts = (fields.text("description"), f"Section: {heading}" if heading else "")
        task = SourceTask(
            key=f"{section.title}/{box[3]}" if section.title else box[3],
            title=fields.text("title"),
            description="\n\n".join(filter(None, parts)),
            checklist=tuple(fields.take("items") or ()),
            is_finished=box[2] in ("x", "X"),
        )
        yield replace(task, notes=fields.notes())


def _with_unique_keys(tasks: Sequence[SourceTask]) -> list[SourceTask]:
    """Equal titles get a number, so that both are imported, once each."""
    counts: dict[str, int] = {}
    unique = []
    for task in tasks:
        counts[task.key] = counts.get(task.key, 0) + 1
        unique.append(replace(task, key=f"{task.key} ({counts[task.key]})") if counts[task.key] > 1 else task)
    return unique
