"""The guard reports changes that weaken tests, the criteria of the review or the settings of tools. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from burnish.checks.guard.commands import is_code_under_test, scripts_run_by
from burnish.checks.guard.protected_files import (
    Parts,
    is_judge,
    is_shared,
    is_tooling,
    judge_parts,
    may_be_page,
    names_hook,
    substance,
    switches_assertions,
    tooling_parts,
)
from burnish.checks.guard.shadowing import REASON as SHADOWING
from burnish.checks.guard.shadowing import GuardedTrees, shadows
from burnish.checks.guard.test_weakening import thinning
from burnish.core.change import Change, ChangedFile
from burnish.core.check import Comparison
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review_checks import is_test_path

SOURCE = "check:guard"
Text = Callable[[str], str | None]

# A command may start the tests themselves: `node test.js`.
_TEST_ITSELF = re.compile(r"(?:^|/)(?:tests?|specs?)\.\w+$")
_WHY = {
    "judge": "These files decide how changes are reviewed, or instruct the reviewers. burnish reads them "
    "from the base, never from the change. A person must approve changes to them.",
    "expectations": "These tests passed on the base and fail with the code of this change; the change edits them or "
    "what they read. That is right for a change of behaviour that was asked for. Else it hides a bug.",
    "tooling": "This decides which tests run, what the linter accepts, or what CI accepts. "
    "A change that needs it should explain why.",
}


def guard(
    change: Change,
    *,
    comparisons: tuple[Comparison, ...],
    old_text: Text,
    new_text: Text,
    levels: Mapping[str, str],
    agent_files: Collection[str],
    trees: GuardedTrees,
    own_paths: Collection[str] = (),
) -> tuple[Remark, ...]:
    """Remarks on parts of the change that make checks easier to pass. `agent_files`: patterns, see `is_named`."""
    severities = {name: Severity(level) for name, level in levels.items() if level != "off"}
    remarks: list[Remark] = []
    if "thinning" in severities:
        for loss in thinning(change, comparisons, old_text, new_text):
            found = _remark("thinning", severities["thinning"], loss.title, loss.reason)
            content = _hash(loss.title, loss.reason, loss.quote, *loss.names)
            remarks.append(_at(found, loss.file, loss.line, loss.quote, content))
    if "expectations" in severities:
        remarks += _expectations(comparisons, change, severities["expectations"])
    shadowing = _shadowing(change, trees, severities, old_text, new_text)
    remarks += shadowing
    left_out = {remark.file for remark in shadowing}
    for file in change.files:
        if file.path in left_out or (file.path in own_paths and (file.old_path is None or file.old_path in own_paths)):
            continue
        for kind, title, line, quote, part in _touched(file, trees, old_text, new_text, agent_files):
            if kind in severities:
                is_page = kind == "judge" and not part and not file.is_symlink
                is_page = is_page and all(may_be_page(p, agent_files) for p in (file.path, file.old_path or file.path))
                found = _remark(kind, _level(severities[kind], kind, file, is_page=is_page), title, _WHY[kind])
                # a link stands for everything that it leads to
                blob = change.new_tree if file.is_symlink else file.new_blob
                content = _hash(part) if part else _hash(file.path, file.old_path or "", file.new_mode, blob)
                remarks.append(_at(found, file.path, line, quote, content))
    return tuple(remarks)


def _expectations(comparisons: tuple[Comparison, ...], change: Change, severity: Severity) -> Iterator[Remark]:
    """Tests of the base that fail with the change, which edits them: another behaviour, or a hidden bug."""
    for tests in (comparison.base_tests for comparison in comparisons):
        if tests is None or not tests.failures:
            continue
        count = f"{len(tests.failures)} test{'s' * (len(tests.failures) > 1)}"
        title = f"{count} of the base fail{'s' * (len(tests.failures) == 1)} with this change, which edits tests"
        cases = [f"- {one.name}: {' '.join(one.message.split())[:300]}" for one in tests.failures[:20]]
        more = [f"- and {len(tests.failures) - 20} more"] if tests.failures[20:] else []
        reason = "\n".join((f"{_WHY['expectations']} Edited: {', '.join(tests.edits[:20])}.", *cases, *more))
        file = change.file(tests.edits[0])
        content = _hash(*(one.name for one in tests.failures), *_blobs(change, tests.edits))
        remark = _remark("expectations", severity, title, reason)
        yield _at(remark, tests.edits[0], *(_place(file) if file else (None, "")), content)


def _blobs(change: Change, paths: Collection[str]) -> list[str]:
    return [file.new_blob for file in change.files if file.path in paths or file.old_path in paths]


def _shadowing(
    change: Change, trees: GuardedTrees, severities: Mapping[str, Severity], old_text: Text, new_text: Text
) -> list[Remark]:
    if "judge" not in severities:
        return []
    remarks = []
    for shadow in shadows(change.files, trees, old_text, new_text):
        remark = replace(_remark("judge", severities["judge"], shadow.title, SHADOWING), rule="guard/shadowing")
        file = change.file(shadow.path)
        place = _place(file) if file else (None, "")
        remarks.append(_at(remark, shadow.path, *place, _hash(*_loaded_blobs(change, shadow.path))))
    return remarks


def _loaded_blobs(change: Change, path: str) -> list[str]:
    """What an import of this file loads: the changed files of its folder, for a link everything that it leads to."""
    folder = path.rpartition("/")[0]
    files = [file for file in change.files if file.path == path or (folder and file.path.startswith(f"{folder}/"))]
    if change.file(path) is None or any(file.is_symlink for file in files):
        return [change.new_tree]
    return [f"{file.path} {file.new_blob}" for file in files]


def reads(file: ChangedFile) -> bool:
    """True if the guard needs the file's text; False if the diff is enough."""
    paths = {file.path, file.old_path or file.path}
    if not has_text(file):
        return False
    if any(is_tooling(p) or is_shared(p) or is_test_path(p) or p.endswith(".rs") for p in paths):
        return True
    return any(names_hook(file.path, hunk.text) or switches_assertions(file.path, hunk.text) for hunk in file.hunks)


def has_text(file: ChangedFile) -> bool:
    return not (file.binary or file.is_submodule or file.is_symlink)


def _level(level: Severity, kind: str, file: ChangedFile, *, is_page: bool) -> Severity:
    """A new config file cannot weaken existing rules, so it is a warning at most. So is what may be a page."""
    if ((kind == "tooling" and file.status == "A") or is_page) and level is Severity.ERROR:
        return Severity.WARNING
    return level


def _touched(
    file: ChangedFile, trees: GuardedTrees, old_text: Text, new_text: Text, agent_files: Collection[str]
) -> Iterator[tuple[str, str, int | None, str, str]]:
    """(kind, title, line, quote, text) for each protected part of this file that changes; no text: the whole file."""
    old_path = file.old_path or file.path
    # A symlink to a folder adds the files of that folder.
    paths = {file.path, old_path, *(trees.new.brought_in(file.path) if file.is_symlink else ())}
    if any(is_judge(path, agent_files) for path in paths):
        yield ("judge", f"{_verb(file)} protected review settings: {file.path}", *_place(file), "")
        return
    old = None if file.status == "A" else old_text(old_path)
    new = None if file.status == "D" else new_text(file.path)
    if any(map(is_tooling, paths)) or _is_run(file, paths, trees):
        only_words = old is not None and new is not None and substance(old) == substance(new)
        if not (only_words and file.status in "MR" and file.old_mode == file.new_mode):
            yield ("tooling", f"{_verb(file)} settings of the tools: {file.path}", *_place(file), "")
        return
    tooling = partial(tooling_parts, commands=trees.all_commands)
    for kind, read in (("judge", judge_parts), ("tooling", tooling)):
        old_parts, new_parts = read(file.path, old or "", new or "")
        for name in _different(old_parts, new_parts):
            what = "burnish's settings" if kind == "judge" else "settings of the tools"
            text = f"{name}\0{new_parts.get(name)}"
            yield (kind, f"Changes {what}: {name} in {file.path}", *_section(file, new, name), text)


def _is_run(file: ChangedFile, paths: Collection[str], trees: GuardedTrees) -> bool:
    """True if a command (check, set-up or build) starts it, or if it replaces a settings file by a binary or link."""
    scripts = scripts_run_by(trees.all_commands, paths)
    if not is_code_under_test(file):
        scripts |= trees.scripts.intersection(paths)
    if any(not (is_test_path(path) or is_shared(path) or _TEST_ITSELF.search(path)) for path in scripts):
        return True
    return not has_text(file) and any(map(is_shared, paths))


def _different(old: Parts, new: Parts) -> list[str]:
    return [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]


def _verb(file: ChangedFile) -> str:
    return {"A": "Adds", "D": "Deletes", "R": "Renames"}.get(file.status, "Changes")


def _place(file: ChangedFile) -> tuple[int | None, str]:
    """The number and text of the first changed line."""
    if file.status == "D" or not file.hunks:
        return None, ""
    here = file.hunks[0].new_start
    last = here + file.hunks[0].new_lines - 1  # lines may be deleted at the end
    for line in file.hunks[0].text.split("\n")[1:]:
        if line.startswith("+"):
            return max(here, 1), line[1:].strip()
        if line.startswith("-"):
            return max(min(here, last), 1), ""
        here += 1
    return max(here, 1), ""


def _section(file: ChangedFile, new: str | None, name: str) -> tuple[int | None, str]:
    """A changed line that names the section, else its header."""
    word = name.rpartition(".")[2]
    changed_lines = file.changed_lines()
    lines = list(enumerate((new or "").split("\n"), 1))
    hits = [(number, line.strip()) for number, line in lines if word in line]
    for number, line in sorted(hits, key=lambda hit: (hit[0] not in changed_lines, hit[0])):
        return number, line
    return _place(file)


def _remark(kind: str, severity: Severity, title: str, reason: str) -> Remark:
    return Remark(Category.GUARD, severity, title, reason, rule=f"guard/{kind}", source=SOURCE)


def _at(remark: Remark, file: str | None, line: int | None, quote: str, content: str) -> Remark:
    return replace(remark, file=file, line=line, quote=quote, content=content)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
