"""A laboratory: a scratch home, a scratch repository, agents written as Python text, and burnish at work on them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from burnish.cli.main import main
from burnish.errors import BurnishError
from burnish.user_settings import user_folder
from testing.children import record_child
from testing.fork_server import ForkedProcess, shared_server
from testing.userrepo import UserRepo

# What every agent of the laboratory does before and after its own text: it signs in and out.
FRAME = """
import json, os, pathlib, re, sys, time
prompt = sys.stdin.read()
here = {"phase": os.environ["BURNISH_PHASE"], "task": os.environ["BURNISH_TASK"],
        "cycle": int(os.environ["BURNISH_CYCLE"]), "agent": NAME, "pid": os.getpid(), "prompt": prompt,
        "cwd": os.getcwd()}
cycle, phase, task = here["cycle"], here["phase"], here["task"]
app = pathlib.Path("app.py")
def sign(at):
    fd = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, (json.dumps({**here, "at": at, "time": time.time()}) + "\\n").encode())
    os.close(fd)
number = (re.search(r"burnish-(?:verdict|disputes)[ \\t]+([0-9a-zA-Z_-]{6,})", prompt) or [None, "none"])[1]
prior = sorted(set(re.findall(r"\\bF\\d+\\b", prompt)))
def block(reply, number=number):
    return "```burnish-verdict " + number + "\\n" + json.dumps(reply) + "\\n```"
def verdict(word, summary="said the judge", findings=(), **more):
    reply = {"verdict": word, "summary": summary, "inspected": ["app.py"], "compliance": [], "findings": list(findings)}
    reply["prior"] = [{"id": id, "state": "open" if findings else "resolved"} for id in prior]
    return block({**reply, **more})
flaw = {"category": "code", "severity": "error", "title": "Zero is not handled", "description": "b may be 0",
        "file": "app.py", "line": 4}
sign("start")
exec(compile(TEXT, NAME, "exec"))
sign("end")
"""

# Plants a defect, and fixes it when asked to.
AUTHOR = """
text = app.read_text()
if phase == "implement":
    app.write_text(text + f"def div_{task}(a, b):\\n    return a / b  # BUG\\n")
else:
    app.write_text(text.replace("a / b  # BUG", "a / b if b else None"))
print("done:", phase)
"""
# Rejects the defect, approves what has none.
CRITIC = """
print(verdict("changes_requested", "one error", [flaw]) if "# BUG" in app.read_text() else verdict("approved", "good"))
"""
APPROVE = 'print(verdict("approved", "good"))'
REJECT = 'print(verdict("changes_requested", "not yet", [flaw]))'


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Lab:
    root: Path
    repo: UserRepo
    env: dict[str, str]
    extra: str = ""
    names: list[str] = field(default_factory=list)
    # every command in a process of its own: this process then never has the database open
    own_processes: bool = False

    @classmethod
    def make(
        cls,
        root: Path,
        *,
        author: str = AUTHOR,
        judge: str = CRITIC,
        extra: str = "",
        confined: bool = False,
        own_processes: bool = False,
    ) -> Lab:
        """`extra` is more of burnish.yaml; without a `checks:` of its own nothing is checked.

        Agents run unconfined unless `confined`: what they try must not be stopped by the sandbox instead of by us.
        """
        home = root / "home"
        home.mkdir(parents=True, exist_ok=True)
        # nobody who runs the tests wants to be told of it by the desktop
        env = {"HOME": str(home), "BURNISH_HOME": str(home / "burnish"), "BURNISH__NOTIFY__DESKTOP": "false"}
        if confined:
            # agents keep their log in the laboratory, and it may lie below /tmp, which they have for themselves
            folder = user_folder(os.environ | env)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.yaml").write_text(f"sandbox: {{write: ['{root}']}}\n")
        else:
            env["BURNISH__SANDBOX__MODE"] = "off"
        lab = cls(root, UserRepo.make(root / "repo"), env, extra, own_processes=own_processes)
        lab.agent("robot", author)
        lab.agent("judge", judge)
        lab.settle(extra)
        return lab

    def agent(self, name: str, text: str) -> None:
        """Write an agent anew; takes effect at its next call."""
        log = str(self.root / "calls.jsonl")
        (self.root / f"{name}.py").write_text(f"NAME, LOG, TEXT = {name!r}, {log!r}, {text!r}\n{FRAME}")
        if name not in self.names:
            self.names.append(name)

    def settings(self, extra: str) -> str:
        entries = "".join(
            f"  {n}: {{kind: command, argv: ['{sys.executable}', -I, -S, '{self.root}/{n}.py']}}\n" for n in self.names
        )
        review = "" if "review:" in extra else "review: {agents: [judge]}\n"
        checks = "" if "checks:" in extra else "checks: {test: null, lint: null}\n"
        return f"agent: robot\nagents:\n{entries}{review}{checks}{extra}"

    def settle(self, extra: str) -> None:
        """New settings, committed by the user."""
        self.extra = extra
        self.commit_settings(self.settings(extra))

    def commit_settings(self, text: str) -> None:
        """A burnish.yaml in the words of the test, committed and accepted by the user."""
        self.repo.commit({"burnish.yaml": text}, "settings")
        self.trust()

    def user_settings(self, text: str) -> None:
        """The user's own config.yaml: for what no repository may set."""
        own = Path(self.env["HOME"]) / ".config" / "burnish" / "config.yaml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text)

    def trust(self) -> None:
        """The user accepts the settings as they are; those that are wrong are refused, which the test is about."""
        if self.own_processes:
            self.burnish("trust", code=None)
            return
        with mock.patch.dict(os.environ, self.env), contextlib.suppress(BurnishError):
            self.repo.trust()

    # what a person types

    def burnish(self, *argv: str, code: int | None = 0) -> Said:
        """In this process, which is fast; it must end with `code`, unless that is None."""
        if self.own_processes:
            return self.apart(*argv, code=code)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace") for _ in range(2))
        streams = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err))
        with mock.patch.dict(os.environ, self.env), streams[0], streams[1]:
            ended = main(["-C", str(self.repo.path), *argv])
        heard = []
        for stream in (out, err):
            stream.flush()
            heard.append(stream.buffer.getvalue().decode(errors="replace"))  # type: ignore[attr-defined]
        return self.judged(Said(ended, *heard), argv, code)

    def start(self, *argv: str, **env: str) -> ForkedProcess | subprocess.Popen[str]:
        """As a process of its own, for what only processes can show."""
        variables = {**os.environ, **self.env, **env}
        if not shared_server().can_start(variables):
            return self.spawn(*argv, **env)
        process = shared_server().start(["-C", str(self.repo.path), *argv], variables)
        record_child(process)
        return process

    def spawn(self, *argv: str, **env: str) -> subprocess.Popen[str]:
        """As a new interpreter, whose command line and variables others can see."""
        words = [sys.executable, "-m", "burnish.cli", "-C", str(self.repo.path), *argv]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, env={**os.environ, **self.env, **env}, text=True, **pipes)

    def apart(
        self,
        *argv: str,
        code: int | None = 0,
        timeout: float = 60,
        kill_when: Callable[[], bool] | None = None,
        **env: str,
    ) -> Said:
        """As a process of its own, to its end; killed as soon as `kill_when` is true, if it has not ended by then."""
        with self.start(*argv, **env) as process:
            if kill_when is not None:
                self.until(lambda: process.poll() is not None or kill_when())
                process.kill()
            out, err = process.communicate(timeout=timeout)
        return self.judged(Said(process.wait(), out, err), argv, code)

    def judged(self, said: Said, argv: tuple[str, ...], code: int | None) -> Said:
        # what an agent printed is quoted behind a bar
        own = [line for line in said.err.splitlines() if not line.lstrip().startswith("│")]
        assert "Traceback" not in "\n".join(own), said.err
        assert "bug in burnish" not in said.err, (argv, said)
        assert code is None or said.code == code, (argv, said)
        return said

    def add(self, title: str = "Add division", *argv: str) -> str:
        return str(self.burnish("add", title, "--json", *argv).json["id"])

    def task(self, number: str | int = 1) -> dict[str, Any]:
        tasks = {task["id"]: task for task in self.burnish("status", "--json").json["tasks"]}
        return dict(tasks[str(number)])

    def show(self, number: str | int = 1) -> dict[str, Any]:
        return dict(self.burnish("show", str(number), "--json").json)

    def events(self, *kinds: str, task: str | int | None = None) -> list[dict[str, Any]]:
        argv = ["events", "--json"] if task is None else ["events", str(task), "--json"]
        return [e for e in self.burnish(*argv).json["events"] if not kinds or e["type"] in kinds]

    # what came of it

    def calls(self, at: str = "start") -> list[dict[str, Any]]:
        """What the agents signed, in the order of time."""
        log = self.root / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [call for line in lines if (call := json.loads(line))["at"] == at]

    def paid(self) -> Counter[tuple[str, int, str, str]]:
        """How often each agent worked a phase to its end."""
        return Counter((c["task"], c["cycle"], c["phase"], c["agent"]) for c in self.calls("end"))

    def refs(self, prefix: str) -> dict[str, str]:
        lines = self.repo.git("for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
        return dict(line.split(" ") for line in lines)

    def commits(self, branch: str) -> list[str]:
        """Subjects on a branch beyond main, oldest first."""
        return self.repo.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()

    def phases_committed(self, branch: str) -> list[tuple[str, str]]:
        """(cycle, phase) of every commit on the branch, from its trailers."""
        shape = "%(trailers:key=Burnish-Cycle,valueonly,separator=)|%(trailers:key=Burnish-Phase,valueonly,separator=)"
        lines = self.repo.git("log", "--reverse", f"--format={shape}", f"main..{branch}").splitlines()
        return [(line.split("|")[0], line.split("|")[1]) for line in lines if line]

    def text(self, branch: str, path: str = "app.py") -> str:
        return self.repo.git("show", f"{branch}:{path}")

    def processes(self) -> list[str]:
        """Command lines of everything alive that belongs to this laboratory."""
        mine = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = " ".join(process.cmdline())
                if str(self.root) in words and process.pid != os.getpid() and process.status() != "zombie":
                    mine.append(words)
        return mine

    def until(self, true: Callable[[], object], seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.02)
