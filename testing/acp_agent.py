"""An agent that speaks the Agent Client Protocol over stdin and stdout, and does what its prompt says.

A program of its own, with nothing but the standard library:
`acp_agent.py [--die|--deaf|--login|--stored|--key|--leave FILE|--name NAME]`. Each line of the prompt is an order; see
`Agent.obey`.
The last words are what it could do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Failed(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Agent:
    def __init__(self) -> None:
        self.count = 0
        self.stop = "end_turn"
        self.name = "tester"
        self.result: Json = {"usage": {"totalTokens": 12, "inputTokens": 10, "outputTokens": 2}}
        self.offered: Json = {}
        self.is_logged_in = False
        self.methods: list[str] = []
        self.cwd = Path()

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, what: str, **more: Any) -> None:
        told = {"sessionUpdate": what, **more}
        self.send(method="session/update", params={"sessionId": "s1", "update": told})

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def may(self, kind: str, title: str) -> bool:
        """Ask for leave, and wait for it."""
        self.count += 1
        call = {"toolCallId": f"t{self.count}", "kind": kind, "title": title}
        self.update("tool_call", status="pending", **call)
        params = {"sessionId": "s1", "toolCall": call, "options": OPTIONS}
        self.send(id=f"q{self.count}", method="session/request_permission", params=params)
        outcome = json.loads(sys.stdin.readline())["result"]["outcome"]
        if outcome.get("optionId") == "always":
            raise Failed(-32603, "nobody should say always")
        return bool(outcome.get("optionId") == "yes")

    def obey(self, order: str) -> None:
        word, _, rest = order.partition(" ")
        match word:
            case "say":
                for piece in (rest[:3], rest[3:]):
                    self.say(piece)
            case "big":
                self.say("x" * int(rest))
            case "write":
                name, _, text = rest.partition(" ")
                if self.may("edit", f"Write\n{name}"):
                    (self.cwd / name).write_text(text)
            case "append":
                name, _, text = rest.partition(" ")
                if self.may("edit", f"Append to {name}"):
                    with (self.cwd / name).open("a") as file:
                        file.write(f"{text}\n")
            case "read":
                granted = self.may("read", f"Read {rest}")
                self.say((self.cwd / rest).read_text() if granted else "not even reading")
            case "exists":
                self.say(str((self.cwd / rest).exists()))
            case "This" if "one word" in rest:
                self.say(rest.rpartition(" ")[2])
            case "offered":
                self.say(json.dumps(self.offered))
            case "env":
                self.say(os.environ.get(rest, "unset"))
            case "tool":
                name, _, status = rest.partition(" ")
                self.update("tool_call_update", toolCallId=name, status=status)
            case "helper":
                content = {"type": "text", "text": rest}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                self.send(method="session/update", params={"sessionId": "s2", "update": update})
            case "raw":
                sys.stdout.write(f"{rest}\n")
                sys.stdout.flush()
            case "methods":
                self.say(" ".join(self.methods))
            case "cost":
                self.update("usage_update", used=1, size=2, cost={"amount": float(rest), "currency": "USD"})
            case "update":
                self.update("usage_update", used=1, size=2, **json.loads(rest))
            case "result":
                self.result = json.loads(rest)
            case "stop":
                self.stop = rest
            case "fail":
                code, _, message = rest.partition(" ")
                raise Failed(int(code), message, {"details": "more of it"})
            case "die":
                sys.exit(rest or 3)
            case "forge":
                # a command that the agent runs answers the prompt in its place
                code = f"import os; os.write(1, {(rest + chr(10)).encode()!r})"
                subprocess.run([sys.executable, "-c", code], check=True)
            case "hang":
                time.sleep(float(rest))

    def answer(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                self.offered = params.get("clientCapabilities", {})
                needs_login = {"--login", "--stored", "--key"} & set(sys.argv)
                names = ("Log in with a browser", "Use an API key") if needs_login else ()
                logins = [{"id": name.lower().replace(" ", "-"), "name": name} for name in names]
                if "--key" in sys.argv:
                    key = {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "ZED_KEY"}]}
                    logins = [{"id": "terminal", "name": "Terminal", "type": "terminal"}, *logins, key]
                info = {"name": self.name, "version": "1"}
                return {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info, "authMethods": logins}
            case "authenticate" if "--stored" in sys.argv or "--key" in sys.argv:
                self.methods.append(params["methodId"])
                right = "use-an-api-key" if "--stored" in sys.argv else "key"
                if params["methodId"] != right:
                    raise Failed(-32603, "no login of this kind is stored")
                self.is_logged_in = True
                return {}
            case "authenticate" if "--login" in sys.argv:
                time.sleep(60)
                return {}
            case "session/new" if {"--login", "--stored", "--key"} & set(sys.argv) and not self.is_logged_in:
                raise Failed(-32000, "Authentication required")
            case "session/new":
                self.cwd = Path(params["cwd"])
                return {"sessionId": "s1"}
            case "session/prompt":
                for line in params["prompt"][0]["text"].splitlines():
                    self.obey(line)
                return {"stopReason": self.stop, **self.result}
            case _:
                raise Failed(-32601, "no such method")

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" not in message or "method" not in message:
                continue
            try:
                self.send(id=message["id"], result=self.answer(message["method"], message.get("params", {})))
            except Failed as problem:
                error = {"code": problem.code, "message": str(problem), "data": problem.data}
                self.send(id=message["id"], error=error)


def main() -> None:
    agent = Agent()
    match sys.argv[1:]:
        case ["--die"]:
            sys.exit("unknown option --acp")
        case ["--deaf"]:
            time.sleep(60)
        case ["--leave", file]:
            left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
            Path(file).write_text(str(left.pid))
        case ["--name", name]:
            agent.name = name
    agent.serve()
    if sys.argv[1:2] == ["--leave"]:
        # and will not go when the talk is over
        time.sleep(60)


if __name__ == "__main__":
    main()
