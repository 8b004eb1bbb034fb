"""What the events of an agent program mean: what was said, which tool was started, and how it ended.

Each adapter turns its program's events into steps; `RowBuilder` turns the steps into the rows of a transcript.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from burnish.agents.jsonlines import Json, dig, text_or_empty
from burnish.core.transcript import MAX_DETAIL_LENGTH, MAX_TEXT_LENGTH, Row, RowKind, first_line

# changed lines of one edit, and lines of the end of a command's output
_MAX_LINES = 12
_MAX_LINE_LENGTH = 200
# what programs print in place of an empty output
_NO_OUTPUT = ("(Bash completed with no output)", "(no output)")
# tools that run at the same time
_MAX_RUNNING = 100
# characters of a message that comes in pieces, and of an action, before secrets are redacted; `shortened` cuts more
_MAX_MESSAGE_LENGTH = 1_000_000
_MAX_ACTION_LENGTH = 64_000


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    # a piece of a message, of which more may follow
    is_piece: bool = False
    is_thought: bool = False


@dataclass(frozen=True, slots=True)
class ToolStarted:
    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolEnded:
    id: str
    output: str = ""
    exit_code: int | None = None
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """The program itself reports a problem."""

    text: str


Step = Said | ToolStarted | ToolEnded | Problem


@runtime_checkable
class ReportsSteps(Protocol):
    """An agent whose program prints events."""

    def steps(self, event: Json) -> Iterable[Step]:
        """What one event means; nothing for events that only a program needs."""
        ...


@runtime_checkable
class ReportsLines(Protocol):
    """An agent whose program prints plain text, of which it is known what its own lines are."""

    def line_steps(self, line: str) -> Iterable[Step]:
        """What one line means; nothing for lines that only a program needs."""
        ...


# -- tools ----------------------------------------------------------------------------------------
# Names of the programs' tools in lower case without separators.

_KINDS = {
    RowKind.READ: ("read", "readfile", "readmanyfiles", "view", "cat", "notebookread", "viewfile", "webfetch"),
    RowKind.SEARCHED: (
        *("grep", "glob", "search", "searchfilecontent", "grepsearch", "ls", "list", "listdirectory", "listfiles"),
        *("findfiles", "codebasesearch", "websearch", "googlewebsearch", "toolsearch", "rg"),
    ),
    RowKind.EDITED: (
        *("edit", "write", "multiedit", "writefile", "replace", "create", "strreplace", "strreplaceeditor", "patch"),
        *("applypatch", "notebookedit", "editfile", "createfile", "insert", "filechange", "searchreplace"),
    ),
    RowKind.RAN: ("bash", "shell", "runshellcommand", "execute", "terminal", "command", "exec", "runcommand"),
    RowKind.ASKED: ("askuserquestion", "askuser", "askfollowupquestion", "requestpermission"),
    RowKind.THOUGHT: ("think", "sequentialthinking"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
# Tools that keep a list of steps: no action.
_SILENT = frozenset({"todowrite", "updatetodolist", "reportintent"})
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file", "uri", "url")
_COMMAND_KEYS = ("command", "cmd", "script")
_SEARCH_KEYS = ("pattern", "query", "regex", "glob")
_QUESTION_KEYS = ("question", "questions", "prompt")
_PATCH_KEYS = ("patch", "patchText", "diff")
_OLD_KEYS = ("old_string", "oldString", "old_str", "old_text", "oldText")
_NEW_KEYS = ("new_string", "newString", "new_str", "new_text", "newText", "content", "file_text", "contents")
# `/bin/bash -lc '…'` around a command
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_MAX_SHELL_LENGTH = 20_000


def tool_row(name: str, values: Mapping[str, Any], relative: Callable[[str], str]) -> Row | None:
    """The row of a tool that was started; None for a tool that does nothing a reader wants to know."""
    short = re.sub(r"[^a-z]", "", name.lower())
    if short in _SILENT:
        return None
    if short == "structuredoutput":
        return Row(RowKind.SAID, readable_answer(json.dumps(values, ensure_ascii=False)))
    kind = _KIND_OF.get(short, RowKind.USED)
    path, command = relative(_first(values, _PATH_KEYS)), _first(values, _COMMAND_KEYS)
    match kind:
        case RowKind.RAN if command:
            script = relative(plain_command(command))
            file = _file_read_by(script)
            return Row(RowKind.READ, file) if file else Row(kind, script)
        case RowKind.EDITED if path or "patch" in short:
            # cline and copilot pass a patch as `input` to models of OpenAI
            keys = (*_PATCH_KEYS, "input") if "patch" in short else _PATCH_KEYS
            patch = _first(values, keys)
            return Row(kind, path or _patched_files(patch, relative), _changed_lines(values, patch))
        case RowKind.READ if path:
            return Row(kind, path)
        case RowKind.SEARCHED:
            what = _first(values, _SEARCH_KEYS)
            where = f" in {path}" if path and path != "." else ""
            return Row(kind, f"for {what}{where}" if what else path or name)
        case RowKind.ASKED:
            return Row(kind, _first(values, _QUESTION_KEYS))
        case RowKind.THOUGHT:
            return Row(kind, _first(values, ("thought", "text")))
    what = path or command or _first(values, (*_SEARCH_KEYS, *_QUESTION_KEYS, "description"))
    return Row(RowKind.USED, f"{name} {first_line(what)}".strip())


def plain_command(command: str) -> str:
    """Without the shell that a program puts around it."""
    command = command.strip()
    if len(command) <= _MAX_SHELL_LENGTH and _SHELL.match(command):
        with suppress(ValueError):
            match shlex.split(command):
                case [shell, "-c" | "-lc", script] if _SHELL.fullmatch(shell):
                    return script.strip()
    return command


# codex has no tool that reads a file, and uses these
_READING = re.compile(
    r"(?:cat|nl(?: -ba)?|(?:head|tail)(?: -n)? -?\d+|sed -n ['\"]?[\d,$]+p['\"]?) (?P<path>[\w./@+-]+)"
)


def _file_read_by(script: str) -> str:
    """The file that a command only prints; "" for any other command."""
    match = _READING.fullmatch(script)
    return match["path"] if match and not match["path"].startswith("-") else ""


_VERDICT_BLOCK = re.compile(r"^```burnish-verdict[^\n]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)


def readable_answer(text: str) -> str:
    """A message with the verdict of a review in words in place of its JSON."""
    if text.startswith("{"):
        return _verdict_words(text) or text
    return _VERDICT_BLOCK.sub(lambda match: _verdict_words(match[1]) or match[0], text)


_BLOCK_START = re.compile(r"```burnish-verdict\b|\{.*\"verdict\"")
# a longer block is shown as it is
_MAX_BLOCK_LINES = 5_000


class AnswerLines:
    """The output of a reviewer that prints text, with its verdict in words; lines of a block wait for its end."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        # again: in JSON, a secret may be written in escapes
        self._redact = redact
        self._block: list[str] = []

    def take(self, line: str) -> list[str]:
        """The lines to show now."""
        if not self._block and not _BLOCK_START.match(line):
            return [line]
        self._block.append(line)
        is_fenced = self._block[0].startswith("```")
        is_open = is_fenced and (len(self._block) == 1 or line.rstrip() != "```")
        return [] if is_open and len(self._block) < _MAX_BLOCK_LINES else self.end()

    def end(self) -> list[str]:
        """The lines of a block that has no end."""
        text, self._block = "\n".join(self._block), []
        return self._redact(readable_answer(text)).split("\n") if text else []


def _verdict_words(text: str) -> str:
    try:
        # aider wraps lines, also within a string
        values = json.loads(text.replace("\n", " "))
    except (ValueError, RecursionError):
        return ""
    verdict = text_or_empty(dig(values, "verdict"))
    if not verdict:
        return ""
    lines = [": ".join(filter(None, (f"Verdict {verdict}", text_or_empty(dig(values, "summary")))))]
    findings = values.get("findings")
    for finding in findings if isinstance(findings, list) else []:
        words = ": ".join(
            filter(None, (text_or_empty(dig(finding, key)) for key in ("severity", "title", "description")))
        )
        file, line = text_or_empty(dig(finding, "file")), dig(finding, "line")
        where = f" ({file}:{line})" if file and isinstance(line, int) else f" ({file})" if file else ""
        lines.append(f"- {words}{where}")
    return "\n".join(lines)


def _first(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    for key in keys:
        value = values.get(key)
        if isinstance(value, list) and value:
            parts = [part if isinstance(part, str) else text_or_empty(dig(part, "question")) for part in value]
            value = " ".join(part for part in parts if part)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _changed_lines(values: Mapping[str, Any], patch: str) -> str:
    """A small diff: the first lines that were taken out and put in."""
    if patch:
        lines = [line for line in patch.split("\n") if line[:1] in "+-" and line[:3] not in ("+++", "---", "")]
        return _shorten_lines(lines)
    edits = values.get("edits")
    pairs = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else [values]
    lines = []
    for pair in pairs:
        old, new = (_raw(pair, keys).split("\n") for keys in (_OLD_KEYS, _NEW_KEYS))
        lines += [f"-{line}" for line in old if line] + [f"+{line}" for line in new if line]
    return _shorten_lines(lines)


def _raw(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if isinstance(value := values.get(key), str)), "")


def _patched_files(patch: str, relative: Callable[[str], str]) -> str:
    """The files that a patch names: in the form of codex, or in that of git."""
    found = re.findall(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(\S.*)$", patch, re.MULTILINE)
    return ", ".join(relative(path.strip()) for path in dict.fromkeys(found)) or "files"


def _shorten_lines(lines: list[str], *, from_end: bool = False) -> str:
    omitted_count = len(lines) - _MAX_LINES
    part = lines[-_MAX_LINES:] if from_end else lines[:_MAX_LINES]
    part = [line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…" for line in part]
    if omitted_count > 0:
        note = f"… {omitted_count} more line{'s' * (omitted_count != 1)}"
        part = [note, *part] if from_end else [*part, note]
    return "\n".join(part)


def shortened(row: Row) -> Row:
    """Within the limits of a row. Not before secrets are redacted: a part of one cannot be found any more."""
    return replace(row, text=row.text[:MAX_TEXT_LENGTH], detail=row.detail[:MAX_DETAIL_LENGTH])


# -- rows -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class RowBuilder:
    """Turns steps into rows, in order. A row that `is_running` comes again when its action has ended."""

    # folders whose prefix is left out of paths: the workspace, the checkout
    roots: tuple[str, ...] = ()
    _message: list[str] = field(default_factory=list)
    _message_length: int = 0
    _is_thought: bool = False
    _running: dict[str, Row] = field(default_factory=dict)
    # the last message or problem: some programs print it twice
    _last: str = ""
    _last_thought: str = ""

    def add(self, step: Step) -> Iterator[Row]:
        match step:
            case Said(text, is_piece, is_thought):
                if self._message and self._is_thought is not is_thought:
                    yield from self._message_row()
                if self._message_length < _MAX_MESSAGE_LENGTH:
                    self._message.append(text)
                    self._message_length += len(text)
                self._is_thought = is_thought
                if not is_piece:
                    yield from self._message_row()
            case ToolStarted(id, name, values):
                yield from self._message_row()
                row = tool_row(name, values, self.relative)
                if row is not None and row.kind is RowKind.SAID:
                    # an answer by a tool, which the program may repeat as a message
                    self._last = row.text.strip()
                    yield row
                elif row is not None and id not in self._running:
                    if len(self._running) >= _MAX_RUNNING:
                        self._running.pop(next(iter(self._running)))
                    row = replace(row, text=row.text[:_MAX_ACTION_LENGTH])
                    self._running[id] = row
                    yield replace(row, is_running=True)
            case ToolEnded(id, output, exit_code, has_failed):
                yield from self._message_row()
                if row := self._running.pop(id, None):
                    yield self._ended(row, output, exit_code, has_failed)
            case Problem(text):
                yield from self._message_row()
                if text.strip() and text.strip() != self._last:
                    self._last = text.strip()
                    yield Row(RowKind.ERROR, self._last)

    def end(self) -> Iterator[Row]:
        """The rest, when the program has ended."""
        yield from self._message_row()
        yield from self._running.values()
        self._running.clear()

    def relative(self, text: str) -> str:
        """A path, or a command with paths, without the folder in which the agent works."""
        for root in (root for root in self.roots if root not in ("", "/")):
            text = re.sub(rf"^cd (['\"]?){re.escape(root)}\1 *(?:&&|;) *", "", text)
            text = text.replace(f"{root}/", "").replace(root, ".")
        return text

    def _without_roots(self, line: str) -> str:
        """A line of output with relative paths. The folder itself stays, as `pwd` prints it."""
        for root in (root for root in self.roots if root not in ("", "/")):
            line = line.replace(f"{root}/", "")
        return line

    def _message_row(self) -> Iterator[Row]:
        text, kind = "".join(self._message).strip(), RowKind.THOUGHT if self._is_thought else RowKind.SAID
        self._message.clear()
        self._message_length = 0
        if not text or text in (self._last, self._last_thought if self._is_thought else ""):
            return
        if self._is_thought:
            self._last_thought = text
            # some programs write the first line in bold
            yield Row(kind, text.replace("**", ""))
        else:
            self._last = text
            yield Row(kind, readable_answer(text))

    def _ended(self, row: Row, output: str, exit_code: int | None, has_failed: bool) -> Row:
        # the content of a file that was read is of no interest, an error is
        is_shown = row.kind in (RowKind.RAN, RowKind.USED) or has_failed or exit_code
        shows_output = is_shown and output.strip() not in _NO_OUTPUT
        lines = [line.rstrip() for line in output.split("\n") if line.strip()] if shows_output else []
        lines = [self._without_roots(line) for line in lines]
        detail = _shorten_lines(lines, from_end=True)[-MAX_DETAIL_LENGTH:] or row.detail
        return replace(row, detail=detail, exit_code=exit_code, has_failed=has_failed and exit_code is None)


# -- Claude Code's form -----------------------------------------------------------------------------
# Several programs print their events as Claude Code does.

_EXIT_CODE = re.compile(r"^(?:Error: )?Exit code:? (\d{1,3})$", re.MULTILINE | re.IGNORECASE)


def claude_steps(event: Json) -> Iterator[Step]:
    content = dig(event, "message", "content")
    parts = content if isinstance(content, list) else []
    match event.get("type"):
        case "assistant":
            if isinstance(content, str):
                yield Said(content)
            for part in parts:
                yield from _assistant_part(part)
        case "user":
            for part in parts:
                if dig(part, "type") == "tool_result":
                    yield _tool_result(part)


def _assistant_part(part: Any) -> Iterator[Step]:
    match part:
        case {"type": "text", "text": str(text)}:
            yield Said(text)
        case {"type": "thinking", "thinking": str(text)}:
            yield Said(text, is_thought=True)
        case {"type": "tool_use", "id": str(id), "name": str(name)}:
            values = part.get("input")
            yield ToolStarted(id, name, values if isinstance(values, dict) else {})


def _tool_result(part: Any) -> ToolEnded:
    output = joined_text(part.get("content"))
    is_error = part.get("is_error") is True
    found = _EXIT_CODE.search(output[:200]) if is_error else None
    if found:
        output = output[: found.start()] + output[found.end() :]
    code = int(found[1]) if found else None
    return ToolEnded(str(part.get("tool_use_id")), output, code, has_failed=is_error)


def joined_text(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else dig(part, "text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


# Gemini CLI and its relatives print this in place of an empty output, and else no exit code.
_SILENT_COMMAND = re.compile(r"Command exited with code: (-?\d{1,4})")


def with_code_of_silent_command(step: ToolEnded) -> ToolEnded:
    """With the exit code of a command that failed and printed nothing."""
    match = _SILENT_COMMAND.fullmatch(step.output.strip())
    return replace(step, output="", exit_code=int(match[1])) if match else step


def as_values(value: Any) -> Mapping[str, Any]:
    """The arguments of a tool: an object, or its JSON as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {"command": value}
    return value if isinstance(value, dict) else {}
