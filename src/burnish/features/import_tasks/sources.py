"""Finds the task files of other tools, recognizes their format and reads them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from burnish.adapters.github_cli import find_gh, last_line, run_gh
from burnish.bounded_yaml import load_yaml
from burnish.errors import BadInput, BurnishError
from burnish.exchange import task_data, task_markdown
from burnish.exchange.source_task import SourceFile, SourceTask, first_line
from burnish.exchange.task_markdown import SourceReview
from burnish.features.import_tasks.databases import OtherDatabase, QueryTime, opened
from burnish.folder_walk import walk_folders
from burnish.regular_files import read_below, read_regular

MAX_BYTES = 8 * 1024 * 1024
MAX_ISSUES = 500
# files with requirements of one change of OpenSpec, and reviews of one work package of spec-kitty
MAX_SPECS = 100
MAX_REVIEWS = 100
# of one of them: a hundred are read in a second or two
MAX_REVIEW_BYTES = 256 * 1024
# folders below `specs` that are searched
MAX_FOLDERS = 10_000
# of a YAML file, whose parser is slow
MAX_YAML_ENTRIES = 20_000
_ISSUE_FIELDS = "number,title,body,labels,state,url,milestone,assignees"
_GITHUB = re.compile(r"gh:([\w.-]+/[\w.-]+)")


@dataclass(frozen=True, slots=True)
class TaskSource:
    """Where tasks come from: one file, or one folder of files that belong together."""

    format: str
    # relative to the repository; part of the key by which a second import recognizes its tasks
    name: str
    # without links: what lies beside it is read without following any
    path: Path


@dataclass(frozen=True, slots=True)
class Folder:
    """The repository that the names of sources are relative to, and its git directory."""

    root: Path
    common_dir: Path
    query_time: QueryTime = field(default_factory=QueryTime)

    def name(self, path: Path) -> str:
        whole = Path(os.path.realpath(path))
        root = Path(os.path.realpath(self.root))
        return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else whole.name

    def file(self, path: Path) -> SourceFile:
        return SourceFile(self.name(path), read_text(path))


def read_text(path: Path) -> str:
    try:
        data = read_regular(path, longest=MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}.", hint="Name a file that exists.") from error
    if data is None:
        raise BadInput(f"{path} is not a file.", hint="Name a file with tasks.")
    return _decoded(path, data)


def _text_below(folder: Path, place: str, longest: int = MAX_BYTES) -> str | None:
    """A file that belongs to a source. None if it is missing, or a link: it could lead to a file of the user."""
    parts = PurePath(place)
    is_inside = not parts.is_absolute() and ".." not in parts.parts
    data = read_below(folder, parts, longest=longest + 1) if is_inside else None
    return None if data is None else _decoded(folder / place, data, longest)


def _decoded(path: Path, data: bytes, longest: int = MAX_BYTES) -> str:
    if len(data) > longest:
        raise BadInput(f"{path} has more than {longest // 1024:,} kB.", hint="Shorten it, or name another file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text.", hint="Convert it, or name another file.") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


# -- formats --------------------------------------------------------------------------------------

# in a folder: pattern → format. The first folder level that has one counts.
_IN_FOLDER = (
    ("spec-kitty", ("kitty-specs/*/tasks/WP*.md", "*/tasks/WP*.md", "tasks/WP*.md", "WP*.md")),
    # not in hidden folders: spec-kit has a .specify/feature.json
    (
        "automaker",
        (".automaker/features/*/feature.json", "features/*/feature.json", "[!.]*/feature.json", "feature.json"),
    ),
    ("gza", (".gza/gza.db", "gza.db")),
    ("openspec", ("openspec/changes/*/tasks.md", "changes/*/tasks.md")),
    ("spec-kit", ("specs/*/tasks.md",)),
    ("", ("spec/tasks.md", "tasks.md")),
    # phases (`--spec-prefix`) and changes (`--change`) of spec-runner
    ("", ("spec/*-tasks.md",)),
    ("", ("spec/changes/*/tasks.md",)),
    ("", ("PLAN.md",)),
    ("", ("tasks.yaml", "tasks.yml")),
)
FORMATS = (
    "spec-runner",
    "spec-kitty",
    "automaker",
    "gza",
    "plan",
    "spec-kit",
    "openspec",
    "checklist",
    "burnish",
)


def find_sources(place: str, start: Path, folder: Folder, format: str | None) -> list[TaskSource]:
    """The sources at a path, or the issues of `gh:owner/repo`."""
    if format is not None and format not in FORMATS:
        raise BadInput(f"{format!r} is not a format of tasks.", hint=f"Choose from: {', '.join(FORMATS)}.")
    if found := _GITHUB.fullmatch(place):
        return [TaskSource("github", found[1], folder.root)]
    path = start / place
    if not path.exists():
        hint = "Name a file or a folder with tasks, or gh:OWNER/REPO for the issues of a repository."
        raise BadInput(f"Cannot read {place}: it does not exist.", hint=hint)
    real = Path(os.path.realpath(path))
    if _leads_out(start, place, real, folder.root):
        raise BadInput(f"{place} is a link that leads out of the repository.", hint=f"Name what it leads to: {real}")
    if not real.is_dir():
        return [TaskSource(format or _format_of(real), folder.name(real), real)]
    path = real
    sources = list(_in_folder(path, folder))
    matches = [source for source in sources if format in (None, source.format)]
    formats = list(dict.fromkeys(source.format for source in matches))
    if not matches:
        what = f"of {format} " if format else ""
        raise BadInput(
            f"No task files {what}were found in {place!r}.", hint=f"Name a file. Formats: {', '.join(FORMATS)}."
        )
    if len(formats) > 1:
        hint = "Choose one: --format " + " or --format ".join(formats)
        raise BadInput(f"{place} has task files of several tools: {', '.join(formats)}.", hint=hint)
    return matches


def _in_folder(path: Path, folder: Folder) -> Iterator[TaskSource]:
    for format, patterns in _IN_FOLDER:
        files = next((found for pattern in patterns if (found := _matches(path, pattern))), [])
        # a link of a repository must not lead to a file of the user, which may lie in the checkout, too (`.env`)
        for file in (one for one in files if os.path.realpath(one) == str(one)):
            known_format = format or _format_of(file)
            # the same file may match two patterns: `spec-kit` has a tasks.md, too
            yield TaskSource(known_format, folder.name(file), file)


def _matches(folder: Path, pattern: str) -> list[Path]:
    """The paths of a pattern in order; none if a link of the repository leads to a place that cannot be listed."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _leads_out(start: Path, place: str, real: Path, root: Path) -> bool:
    """Whether a path that begins in the repository ends outside of it."""
    path, top = Path(os.path.normpath(Path(os.path.realpath(start)) / place)), Path(os.path.realpath(root))
    return path.is_relative_to(top) and not real.is_relative_to(top)


def _format_of(path: Path) -> str:
    if path.suffix in (".db", ".sqlite", ".sqlite3"):
        return "gza"
    if path.suffix == ".json":
        return "automaker"
    text = read_text(path)
    if path.suffix in (".yaml", ".yml"):
        entries = _yaml_tasks(path, text)
        return "gza" if any("prompt" in entry for entry in entries) else "burnish"
    return _markdown_format(path, text)


def _markdown_format(path: Path, text: str) -> str:
    if re.search(r"^work_package_id:", text, re.M) and text.startswith("---"):
        return "spec-kitty"
    sections = task_markdown.sections(text)
    if any(one.level == 3 and task_markdown.SPEC_RUNNER_TASK.fullmatch(one.title) for one in sections):
        return "spec-runner"
    lines = [line for one in sections for line in one.lines]
    if any(task_markdown.PLAN_TASK.fullmatch(line) for line in lines):
        return "plan"
    items = [item.text for item in task_markdown.boxes(lines)]
    if not items:
        hint = f"Name the format with --format. Formats: {', '.join(FORMATS)}."
        raise BadInput(f"{path.name} holds no tasks that burnish recognizes.", hint=hint)
    # as in a folder, also if one of the items has no number
    for format, parents in (("spec-kit", ("specs",)), ("openspec", ("openspec", "changes"))):
        if path.name == "tasks.md" and path.parent.parent.parts[-len(parents) :] == parents:
            return format
    for format, pattern in (("spec-kit", task_markdown.SPEC_KIT_ITEM), ("openspec", task_markdown.OPEN_SPEC_ITEM)):
        if all(pattern.match(text) for text in items):
            return format
    return "checklist"


# -- reading --------------------------------------------------------------------------------------


def read_source(source: TaskSource, folder: Folder) -> list[SourceTask]:
    """The tasks of one source. Raises BadInput with the name of the file if it cannot be read."""
    readers: Mapping[str, Callable[[TaskSource, Folder], list[SourceTask]]] = {
        "spec-runner": _spec_runner,
        "spec-kitty": _spec_kitty,
        "automaker": _automaker,
        "gza": _gza,
        "plan": lambda source, folder: task_markdown.read_plan(folder.file(source.path)),
        "spec-kit": _phases,
        "openspec": _phases,
        "checklist": lambda source, folder: task_markdown.read_checklist(folder.file(source.path)),
        "burnish": _own,
        "github": lambda source, folder: _github(source, folder.root),
    }
    try:
        return readers[source.format](source, folder)
    except ValueError as error:
        hint = f"Correct the file, or name another format with --format. It was read as {source.format}."
        raise BadInput(f"{source.name} cannot be read: {first_line(str(error), 200)}.", hint=hint) from error


def _spec_runner(source: TaskSource, folder: Folder) -> list[SourceTask]:
    states: dict[str, str] = {}
    prefix = source.path.name.removesuffix("tasks.md") if source.path.name.endswith("tasks.md") else ""
    database = source.path.parent / f".executor-{prefix}state.db"
    if database.is_file() and not database.is_symlink():
        with opened(database, folder.query_time) as rows_of:
            states = {str(row.get("task_id")): str(row.get("status")) for row in rows_of.rows("SELECT * FROM tasks")}
    return task_markdown.read_spec_runner(folder.file(source.path), states)


def _spec_kitty(source: TaskSource, folder: Folder) -> list[SourceTask]:
    mission_folder = source.path.parent.parent
    events = _mission_events(mission_folder)
    file = folder.file(source.path)
    facts, _ = task_markdown.front_matter(file.text)
    key = str(facts.get("work_package_id") or "")
    own = [event for event in events if event.get("wp_id") == key]
    lane = next((str(event["to_lane"]) for event in reversed(own) if event.get("to_lane")), "")
    pointers = [str(event["review_ref"]) for event in own if event.get("review_ref")]
    reviews = [found for pointer in pointers[-MAX_REVIEWS:] if (found := _review(pointer, mission_folder, folder))]
    if not reviews:
        paths = _matches(source.path.with_suffix(""), "review-cycle-*.md")
        newest = sorted(paths, key=lambda path: _number(path.name))[-MAX_REVIEWS:]
        names = [str(path.relative_to(mission_folder)) for path in newest]
        texts = [(PurePath(name).name, _text_below(mission_folder, name, MAX_REVIEW_BYTES)) for name in names]
        reviews = [SourceReview.of(name, text) for name, text in texts if text is not None]
    subtasks = task_markdown.boxes((_text_below(mission_folder, "tasks.md") or "").splitlines())
    mission = mission_folder.name
    return [task_markdown.read_work_package(file, mission=mission, lane=lane, reviews=reviews, subtasks=subtasks)]


def _mission_events(mission: Path) -> list[Mapping[str, Any]]:
    """The events of a mission, oldest first. While it is under way, spec-kitty writes them in a worktree of its own."""
    worktree = f".worktrees/{mission.name}-coord/kitty-specs/{mission.name}/"
    places = ((mission, ""), (mission.parent.parent, worktree))
    texts = [_text_below(folder, f"{place}status.events.jsonl") or "" for folder, place in places]
    found = {str(event.get("event_id") or event): event for text in texts for event in _lines(text)}
    return sorted(found.values(), key=lambda event: str(event.get("at") or ""))


def _review(pointer: str, mission: Path, folder: Folder) -> SourceReview | None:
    """The text that a `review-cycle://` or `feedback://` pointer leads to; None if it is gone or leads elsewhere."""
    found = re.fullmatch(r"(review-cycle|feedback)://([\w.-]+)/([\w.-]+)/([\w.-]+)", pointer)
    if not found:
        return None
    place, name = (mission.parent, f"{found[2]}/tasks/{found[3]}/{found[4]}")
    if found[1] == "feedback":
        place, name = (folder.common_dir, f"spec-kitty/feedback/{found[2]}/{found[3]}/{found[4]}")
    text = _text_below(place, name, MAX_REVIEW_BYTES)
    return None if text is None else SourceReview.of(found[4], text)


def _number(name: str) -> int:
    return int(next(iter(re.findall(r"\d+", name)), "0"))


def _lines(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a text with one on each line."""
    # not splitlines(): U+2028 is allowed within a text
    for line in text.split("\n"):
        value = _json(line) if line.strip() else None
        if isinstance(value, dict):
            yield value


def _automaker(source: TaskSource, folder: Folder) -> list[SourceTask]:
    value = _json(read_text(source.path))
    features = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in features):
        raise ValueError("it is not a feature of automaker")
    return [task_data.read_feature(one) for one in features]


def _gza(source: TaskSource, folder: Folder) -> list[SourceTask]:
    def spec_text(name: str) -> str | None:
        # gza names it relative to its project; hidden files are settings and secrets, and never a specification
        is_hidden = any(part.startswith(".") and part != ".gza" for part in PurePath(name).parts)
        return None if is_hidden else _text_below(Path(os.path.realpath(folder.root)), name)

    if source.path.suffix in (".yaml", ".yml"):
        entries = _yaml_tasks(source.path, read_text(source.path))
        # `depends_on: 2` is the second entry of the file
        return [task_data.read_gza(str(number), entry, spec_text) for number, entry in enumerate(entries, 1)]
    with opened(source.path, folder.query_time) as database:
        rows = _of_this_project(database, folder, database.rows("SELECT * FROM tasks ORDER BY created_at, id"))
        tags = _rows_by_task(rows, database.rows("SELECT * FROM task_tags", is_optional=True))
        comments = _rows_by_task(rows, database.rows("SELECT * FROM task_comments ORDER BY id", is_optional=True))
    keyed = [(str(row.get("id", 0)), row) for row in rows]
    return [
        task_data.read_gza(
            key, {**row, "tags": [str(tag.get("tag")) for tag in tags.get(key, ())]}, spec_text, comments.get(key, ())
        )
        for key, row in keyed
    ]


def _rows_by_task(tasks: list[dict[str, Any]], rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of another table, without those of other projects: their tasks may have the same ids."""
    projects = {task.get("project_id") for task in tasks} | {None}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("project_id") in projects:
            found.setdefault(str(row.get("task_id")), []).append(row)
    return found


def _of_this_project(database: OtherDatabase, folder: Folder, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of this repository: projects can share a database of gza (`gza init --db shared`)."""
    projects = database.rows("SELECT id, root_path FROM projects", is_optional=True)
    root = os.path.realpath(folder.root)
    own_ids = {row.get("id") for row in projects if os.path.realpath(str(row.get("root_path"))) == root}
    if len(projects) < 2:
        return rows
    if not own_ids:
        names = ", ".join(str(row.get("id")) for row in projects[:5])
        raise ValueError(f"it has tasks of several projects ({names}), and none of them is in {root}")
    return [row for row in rows if row.get("project_id") in own_ids]


def _phases(source: TaskSource, folder: Folder) -> list[SourceTask]:
    place = source.path.parent
    names = ["spec.md", "plan.md"]
    if source.format == "openspec":
        # the requirements of the change: what a reviewer compares the code with
        names = ["proposal.md", "design.md", *_requirements(place)]
    texts = [text for name in names if (text := _text_below(place, name)) is not None]
    return task_markdown.read_phases(folder.file(source.path), plan="\n\n".join(texts), group=place.name)


def _requirements(change: Path) -> list[str]:
    """Paths of Markdown files below `specs` of a change, without following links."""
    if (change / "specs").is_symlink():
        return []
    folders = islice(walk_folders(change / "specs"), MAX_FOLDERS)
    paths = (Path(folder, name) for folder, _, names in folders for name in names if name.endswith(".md"))
    return sorted(str(path.relative_to(change)) for path in islice(paths, MAX_SPECS))


def _own(source: TaskSource, folder: Folder) -> list[SourceTask]:
    entries = _yaml_tasks(source.path, read_text(source.path))
    return [task_data.read_own(str(entry.get("key") or number), entry) for number, entry in enumerate(entries, 1)]


def _yaml_tasks(path: Path, text: str) -> list[dict[str, Any]]:
    from ruamel.yaml.error import YAMLError

    hint = "Write `tasks:` and a list, each entry with a `title`."
    try:
        value = load_yaml(text, most=MAX_YAML_ENTRIES)
    except (ValueError, YAMLError) as error:
        raise BadInput(f"{path.name} is not valid YAML: {first_line(str(error))}.", hint=hint) from error
    entries = value.get("tasks") if isinstance(value, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadInput(f"{path.name} has no list of tasks.", hint=hint)
    return entries


def _github(source: TaskSource, root: Path) -> list[SourceTask]:
    gh = find_gh("so issues cannot be read")
    argv = ("issue", "list", f"--repo={source.name}", "--state=all", f"--limit={MAX_ISSUES}")
    result = run_gh(root, gh, *argv, f"--json={_ISSUE_FIELDS}")
    if result.exit_code:
        raise BurnishError(
            f"gh could not list the issues of {source.name}: {last_line(result)}",
            hint="Check the name of the repository, and `gh auth status`.",
        )
    issues = _json(result.stdout.decode("utf-8", "replace"))
    if not isinstance(issues, list) or not all(isinstance(issue, dict) for issue in issues):
        raise ValueError("gh printed something else than a list of issues")
    tasks = [task_data.read_issue(issue) for issue in issues]
    return sorted(tasks, key=lambda task: int(task.key) if task.key.isdecimal() else 0)
