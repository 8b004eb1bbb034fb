"""Reads tasks from data: automaker, gza, GitHub issues, burnish's own YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from burnish.core.finding import Category, Severity
from burnish.core.task import Item, TaskType
from burnish.exchange.source_task import FieldNote, Fields, ReviewItem, SourceTask, as_findings, first_line, tags

_OTHER_MODELS = "models differ between agents; set it with `burnish edit --model`"


def read_feature(feature: Mapping[str, Any]) -> SourceTask:
    """automaker's feature.json, also with an old `codeReviewSpec`."""
    fields = Fields(feature)
    fields.leave("model", _OTHER_MODELS)
    review = fields.take("codeReviewSpec")
    description, status = fields.text("description"), fields.text("status")
    category, priority = fields.text("category"), fields.whole_number("priority")
    key = fields.text("id")
    findings, notes = as_findings(_review_items(review), "automaker")
    return SourceTask(
        key=key,
        title=fields.text("title") or first_line(description) or key,
        description="\n\n".join(filter(None, (description, _review_text(review)))),
        checklist=tuple(Item(text) for text in _list_of_texts(fields.take("steps"))),
        depends_on=fields.texts("dependencies"),
        priority=max(0, 3 - priority) if priority else 0,
        skip_tests=bool(fields.flag("skipTests")),
        tags=tags([category]),
        is_finished=status in ("verified", "completed", "done"),
        findings=findings,
        problem="" if key else "it has no id",
        notes=(*fields.notes(), *notes),
    )


def _list_of_texts(value: Any) -> list[str]:
    return [text for one in value if (text := str(one).strip())] if isinstance(value, list) else []


def _review_text(review: Any) -> str:
    """What an earlier review asked for, in its own words. It is not a review of burnish."""
    if not isinstance(review, dict):
        return ""
    newest = _rounds(review)[-1]
    names = ("rejectionReason", "reviewFeedback", "feedback", "summary", "content")
    parts = [review.get(name) or newest.get(name) for name in names]
    open_items = [item for item in _review_items(review) if not item.settled]
    parts += [f"- {item.title}{f' ({item.file})' if item.file else ''}" for item in open_items]
    text = "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    return f"An earlier review:\n\n{text}" if text else ""


def _rounds(review: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The iterations of a `codeReviewSpec`, oldest first. Its own list of findings counts as the newest."""
    found = review.get("iterations")
    rounds: list[Mapping[str, Any]] = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    has_own_list = review.get("findings") or review.get("issues")
    return [*rounds, review] if has_own_list or not rounds else rounds


def _review_items(review: Any) -> list[ReviewItem]:
    """The findings of all iterations. A later one settles what it does not name, unless it failed or names nothing."""
    if not isinstance(review, dict):
        return []
    items: dict[str, ReviewItem] = {}
    for number, one in enumerate(rounds := _rounds(review), 1):
        is_newest = number == len(rounds)
        name = f"iteration {one.get('iterationNumber') or number}"
        is_approval = "approved" in (one.get("status"), review.get("status") if is_newest else "")
        of_round = {item.title: item for item in _items_of_round(one)}
        if of_round or is_approval:
            items = _settled(items, f"{name} does not name it again") | of_round
        if is_approval:
            items = _settled(items, "the review approved it")
    return list(items.values())


def _settled(items: Mapping[str, ReviewItem], note: str) -> dict[str, ReviewItem]:
    return {title: item if item.settled else replace(item, settled=note) for title, item in items.items()}


def _items_of_round(review: Mapping[str, Any]) -> list[ReviewItem]:
    found = review.get("findings") or review.get("issues")
    commit = str(review.get("gitCommitHash") or "")[:40]
    items = [item for one in found if (item := _review_item(one, commit))] if isinstance(found, list) else []
    reason = str(review.get("rejectionReason") or "").strip()
    if items or not reason or review.get("status") != "rejected":
        return items
    title = first_line(reason)
    return [ReviewItem(title, reason if reason != title else "")]


def _review_item(finding: Any, commit: str) -> ReviewItem | None:
    if isinstance(finding, str):
        return ReviewItem(finding.strip()) if finding.strip() else None
    if not isinstance(finding, dict):
        return None
    texts = [
        str(finding[name]).strip() for name in ("title", "description", "message", "suggestion") if finding.get(name)
    ]
    if not texts:
        return None
    if isinstance(line := finding.get("line"), int) and finding.get("file"):
        # of a commit that the task does not build on, so that it is a text and not a place
        texts.append(f"It was line {line}{f' of {commit}' if commit else ''}.")
    state = str(finding.get("state") or finding.get("status") or "").strip().lower()
    is_settled = finding.get("resolved") is True or state in _SETTLED
    severity, category = (str(finding.get(name) or "").strip().lower() for name in ("severity", "category"))
    return ReviewItem(
        texts[0],
        "\n\n".join(texts[1:]),
        finding["file"] if isinstance(finding.get("file"), str) else None,
        _SEVERITIES.get(severity, Severity.ERROR),
        Category(category) if category in _CATEGORIES else Category.CODE,
        f"it was {state or 'resolved'} there" if is_settled else "",
    )


# burnish's own guard is not a category that another tool can name
_CATEGORIES = frozenset(Category) - {Category.GUARD}
_SETTLED = ("resolved", "fixed", "closed", "done", "waived", "dismissed", "wontfix")
_SEVERITIES = {"warning": Severity.WARNING, "medium": Severity.WARNING, "minor": Severity.WARNING}
_SEVERITIES |= dict.fromkeys(("info", "low", "suggestion", "note", "nit"), Severity.INFO)
_GZA_TYPES = {"": TaskType.IMPLEMENT, "task": TaskType.IMPLEMENT, "implement": TaskType.IMPLEMENT}
_GZA_TYPES |= {"plan": TaskType.PLAN, "explore": TaskType.PLAN}
_GZA_FINISHED = ("completed", "merged", "dropped", "unmerged")


def read_gza(
    key: str,
    row: Mapping[str, Any],
    spec_text: Callable[[str], str | None],
    comments: Sequence[Mapping[str, Any]] = (),
) -> SourceTask:
    """An entry of gza's YAML file, or a row of its database. `spec_text` reads the file that `spec` names."""
    # of a row: what is the same for every task, and what gza keeps for itself
    fields = Fields({name: value for name, value in row.items() if name not in ("project_id", "log_schema_version")})
    for name in ("model", "provider"):
        fields.leave(name, _OTHER_MODELS)
    fields.take("id")
    kind, status = fields.text("type", "task_type"), fields.text("status")
    prompt, spec = fields.text("prompt"), fields.text("spec")
    plan = spec_text(spec) if spec else None
    if spec and plan is None:
        fields.leave("spec", f"{spec} was not found")
    wants_review = fields.flag("review", "create_review")
    words = (*fields.texts("tags"), *fields.texts("group"))
    feedback = [one for one in comments if str(one.get("kind") or "feedback") == "feedback"]
    findings, notes = as_findings(list(filter(None, map(_comment, feedback))), "gza")
    other_kinds = (str(one.get("kind")) for one in comments if one not in feedback)
    notes += tuple(FieldNote("comment", f"its kind is {kind}; see `burnish edit --scope`") for kind in other_kinds)
    return SourceTask(
        key=key,
        title=first_line(prompt),
        description=prompt if prompt != first_line(prompt) else "",
        type=_GZA_TYPES.get(kind, TaskType.IMPLEMENT),
        scope=fields.text("review_scope"),
        plan=plan or "",
        depends_on=fields.texts("depends_on"),
        auto_review=True if wants_review else None,
        tags=tags(words),
        is_finished=status in _GZA_FINISHED,
        findings=findings,
        problem="" if kind in _GZA_TYPES else f"its type {kind} continues another task of gza",
        notes=(*fields.notes(), *notes),
    )


def _comment(row: Mapping[str, Any]) -> ReviewItem | None:
    title, _, text = str(row.get("content") or "").strip().partition("\n")
    return ReviewItem(title, text, settled="it was resolved there" if row.get("resolved_at") else "") if title else None


# Blanks are bounded: without that, a line of blanks takes a time that grows with the square of its length.
_NEEDS = re.compile(
    r"(?i)\b(?:depends on|blocked by|requires)[ \t]{0,9}:?[ \t]{0,9}((?:#\d+(?:[ \t]{0,9}(?:,|and)[ \t]{0,9})?)+)"
)
_ISSUE_BOX = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(.+)")


def read_issue(issue: Mapping[str, Any]) -> SourceTask:
    """An issue as `gh issue list --json` prints it."""
    labels = [one.get("name") for one in issue.get("labels") or () if isinstance(one, dict)]
    body = str(issue.get("body") or "").replace("\r\n", "\n")
    items = [found for line in body.split("\n") if (found := _ISSUE_BOX.fullmatch(line))]
    fields = Fields({**issue, "labels": labels, "checklist": items})
    url, number = fields.text("url"), fields.text("number")
    text = "\n".join(line for line in fields.text("body").split("\n") if not _ISSUE_BOX.fullmatch(line.rstrip("\r")))
    fields.take("checklist")
    return SourceTask(
        key=number,
        title=fields.text("title"),
        description="\n\n".join(filter(None, (text.strip(), f"Issue: {url}" if url else ""))),
        checklist=tuple(Item(found[2].strip(), done=found[1] != " ") for found in items),
        depends_on=tuple(re.findall(r"\d+", " ".join(_NEEDS.findall(body)))),
        tags=tags(fields.texts("labels")),
        is_finished=fields.text("state").upper() == "CLOSED",
        problem="" if number else "it has no number",
        notes=fields.notes(),
    )


def read_own(key: str, entry: Mapping[str, Any]) -> SourceTask:
    """An entry of burnish's own YAML, with the names of `burnish show --json`."""
    fields = Fields(entry)
    fields.take("key")
    kind = fields.text("type")
    return SourceTask(
        key=key,
        title=fields.text("title"),
        description=fields.text("description"),
        type=TaskType(kind) if kind in list(TaskType) else TaskType.IMPLEMENT,
        scope=fields.text("scope"),
        criteria=_texts(fields, "criteria", "accept"),
        checklist=_items(fields.take("checklist", "items")),
        plan=fields.text("plan"),
        depends_on=fields.texts("depends_on"),
        priority=fields.whole_number("priority") or 0,
        agent=fields.text("agent") or None,
        model=fields.text("model") or None,
        base_ref=fields.text("base") or None,
        skip_tests=bool(fields.flag("skip_tests")),
        auto_review=fields.flag("auto_review"),
        max_cycles=fields.whole_number("max_cycles"),
        tags=tags(fields.texts("tags")),
        problem=f"{kind!r} is not a type of task" if kind and kind not in list(TaskType) else "",
        notes=fields.notes(),
    )


def _texts(fields: Fields, name: str, other: str) -> tuple[str, ...]:
    """A list, or one text: a criterion may hold commas."""
    value = fields.take(name, other)
    return (value,) if isinstance(value, str) else tuple(_list_of_texts(value))


def _items(value: Any) -> tuple[Item, ...]:
    found: Sequence[Any] = value if isinstance(value, list) else []
    texts = [(one.get("text"), bool(one.get("done"))) if isinstance(one, dict) else (one, False) for one in found]
    return tuple(Item(str(text), is_done) for text, is_done in texts if str(text or "").strip())
