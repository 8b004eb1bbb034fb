"""No state is without a way out: each command that a screen names works when it is typed."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from testing.lab import APPROVE, AUTHOR, REJECT, Lab

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG = 'pathlib.Path("long.py").write_text("x = 1\\n" * 2000)\n' + AUTHOR
UNSURE = 'print(verdict("needs_discussion", "which way?"))'
SLOW = 'if phase == "implement":\n    time.sleep(60)\n'


@dataclass(frozen=True)
class State:
    """How a task gets there, and what it is then."""

    status: str
    why: str = ""
    author: str = AUTHOR
    judge: str = APPROVE
    extra: str = ""
    add: tuple[str, ...] = ()
    then: tuple[tuple[str, ...], ...] = (("run", "1"),)
    killed_at: str = ""

    def make(self, root: Path) -> tuple[Lab, str]:
        """The task in that state, and everything that was said on the way."""
        lab = Lab.make(root, author=self.author, judge=self.judge, extra=self.extra)
        lab.add("Add division", *self.add)
        told = ""
        if self.killed_at:
            lab.apart("run", "1", code=-9, BURNISH_FAILPOINT=self.killed_at)
        for argv in self.then:
            said = lab.burnish(*argv, code=None)
            told = said.out + said.err
        task = lab.task()
        assert (task["status"], task["reason"] or task["error"] or "") == (self.status, self.why), (task, told)
        return lab, told


MANUAL = State("code_review", add=("-A",))
ONE = ("--max-cycles", "1")
STATES = {
    "backlog": State("backlog", then=()),
    "interrupted": State("in_progress", killed_at="work-started", then=()),
    "interrupted review": State("code_review", killed_at="review-started", then=()),
    "waits for review": MANUAL,
    "waits for improve": State("code_review", judge=REJECT, add=("-A",), then=(("run", "1"), ("review", "1"))),
    "handed off": State("code_review", then=(("run", "1"), ("handoff", "1"))),
    "gate": State("waiting_approval", extra="approval: required\n"),
    "skip_tests": State("waiting_approval", add=("--skip-tests",)),
    "plan at the gate": State("waiting_approval", extra="approval: required\n", add=("-t", "plan")),
    "verified": State("verified"),
    "voided approval": State("code_review", then=(("run", "1"), ("edit", "1", "--accept", "is fast"), ("done", "1"))),
    "cancelled": State("cancelled", then=(("cancel", "1"),)),
    "max_cycles": State("blocked", "max_cycles", judge=REJECT, add=ONE),
    "needs_discussion": State("blocked", "needs_discussion", judge=UNSURE),
    "rejected": State("blocked", "rejected", judge='print(verdict("rejected", "no"))'),
    "human_rejected": State(
        "blocked", "human_rejected", extra="approval: required\n", then=(("run", "1"), ("decide", "1", "reject"))
    ),
    "stalled": State(
        "blocked", "stalled", author='if phase == "implement":\n    app.write_text("x = 1\\n")', judge=REJECT
    ),
    "stalled without work": State(
        "blocked", "stalled", author="sys.exit(3)", then=(("run", "1"), ("retry", "1"), ("retry", "1"))
    ),
    "sent back by a person": State(
        "in_progress", extra="approval: required\n", then=(("run", "1"), ("decide", "1", "fix", "-m", "again"))
    ),
    "unreadable_review": State("blocked", "unreadable_review", judge='print("fine")'),
    "incomplete_review": State(
        "blocked", "incomplete_review", author=LONG, extra="review: {agents: [judge], limits: {diff_kb: 1}}\n"
    ),
    "guard": State("blocked", "guard", author='pathlib.Path("burnish.yaml").write_text("agent: robot\\n")\n' + AUTHOR),
    "no_changes": State("blocked", "no_changes", author='print("no")'),
    "secret": State("blocked", "secret", author=f'app.write_text("TOKEN = {TOKEN!r}\\n")'),
    "AGENT_FAILED": State("failed", "AGENT_FAILED", author="sys.exit(3)"),
    "AGENT_FAILED in review": State("failed", "AGENT_FAILED", judge="sys.exit(3)"),
    "TIMEOUT": State("failed", "TIMEOUT", author=SLOW, extra="task_types: {implement: {timeout_minutes: 0.01}}\n"),
    "CHECK_ERROR": State("failed", "CHECK_ERROR", extra="checks: {test: /none/such, lint: null}\n"),
    "SETUP_FAILED": State(
        "failed", "SETUP_FAILED", extra="workspace: {setup: 'exit 3'}\nchecks: {test: 'true', lint: null}\n"
    ),
}
# whatever follows the command on its line: a sentence, a remark in brackets, the end of a quotation
_COMMAND = re.compile(
    r"\bburnish ((?:-C \S+ )?[a-z]+(?: [^`\n]*?)?)(?=`|\.(?:\s|$)|,\s|;\s|:\s|\s{2,}|\s\(|$)", re.MULTILINE
)
_LOOKS = ("show", "diff", "log", "inbox", "status", "findings", "list", "events")


def commands_on(text: str) -> list[str]:
    found = [match[1].strip() for match in _COMMAND.finditer(text)]
    # `--rev` is named for those who meant a revision, not the task
    return [one for one in dict.fromkeys(found) if one.split()[0] in KNOWN and "--rev" not in one]


KNOWN = frozenset({*_LOOKS, *"run review improve retry decide override waive merge done edit handoff cancel".split()})


def typed(command: str, lab: Lab) -> list[str]:
    """As a person completes it: words for `…`, a file for FILE, a reason where a terminal would ask for one."""
    review = lab.root / "review.md"
    review.write_text("Verdict: approved\n")
    words = shlex.split(command.replace("…", "handle zero").replace("FILE", str(review)))
    if "--from" in words:
        # where a handoff asks the reviewer to write
        Path(words[-1]).write_text(review.read_text())
    if words[0] == "override":
        words += ["--explain", "we live with it"]
    return [word for word in words if word != "-f"]


def acts_of(lab: Lab, told: str) -> tuple[list[str], list[str]]:
    """What the screens name: to look at, and to do."""
    screens = [told, *(lab.burnish(*argv).out for argv in (("status",), ("show", "1"), ("inbox",)))]
    found = [one for screen in screens for one in commands_on(screen)]
    named = list(dict.fromkeys(found))
    return [one for one in named if one.split()[0] in _LOOKS], [one for one in named if one.split()[0] not in _LOOKS]


@pytest.mark.parametrize("name", STATES)
def test_each_command_that_a_screen_names_works_when_typed(name: str, tmp_path: Path) -> None:
    state = STATES[name]
    lab, told = state.make(tmp_path / "first")
    looks, acts = acts_of(lab, told)
    assert acts, f"nothing leads out of {name}"
    for command in looks:
        lab.burnish(*typed(command, lab))
    for number, command in enumerate(acts):
        here = lab if number == 0 else state.make(tmp_path / str(number))[0]
        before = here.events(task=1)
        said = here.burnish(*typed(command, here), code=None)
        # 1 and 3: it was done, and came to what the agents of this test make of it
        assert said.code in (0, 1, 3), (command, said)
        assert here.events(task=1) != before, f"{command} did nothing"
