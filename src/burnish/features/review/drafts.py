"""What a person keeps while reading a change: draft comments, files that were viewed, and the tree seen last.

One file in the folder of the task, so that a reload or another browser loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from burnish.core.codec import decode, encode
from burnish.core.secrets import Secrets
from burnish.core.task import Task
from burnish.errors import BadInput, NotFound, Refused
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.proc.slots import slot
from burnish.runtime.app import App, current_person
from burnish.views.diff import FileDiff

FILE = "person-review.json"
MAX_COMMENTS = 500


@dataclass(frozen=True, slots=True)
class DraftComment:
    """A comment that is not sent yet, bound to lines of a blob."""

    id: int
    text: str
    path: str
    # git's name of the content that the lines were read in
    blob: str
    # None: about the whole file
    line: int | None = None
    end_line: int | None = None
    # `old`: lines that the change removes
    side: str = "new"
    # the lines themselves
    quote: str = ""

    @property
    def anchor(self) -> tuple[str, int | None]:
        """The line that it is shown under."""
        return self.side, self.end_line or self.line


@dataclass(frozen=True, slots=True)
class DraftReview:
    comments: tuple[DraftComment, ...] = ()
    next_id: int = 1
    # path → blob that the person marked as viewed
    viewed: Mapping[str, str] = field(default_factory=dict)
    # the tree that the person looked at last, and the one before: what changed since is between them
    last_tree: str = ""
    seen_tree: str = ""

    def seen_before(self, tree: str) -> str:
        """The last tree that the person looked at other than this one; "" if there is none."""
        return self.seen_tree if self.last_tree == tree else self.last_tree

    def comment(self, id: int) -> DraftComment:
        for one in self.comments:
            if one.id == id:
                return one
        raise NotFound(f"There is no draft comment {id}.", hint="It was sent or deleted meanwhile. Reload the page.")


def read_draft(app: App, task_id: int) -> DraftReview:
    """The person's own; an empty one if there is no readable file."""
    return _read(_file(app, task_id), app.person)


def own_draft(home: Path, task: Task) -> DraftReview:
    """The same without opening the project: a page may show it where the repository is out of reach."""
    return _read(home / "projects" / task.project / "tasks" / task.name / FILE, current_person())


def change_draft(app: App, task_id: int, change: Callable[[DraftReview], DraftReview]) -> DraftReview:
    file = _file(app, task_id)
    with slot(app.locks, f"{app.key}-person-review-{task_id}", 1):
        before = _read(file, app.person)
        draft = _without_secrets(app.event_log.secrets, change(before))
        if draft == before:
            return draft
        people = {**_people(file), app.person: encode(draft)}
        private_folder(file.parent)
        write_whole(file, json.dumps(people, ensure_ascii=True).encode())
    return draft


def add_draft(draft: DraftReview, comment: DraftComment) -> DraftReview:
    if len(draft.comments) >= MAX_COMMENTS:
        raise Refused(f"The review has {MAX_COMMENTS} comments already.", hint="Send it, then continue.")
    comment = replace(comment, id=draft.next_id, text=_text(comment.text))
    return replace(draft, comments=(*draft.comments, comment), next_id=draft.next_id + 1)


def edit_draft(draft: DraftReview, id: int, text: str) -> DraftReview:
    comment = replace(draft.comment(id), text=_text(text))
    return replace(draft, comments=tuple(comment if one.id == id else one for one in draft.comments))


def delete_draft(draft: DraftReview, id: int) -> DraftReview:
    draft.comment(id)
    return replace(draft, comments=tuple(one for one in draft.comments if one.id != id))


def without(draft: DraftReview, comments: tuple[DraftComment, ...]) -> DraftReview:
    """The draft without these comments, which were sent; one that was edited since stays."""
    return replace(draft, comments=tuple(one for one in draft.comments if one not in comments))


@dataclass(frozen=True, slots=True)
class FileDrafts:
    """The reader's comments on one file: under lines of the diff, and those whose lines are not in it."""

    under: Mapping[tuple[str, int | None], Sequence[DraftComment]]
    elsewhere: Sequence[DraftComment]


def placed_drafts(files: Sequence[FileDiff], comments: Sequence[DraftComment]) -> dict[str, FileDrafts]:
    """Comments by path. One on other content than the diff shows is not under a line."""
    by_path: dict[str, list[DraftComment]] = {}
    for comment in comments:
        by_path.setdefault(comment.path, []).append(comment)
    found: dict[str, FileDrafts] = {}
    for file in files:
        under: dict[tuple[str, int | None], list[DraftComment]] = {}
        elsewhere: list[DraftComment] = []
        visible: set[tuple[str, int | None]] = {
            ("new", line.new) for block in file.blocks for line in block.lines if line.new
        }
        visible |= {("old", line.old) for block in file.blocks for line in block.lines if line.kind == "del"}
        for comment in by_path.get(file.path, ()):
            blob = file.file.old_blob if comment.side == "old" else file.file.new_blob
            is_there = comment.blob == blob and comment.anchor in visible
            (under.setdefault(comment.anchor, []) if is_there else elsewhere).append(comment)
        if under or elsewhere:
            found[file.path] = FileDrafts(under, elsewhere)
    return found


def _without_secrets(secrets: Secrets, draft: DraftReview) -> DraftReview:
    comments = (replace(one, text=secrets.redact(one.text), quote=secrets.redact(one.quote)) for one in draft.comments)
    return replace(draft, comments=tuple(comments))


def _text(text: str) -> str:
    if not text.strip():
        raise BadInput("The comment is empty.", hint="Write what to change, or delete the comment.")
    return text


def _file(app: App, task_id: int) -> Path:
    return app.task_folder(app.store.task(app.key, task_id)) / FILE


def _read(file: Path, person: str) -> DraftReview:
    entry = _people(file).get(person)
    try:
        return decode(DraftReview, entry) if isinstance(entry, dict) else DraftReview()
    except (TypeError, ValueError, KeyError, AttributeError):
        return DraftReview()


def _people(file: Path) -> dict[str, Any]:
    try:
        people = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return people if isinstance(people, dict) else {}
