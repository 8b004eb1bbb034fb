"""Runs ruff with burnish's rules and with the repository's rules, both with the settings of the base."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.checks.reading import path_in_repository, shortened
from burnish.checks.scanners.base import (
    Lines,
    ScanContext,
    ScanResult,
    batched,
    call,
    find_program,
    last_line,
    line_number,
    read_json,
)
from burnish.checks.scanners.ruff_rules import SELECTED, SYNTAX, weigh
from burnish.core.finding import Remark
from burnish.regular_files import parse_toml

_ALWAYS = (
    "check",
    "--no-cache",
    "--no-fix",
    "--output-format=json",
    "--quiet",
    "--exit-zero",
    "--no-respect-gitignore",
)


# a batch takes less than two
_CPU_SECONDS = 10
# halves of halves in which the file is looked for that ruff does not survive
_MAX_HALVES = 9

# These rules depend on neighbouring files.
_LOOKS_BESIDE = ("I001", "INP001")


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that share settings."""

    settings: Settings | None
    target: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ruff:
    name: str = "ruff"
    executes: str = ""

    def wants(self, path: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def scan(self, context: ScanContext, paths: tuple[str, ...]) -> ScanResult:
        remarks: list[Remark] = []
        notes: list[str] = []
        given_up: dict[str, str] = {}
        for number, group in enumerate(_groups(context, paths)):
            for part, some in enumerate(batched(group.paths)):
                given_up |= _run(context, group, some, f"ruff-{number}-{part}", remarks, notes)
        return ScanResult(tuple(_with_reasons(context, remarks)), tuple(dict.fromkeys(notes)), given_up)


def program(context: ScanContext) -> str:
    """The ruff that was installed with burnish, else the one on PATH, which may be a version manager's shim."""
    beside = Path(sys.executable).parent / "ruff"
    if beside.is_file():
        return str(beside)
    try:
        # `pip install --user` and `--target` install it elsewhere.
        from ruff.__main__ import find_ruff_bin  # type: ignore[import-untyped]

        return str(find_ruff_bin())
    except (ImportError, OSError):
        return find_program(context, "ruff", inside=context.own_settings) or "ruff"


def _groups(context: ScanContext, paths: tuple[str, ...]) -> list[_Group]:
    texts: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        if not context.own_settings:
            return None
        if path not in texts:
            texts[path] = context.base_text(path)
        return texts[path]

    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    settings: dict[str, Settings | None] = {}
    for path in paths:
        own = settings_for(path, read)
        where = own.path if own else ""
        settings[where] = own
        found[where, own.target if own else target_version(path, read)].append(path)
    return [_Group(settings[where], target, tuple(members)) for (where, target), members in found.items()]


def _run(
    context: ScanContext, group: _Group, paths: tuple[str, ...], name: str, remarks: list[Remark], notes: list[str]
) -> dict[str, str]:
    """Adds remarks and notes. The result: files that ruff did not survive, with the reason."""
    names = ("--", *(str(context.files / path) for path in paths))
    ours = ("--isolated", f"--target-version={group.target}", f"--select={','.join(SELECTED)}")
    found = _ask(context, name, (*_ALWAYS, *ours, *names), notes)
    if isinstance(found, str):
        if len(paths) == 1 or name.count("+") >= _MAX_HALVES:
            return dict.fromkeys(paths, found)
        half = len(paths) // 2
        parts = ((paths[:half], f"{name}+a"), (paths[half:], f"{name}+b"))
        return {
            path: why for some, part in parts for path, why in _run(context, group, some, part, remarks, notes).items()
        }
    remarks += _read(context, found, group.settings, own_rules=False)
    if group.settings is None:
        return {}
    try:
        config = write_settings(group.settings, context.out_dir / f"{name}-settings")
    except (OSError, ValueError) as error:
        notes.append(f"ruff: {group.settings.path} could not be written: {error}")
        return {}
    folder = context.files / group.settings.folder
    if folder.is_dir() and not folder.is_symlink():
        theirs = _ask(
            context, f"{name}-own", (*_ALWAYS, "--force-exclude", f"--config={config}", *names), notes, cwd=folder
        )
        if isinstance(theirs, str):
            notes.append(f"ruff: {theirs}")
        else:
            remarks += _read(context, theirs, None, own_rules=True)
    return {}


def _ask(
    context: ScanContext, name: str, args: tuple[str, ...], notes: list[str], cwd: Path | None = None
) -> list[Any] | str:
    """The items of the report; a text if ruff did not survive a file."""
    output = call(context, name, (program(context), *args), cwd=cwd, cpu_seconds=_CPU_SECONDS)
    if output.crashed:
        return output.trouble
    items = read_json(output.stdout)
    if output.trouble or not isinstance(items, list):
        notes.append(f"ruff: {output.trouble or last_line(output.stderr)}")
        return []
    return items


def _read(context: ScanContext, found: list[Any], settings: Settings | None, *, own_rules: bool) -> list[Remark]:
    lines = Lines(context.files)
    remarks = []
    for item in found:
        remark = _remark(context, lines, item, own_rules) if isinstance(item, dict) else None
        if remark and remark.file and not (settings and settings.silences(remark.file, remark.rule)):
            remarks.append(remark)
    return remarks


def _remark(context: ScanContext, lines: Lines, item: dict[str, Any], own_rules: bool) -> Remark | None:
    code, message = item.get("code"), str(item.get("message") or "")
    if code is None or code in ("E999", "invalid-syntax"):
        code = SYNTAX
    if code == "E902" or not isinstance(code, str):
        return None  # ruff could not open the file
    if code in _LOOKS_BESIDE and not context.whole_tree:
        return None
    path = path_in_repository(str(item.get("filename")), context.files)
    line, end = _row(item, "location"), _row(item, "end_location")
    if path is None or line is None:
        return None
    last = max(end or line, line)
    there = lines.around(path, line, last)
    weight = weigh(code, message, code_there=there, in_tests=context.is_test(path), own_rules=own_rules)
    if weight is None:
        return None
    fix = item.get("fix")
    return Remark(
        category=weight[0],
        severity=weight[1],
        title=shortened(message.removeprefix("SyntaxError: "), longest=200),
        suggestion=shortened(str(fix.get("message") or ""), longest=300) if isinstance(fix, dict) else "",
        file=path,
        line=line,
        end_line=last,
        rule=code,
        source="static",
    )


def _row(item: dict[str, Any], key: str) -> int | None:
    place = item.get(key)
    return line_number(place.get("row")) if isinstance(place, dict) else None


def _with_reasons(context: ScanContext, remarks: list[Remark]) -> list[Remark]:
    """The remarks with ruff's explanation of each rule."""
    codes = {remark.rule for remark in remarks} - {SYNTAX}
    reasons: dict[str, str] = {SYNTAX: "Python cannot parse this file, so none of it can be imported or run."}
    if codes:
        rules = read_json(
            call(context, "ruff-rules", (program(context), "rule", "--all", "--output-format=json")).stdout
        )
        # 22,000 lines that are unrelated to the change do not belong in its log.
        shutil.rmtree(context.out_dir / "ruff-rules", ignore_errors=True)
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and rule.get("code") in codes:
                reasons[rule["code"]] = _why(str(rule.get("explanation") or ""))
    return [replace(r, description=reasons.get(r.rule) or r.title) for r in remarks]


def _why(explanation: str) -> str:
    """The paragraph under "Why is this bad?"; else the first one."""
    body = explanation.partition("## Why is this bad?")[2] or explanation.partition("\n")[2]
    return " ".join(body.strip().split("\n\n")[0].split())[:600]


# -- ruff settings --------------------------------------------------------------------------------
# The repository's settings for ruff at the base, and the rules that they ignore.

NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")
NEWEST = "py313"
_LOWEST = re.compile(r"(?:>=|~=|==)\s*3\.(\d+)")

Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """One settings file of the base, and the files it extends, nearest first."""

    path: str
    chain: tuple[tuple[str, str], ...]
    target: str

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.path).parent)

    def silences(self, path: str, code: str) -> bool:
        """True if the settings ignore this rule for this file."""
        return any(self._ignored(text, path, code) for _, text in self.chain)

    def _ignored(self, text: str, path: str, code: str) -> bool:
        section = _section(self.path, text)
        for part in (section, section.get("lint", {})):
            if not isinstance(part, dict):
                continue
            if _listed(code, [*_list(part.get("ignore")), *_list(part.get("extend-ignore"))]):
                return True
            for key in ("per-file-ignores", "extend-per-file-ignores"):
                table = part.get(key)
                for pattern, codes in table.items() if isinstance(table, dict) else ():
                    if _matches(path, self.folder, pattern) and _listed(code, _list(codes)):
                        return True
        return False


def settings_for(path: str, read: Read) -> Settings | None:
    """The nearest settings above the file, at the base."""
    for folder in PurePosixPath(path).parents:
        for name in NAMES:
            where = str(folder / name)
            text = read(where)
            if text is None or not _is_ruffs(name, text):
                continue
            return Settings(where, tuple(_chain(where, text, read)), _target(where, text, read))
    return None


def write_settings(settings: Settings, folder: Path) -> Path:
    """Write the settings files below `folder` at their original paths, so that `extend` finds them."""
    for path, text in settings.chain:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", errors="replace")
    return folder / settings.path


def target_version(path: str, read: Read) -> str:
    """The oldest Python that the file's project supports; else a new version, to avoid false reports."""
    for folder in PurePosixPath(path).parents:
        text = read(str(folder / "pyproject.toml"))
        if text is not None and (version := _lowest_version(text)):
            return version
    return NEWEST


def _target(where: str, text: str, read: Read) -> str:
    for key in (_section(where, text).get("target-version"),):
        if isinstance(key, str) and re.fullmatch(r"py3\d{1,2}", key):
            return key
    return target_version(where, read)


def _lowest_version(text: str) -> str | None:
    project = _loaded(text).get("project")
    requirement = project.get("requires-python") if isinstance(project, dict) else None
    match = _LOWEST.search(requirement) if isinstance(requirement, str) else None
    if not match:
        return None
    return f"py3{min(max(int(match[1]), 7), 14)}"


def _chain(where: str, text: str, read: Read) -> Iterable[tuple[str, str]]:
    for _ in range(5):
        yield where, text
        parent = _section(where, text).get("extend")
        if not isinstance(parent, str) or parent.startswith(("/", "~", "$")):
            return
        where = os.path.normpath(str(PurePosixPath(where).parent / parent))
        above = None if where.startswith("..") else read(where)
        if above is None:
            return
        text = above


def _is_ruffs(name: str, text: str) -> bool:
    return name != "pyproject.toml" or bool(_section(name, text))


def _section(where: str, text: str) -> dict[str, Any]:
    found: Any = _loaded(text)
    if PurePosixPath(where).name == "pyproject.toml":
        for key in ("tool", "ruff"):
            found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _loaded(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except (ValueError, RecursionError):
        return {}


def _list(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _listed(code: str, prefixes: list[str]) -> bool:
    return any(prefix == "ALL" or (prefix and code.startswith(prefix)) for prefix in prefixes)


def _matches(path: str, folder: str, pattern: str) -> bool:
    here = path if folder == "." else path.removeprefix(folder + "/")
    name = PurePosixPath(path).name
    return fnmatch.fnmatchcase(here, pattern) or fnmatch.fnmatchcase(name, pattern)
