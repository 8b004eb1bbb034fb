"""A model on loopback whose thoughts are a Python function: it drives the real agent programs in `make agents`.

Speaks Anthropic's messages, OpenAI's chat completions and responses, and Gemini's generateContent, whole or as a
stream. The program's own tools are called by their own schemas, so that one `Brain` drives every program.

    with ModelServer(brain) as server:
        ... ANTHROPIC_BASE_URL=server.url ...
"""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from testing import model_wire as wire
from testing.model_turns import Answer, Brain, Cut, Hang, Move, Refuse, Say, Turn, turn_of, use_of


class ModelServer:
    """Listens while the block lasts. `turns` is what it was asked; any key with "bad" in it is refused."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.turns: list[tuple[Turn, Move]] = []
        # what it billed for, and how: half of the input from the cache, so many tokens of thoughts per answer
        self.billed: list[wire.TokensBilled] = []
        self.thoughts, self.caches = 0, False
        # sent with each answer, e.g. the used share of a plan
        self.headers: dict[str, str] = {}
        self.strangers: list[str] = []
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        """From now on nobody is at home: connections are refused."""
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def count(self, turn: Turn, size: int) -> wire.TokensBilled:
        return wire.TokensBilled(turn.model, size, size // 2 if self.caches else 0, self.thoughts)

    def move(self, turn: Turn) -> Move:
        move = Refuse(401, "invalid api key") if "bad" in turn.key else self.brain(turn)
        self.turns.append((turn, move))
        return move


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        model = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._object(200, {})

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            names = [{"id": "scripted-model", "object": "model", "owned_by": "test", "created": 1}]
            self._object(200, {"object": "list", "data": names, "models": [], "has_more": False})
        else:
            self._stranger()

    def do_POST(self) -> None:
        raw = self._body()
        path = self.path.split("?")[0]
        size = max(1, len(raw) // 4)
        if path.endswith(("/count_tokens", ":countTokens")):
            return self._object(200, {"input_tokens": size, "totalTokens": size})
        names = ("authorization", "x-api-key", "x-goog-api-key")
        key = " ".join(self.headers.get(name) or "" for name in names)
        try:
            turn = turn_of(path, json.loads(raw or b"{}"), key)
        except ValueError:
            turn = None
        if turn is None:
            return self._stranger()
        try:
            self._answer(turn, self.model.move(turn), self.model.count(turn, size))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        return None

    def _answer(self, turn: Turn, move: Move, count: wire.TokensBilled) -> None:
        match move:
            case Refuse(status, message, details):
                self._object(status, wire.error(turn, status, message, details))
            case Hang(seconds):
                self.close_connection = True
                self.model.over.wait(seconds)
            case Cut():
                self.close_connection = True
                if turn.stream and turn.dialect != "gemini":
                    self._stream(turn, "cut", count, only=1)
                elif turn.stream:
                    self._begin()
            case _:
                said = _said(move, turn)
                self.model.billed.append(count)
                if turn.stream:
                    self._stream(turn, said, count)
                else:
                    self._object(200, wire.whole(turn, said, count))

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _stranger(self) -> None:
        self.model.strangers.append(f"{self.command} {self.path}")
        self._object(404, {"error": {"message": "no such path", "type": "not_found_error"}})

    def _object(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self._plan_headers()
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _plan_headers(self) -> None:
        for name, value in self.model.headers.items():
            self.send_header(name, value)

    def _begin(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self._plan_headers()
        self.end_headers()
        self.wfile.flush()

    def _stream(self, turn: Turn, said: wire.Said, count: wire.TokensBilled, only: int | None = None) -> None:
        self._begin()
        for number, (name, data) in enumerate(wire.stream(turn, said, count)):
            if number == only:
                return
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{f'event: {name}' + chr(10) if name else ''}data: {text}\n\n".encode())
            self.wfile.flush()


def _said(move: Move, turn: Turn) -> wire.Said:
    if isinstance(move, Say):
        return move.text
    assert not isinstance(move, Refuse | Hang | Cut)
    use = use_of(move, turn)
    if use is not None:
        return use
    assert isinstance(move, Answer)
    return json.dumps(move.value)
