"""Look at a real program at work, as a person would: `python -m tools.agent_views [NAME…] [--to FOLDER]`.

For each program a task is run in tmux at 80 x 24 and at 200 x 50, with `run`, `run -v`, `log -f` and `log`, and the
board, the story and the Log tab are opened in Chromium. What was on the screens is left in FOLDER/NAME: captures as
text, pages as pictures. The model is scripted, and its author reads a file, runs a command that fails, edits the file,
and is sent back once.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from testing.browser import browser, logged_in
from testing.lab import Lab
from testing.model_turns import Brain, Move, Say, Turn
from testing.serving import Served, serving
from tools.agent_bench import Bench, bench, script
from tools.agent_money import with_priced_model
from tools.agent_programs import PROGRAMS, Program
from tools.agent_trials import judgement
from tools.agent_work import APP, BAD, GOOD, OLD, working

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZES = ((80, 24), (200, 50))
# of the model before each answer, so that each state can be seen
SECONDS = 1.5
PATIENCE = 500
# pictures of each page while the agents work
ROUNDS = 4
STEP = re.compile(r"^[\u2800-\u28ff].*\b(?:read|reading|ran|running|edited|editing|Verdict)\b", re.MULTILINE)
TITLE = "Divide numbers and refuse to divide by zero"


def brain(program: Program, checkout: Path) -> Brain:
    """The author's and the reviewer's model. Only tasks with "twice" in their title are sent back."""

    def move(turn: Turn) -> Move:
        number = re.search(r"burnish-verdict ([0-9a-f]{12,})", turn.prompt)
        if not number and not turn.tools and program.name not in ("aider", "codex"):
            return Say("ok")  # a title for the session, and such
        time.sleep(SECONDS)
        if number:
            bad = bool(re.search(r"^\+.*# BUG", turn.prompt, re.MULTILINE))
            return judgement(turn, number[1], bad, {"file": "app.py", "line": 6, "quote": BAD.strip()})
        is_fix = "Zero is not handled" in turn.prompt
        old, new = (BAD, GOOD) if is_fix else (OLD, BAD if "twice" in turn.prompt else GOOD)
        return working(program, checkout, old, new)(turn)

    return move


@dataclass
class Tmux:
    """A shell in a terminal of one size."""

    socket: str
    lab: Lab
    size: tuple[int, int]
    folder: Path
    seen: dict[str, list[str]] = field(default_factory=dict)

    def call(self, *argv: str) -> str:
        tmux = ["tmux", "-L", self.socket, "-f", "/dev/null", *argv]
        env = {**os.environ, **self.lab.env, "PS1": "$ ", "TERM": "xterm-256color", "PAGER": "cat"}
        env.pop("TMUX", None)
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        done = subprocess.run(tmux, env=env, cwd=self.lab.repo.path, capture_output=True, text=True, check=False)
        return done.stdout

    def window(self, name: str) -> None:
        size = ("-x", str(self.size[0]), "-y", str(self.size[1]))
        shell = "bash --noprofile --norc"
        if name == "first":
            self.call("new-session", "-d", "-s", "it", "-n", name, *size, shell)
        else:
            self.call("new-window", "-d", "-t", "it", "-n", name, shell)

    def type(self, window: str, command: str) -> None:
        self.call("send-keys", "-t", f"it:{window}", command, "Enter")

    def screen(self, window: str, *, history: bool = False) -> str:
        back = ("-S", "-2000") if history else ()
        return self.call("capture-pane", "-p", "-t", f"it:{window}", *back).rstrip()

    def watch(self, window: str, name: str) -> bool:
        """Store the screen if it differs in more than its seconds; is the command still running?"""
        text = self.screen(window)
        captures = self.seen.setdefault(name, []) if name else [text]
        if not captures or _timeless(captures[-1]) != _timeless(text):
            captures.append(text)
        return not re.search(r"^done-\$$", text, re.MULTILINE)

    def save(self) -> None:
        width = self.size[0]
        for name, captures in self.seen.items():
            parts = [f"──── {number} {'─' * (width - 8)}\n{text}\n" for number, text in enumerate(captures, 1)]
            (self.folder / f"{name}-{width}.txt").write_text("".join(parts))

    def store(self, window: str, name: str) -> None:
        (self.folder / f"{name}-{self.size[0]}.txt").write_text(self.screen(window, history=True) + "\n")


def _timeless(text: str) -> str:
    """Without the time that has passed, and without the spinner."""
    return re.sub(r"\d+ ?s\b|[\u2800-\u28ff]", "", text)


@contextmanager
def tmux(lab: Lab, size: tuple[int, int], folder: Path) -> Iterator[Tmux]:
    terminal = Tmux(f"burnish-{os.getpid()}-{size[0]}", lab, size, folder)
    terminal.window("first")
    terminal.window("second")
    try:
        yield terminal
    finally:
        terminal.save()
        terminal.call("kill-server")


def look(program: Program, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    priced = with_priced_model(program)
    with bench(priced, script()) as it:
        it.server.brain = brain(program, it.repo.path)
        lab = _lab(it)
        for size in SIZES:
            with tmux(lab, size, folder) as terminal:
                _follow(terminal, lab, pages=size == SIZES[0])
                verbose = lab.add(f"{TITLE}, verbose")
                _run(terminal, "first", f"run -v {verbose}", "run-v")
                terminal.store("first", "run-v")


def _lab(it: Bench) -> Lab:
    lab = Lab(it.root, it.repo, {**it.env, "BURNISH_HOME": str(it.home / "burnish")})
    lab.env["BURNISH__NOTIFY__DESKTOP"] = "false"
    lab.repo.commit({"app.py": APP, ".gitignore": "__pycache__/\n"})
    name = it.program.name
    roles = f"agent: {name}\nagents: {{{name}: {{model: {it.program.model}}}}}\nreview: {{agents: [{name}]}}\n"
    lab.commit_settings(f"{roles}checks: {{test: null, lint: null}}\n")
    return lab


def _follow(terminal: Tmux, lab: Lab, *, pages: bool) -> None:
    """`run` and `log -f` side by side, with the pages of the board meanwhile; then `log`."""
    number = lab.add(f"{TITLE}, twice" if pages else TITLE)
    waiting = f"until burnish show {number} | grep -q in_progress; do sleep 0.5; done"
    terminal.type("second", f"clear; {waiting}; clear; burnish log -f {number}; echo done-$")
    if pages:
        with serving(lab) as served, browser() as opened, logged_in(opened, served) as page:
            camera = Camera(page, served, number, terminal.folder)
            _run(terminal, "first", f"run {number}", "run", camera.take_next)
            camera.take_all("after")
    else:
        _run(terminal, "first", f"run {number}", "run")
    terminal.store("first", "run-end")
    terminal.store("second", "log-f")
    _run(terminal, "second", f"log {number}", "")
    terminal.store("second", "log")
    _run(terminal, "second", f"show {number}", "")
    terminal.store("second", "show")


def _run(
    terminal: Tmux, window: str, command: str, name: str, meanwhile: Callable[[str], None] = lambda screen: None
) -> None:
    terminal.call("clear-history", "-t", f"it:{window}")
    terminal.type(window, f"clear; burnish {command}; echo done-$")
    time.sleep(0.5)
    end = time.monotonic() + PATIENCE
    while terminal.watch(window, name):
        assert time.monotonic() < end, f"burnish {command} does not end: {terminal.screen(window)}"
        meanwhile(terminal.screen(window))
        time.sleep(0.3)


@dataclass
class Camera:
    """Pictures of the pages that show a task, one after another while it runs."""

    page: Page
    served: Served
    task: str
    folder: Path
    _taken: int = 0

    def take_next(self, screen: str) -> None:
        """Take the next page, but only while the live line shows what the agent does."""
        names = list(self._addresses())
        round_number, index = divmod(self._taken, len(names))
        if STEP.search(screen) and round_number < ROUNDS:
            self._take(names[index], f"during{round_number + 1}")
            self._taken += 1

    def take_all(self, when: str) -> None:
        for name in self._addresses():
            self._take(name, when)
        # the Log tab shows the last call first
        choice = self.page.locator("#output-choice")
        first = choice.locator("option", has_text=re.compile("cycle 1: implement.*transcript")).first
        choice.select_option(label=first.inner_text())
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=self.folder / f"log-{when}-first.png", full_page=True)

    def _addresses(self) -> dict[str, str]:
        project = f"{self.served.url}/p/{self.served.project}"
        story = f"{project}/t/{self.task}"
        return {"board": project, "story": f"{story}#story", "log": f"{story}#log"}

    def _take(self, name: str, when: str) -> None:
        self.page.goto("about:blank")
        self.page.goto(self._addresses()[name])
        self.page.wait_for_timeout(700)
        self.page.screenshot(path=self.folder / f"{name}-{when}.png", full_page=name != "board")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.agent_views", description=__doc__.split("\n")[0])
    names = [name for name, program in PROGRAMS.items() if not program.unable]
    parser.add_argument("names", nargs="*", choices=[*names, []], help="which programs; all if left out")
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()) / "burnish-views", help="the folder")
    given = parser.parse_args()
    problems = 0
    for name in given.names or names:
        program = PROGRAMS[name]
        begin = time.monotonic()
        problem = program.install()
        if not problem:
            try:
                look(program, given.to / name)
            except Exception as error:  # one program must not end the look at the others
                problem = f"{type(error).__name__}: {error}"
        problems += bool(problem)
        print(f"{name}: {problem or shlex.quote(str(given.to / name))} ({time.monotonic() - begin:.0f} s)", flush=True)
    return int(problems > 0)


if __name__ == "__main__":
    raise SystemExit(main())
