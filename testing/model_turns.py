"""What a program sends to a model, in four dialects, as one `Turn`; and what the model may do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    name: str
    # `custom` tools of the responses dialect take plain text instead of JSON
    kind: str = "function"
    parameters: Json = field(default_factory=dict)
    # the group of tools that it belongs to, which the responses dialect names apart
    namespace: str = ""


@dataclass(frozen=True)
class Turn:
    """One request to the model."""

    dialect: str
    model: str
    # all that was said by the user's side, results of tools aside
    prompt: str
    # how often the model has spoken since the prompt
    number: int
    tools: Mapping[str, Tool]
    stream: bool
    key: str = ""
    body: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Answer:
    """An object, by the program's tool for that if it has one."""

    value: Json


@dataclass(frozen=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True)
class Shell:
    command: str


@dataclass(frozen=True)
class Read:
    path: str
    # what the model says in the same answer, before the tool
    words: str = ""


@dataclass(frozen=True)
class Edit:
    """Replace one piece of a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Call:
    """A tool of an MCP server, which programs offer with the name of the server in front."""

    server: str
    name: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Refuse:
    status: int
    message: str = "the model says no"
    # further fields of the error object, e.g. its type and the time of a reset
    details: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    seconds: float = 60.0


@dataclass(frozen=True)
class Cut:
    """Begin to answer, then break off."""


@dataclass(frozen=True)
class Use:
    """A tool to be called, ready for the wire."""

    name: str
    arguments: Json
    text: str | None = None
    namespace: str = ""
    # said in the same answer, before the tool is called
    words: str = ""


Move = Say | Answer | Write | Read | Edit | Shell | Call | Refuse | Hang | Cut
Brain = Callable[[Turn], Move]

WRITERS = ("Write", "write", "write_file", "create", "create_file", "apply_patch", "editor")
READERS = ("Read", "read", "read_file", "view", "read_files")
EDITORS = ("Edit", "edit", "replace", "editor", "apply_patch")
SHELLS = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "local_shell", "run_commands")
GUESSES = {"messages": "Write", "chat": "write", "responses": "write_file", "gemini": "write_file"}
ANSWERS = ("StructuredOutput", "structured_output")
_VALUES: dict[str, Any] = {"string": "x", "boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}


def turn_of(path: str, body: Json, key: str) -> Turn | None:
    """None if the path is no model's."""
    if path.endswith("/messages"):
        return _turn("messages", body, key, list(_messages(body)), _tools(body))
    if path.endswith("/chat/completions"):
        return _turn("chat", body, key, list(_messages(body)), _tools(body))
    if path.endswith("/responses"):
        return _turn("responses", body, key, list(_items(body)), _tools(body))
    if path.endswith((":generateContent", ":streamGenerateContent")):
        model = path.rsplit("/", 1)[-1].split(":")[0]
        told = {**body, "model": model, "stream": "stream" in path.rsplit(":", 1)[-1]}
        return _turn("gemini", told, key, list(_contents(body)), _declared(body))
    return None


def _turn(dialect: str, body: Json, key: str, said: list[tuple[str, str]], tools: dict[str, Tool]) -> Turn:
    # the last: some programs begin with a talk of their own
    begun = max((n for n, (role, _) in enumerate(said) if role == "user"), default=0)
    return Turn(
        dialect=dialect,
        model=str(body.get("model", "")),
        prompt="\n".join(text for role, text in said if role == "user"),
        number=sum(role == "model" for role, _ in said[begun:]),
        tools=tools,
        stream=bool(body.get("stream")),
        key=key,
        body=body,
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def _messages(body: Json) -> Iterator[tuple[str, str]]:
    """The messages and the chat dialect differ only in how results of tools come back."""
    for message in body.get("messages", []):
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            yield "model", _text(content)
        elif role == "user":
            parts = content if isinstance(content, list) else []
            if not any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts):
                yield "user", _text(content)


def _items(body: Json) -> Iterator[tuple[str, str]]:
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item, following in zip(items, [*items[1:], {}], strict=True):
        kind, role = item.get("type", "message"), item.get("role")
        if kind.endswith("_call"):
            yield "model", ""
        elif kind == "message" and role == "assistant":
            # words before a tool are part of the same answer
            if not str(following.get("type")).endswith("_call"):
                yield "model", ""
        elif kind == "message" and role == "user":
            yield "user", _text(item.get("content"))


def _contents(body: Json) -> Iterator[tuple[str, str]]:
    for content in body.get("contents", []):
        parts = content.get("parts", [])
        if content.get("role") == "model":
            yield "model", ""
        elif not any("functionResponse" in part for part in parts):
            yield "user", _text(parts)


def _tools(body: Json, namespace: str = "") -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            found |= _tools(tool, str(tool.get("name") or ""))
            continue
        told = tool.get("function", tool)
        name = str(told.get("name") or tool.get("type"))
        schema = told.get("parameters") or told.get("input_schema") or {}
        found[name] = Tool(name, str(tool.get("type") or "function"), schema, namespace)
    return found


def _declared(body: Json) -> dict[str, Tool]:
    tools = [f for tool in body.get("tools") or [] for f in tool.get("functionDeclarations", [])]
    return {
        f["name"]: Tool(f["name"], "function", f.get("parametersJsonSchema") or f.get("parameters", {})) for f in tools
    }


def use_of(move: Write | Read | Edit | Shell | Answer | Call, turn: Turn) -> Use | None:
    """The program's own tool for a move. One that it does not offer is called all the same: models do that."""
    match move:
        case Answer(value):
            name = next((name for name in ANSWERS if name in turn.tools), None)
            return Use(name, value) if name else None
        case Shell(command):
            return _shell(command, turn)
        case Call(server, name, arguments):
            return _call(f"mcp__{server}", name, arguments, turn)
        case Read(path, words):
            return replace(_read(path, turn), words=words)
        case Edit():
            return _edit(move, turn)
        case Write(path, text):
            name = next((name for name in WRITERS if name in turn.tools), None)
            if name is None and (turn.dialect == "messages" or not any(name in turn.tools for name in SHELLS)):
                return Use(GUESSES.get(turn.dialect, "write_file"), {"file_path": path, "content": text})
            if name is None:
                return _shell(f"cat > '{path}' <<'END_OF_FILE'\n{text}END_OF_FILE\n", turn)
            if name == "apply_patch":
                return _patch(path, text, turn.tools[name])
            return Use(name, _filled(turn.tools[name], {_PATHS: path, _TEXTS: text}))


def _read(path: str, turn: Turn) -> Use:
    name = next((name for name in READERS if name in turn.tools), None)
    return Use(name, _filled(turn.tools[name], {_PATHS: path})) if name else _shell(f"cat {path}", turn)


def _edit(move: Edit, turn: Turn) -> Use:
    name = next((name for name in EDITORS if name in turn.tools), None)
    lines = "".join(
        f"{sign}{line}\n" for sign, text in (("-", move.old), ("+", move.new)) for line in text.splitlines()
    )
    patch = f"*** Begin Patch\n*** Update File: {move.path}\n@@\n{lines}*** End Patch\n"
    if name == "apply_patch":
        return _patch_use(patch, turn.tools[name])
    if name is None:
        # codex understands this line in a shell
        return _shell(f"apply_patch <<'END_OF_PATCH'\n{patch}END_OF_PATCH\n", turn)
    return Use(name, _filled(turn.tools[name], {_PATHS: move.path, _OLD: move.old, _NEW: move.new}))


_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text")
_PATHS = ("file_path", "filePath", "path", "absolute_path", "filename")
_TEXTS = ("content", "contents", "file_text", "text", "new_text")


def _shell(command: str, turn: Turn) -> Use:
    name = next((name for name in SHELLS if name in turn.tools), None)
    if name is None:
        guess = {"messages": "Bash", "responses": "exec_command", "gemini": "run_shell_command"}
        return Use(guess.get(turn.dialect, "bash"), {"command": command, "cmd": command, "description": "try it"})
    return Use(
        name, _filled(turn.tools[name], {("command", "cmd", "script", "commands"): command, ("description",): "try it"})
    )


def _call(prefix: str, name: str, arguments: Json, turn: Turn) -> Use:
    """By its name in its group of tools, else by both names in one."""
    if any(tool.namespace.startswith(prefix) for tool in turn.tools.values()):
        group = next(tool.namespace for tool in turn.tools.values() if tool.namespace.startswith(prefix))
        return Use(name, arguments, namespace=group)
    return Use(f"{prefix}__{name}", arguments)


def _patch(path: str, text: str, tool: Tool) -> Use:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return _patch_use(f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n", tool)


def _patch_use(patch: str, tool: Tool) -> Use:
    key = next(iter(tool.parameters.get("properties", {})), "input")
    return Use(tool.name, {key: patch}, text=patch if tool.kind == "custom" else None)


def _filled(tool: Tool, known: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    """Arguments by the tool's own schema; what else it requires gets something harmless."""
    properties = tool.parameters.get("properties", {})
    found: dict[str, Any] = {}
    for key, told in properties.items():
        value = next((value for names, value in known.items() if key in names), None)
        kind = str(told.get("type", "string")).lower()
        if value is not None:
            # one word of an argv, or one command of several
            words = [value] if key == "commands" else ["bash", "-c", value]
            found[key] = words if kind == "array" else value
        elif kind == "array" and dict(told.get("items") or {}).get("properties"):
            # a list of files or of edits: of one
            found[key] = [_filled(Tool("", parameters=told["items"]), known)]
        elif key in tool.parameters.get("required", []):
            found[key] = next(iter(told.get("enum", [])), _VALUES.get(kind, "x"))
    return found
