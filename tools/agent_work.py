"""A piece of work in which a program does all that its transcript has rows for."""

from __future__ import annotations

from pathlib import Path

from testing.model_turns import Brain, Edit, Move, Read, Say, Shell, Turn
from tools.agent_programs import Program

APP = "def add(a, b):\n    return a + b\n\n\ndef div(a, b):\n    raise NotImplementedError\n"
OLD, BAD = "    raise NotImplementedError", "    return a / b  # BUG"
GOOD = "    return a / b if b else None"
WORDS = "I will look at the existing code before I change it, and run it once to see what happens."
FAILING = "python3 -c 'import app; app.div(1, 2)'"
PASSING = "python3 -c 'import app; print(app.div(1, 2))'"
LAST_WORDS = "Division works now: I ran it with two numbers."


def working(program: Program, folder: Path, old: str = OLD, new: str = GOOD) -> Brain:
    """It says something and reads a file, runs a command that fails, edits the file, runs one that passes, and ends."""
    # qwen refuses relative paths
    path = str(folder / "app.py") if program.name == "qwen" else "app.py"
    moves = (Read(path, WORDS), Shell(FAILING), Edit(path, old, new), Shell(PASSING), Say(LAST_WORDS))

    def move(turn: Turn) -> Move:
        if program.name == "aider":  # its edits are text
            return Say(f"{WORDS}\n\napp.py\n```\n{APP.replace(OLD, new)}```\n\n{LAST_WORDS}")
        if not turn.tools and program.name != "codex":
            return Say("ok")  # a title for the session, and such
        return moves[min(turn.number, len(moves) - 1)]

    return move
