"""No state is without a way out: each command that a screen names works when it is typed."""

from __future__ import annotations

import re
import resource
import shlex
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from burnish.cli.main import VERBS
from burnish.core.status import ErrorCode, Reason, Status
from testing.lab import APPROVE, AUTHOR, REJECT, Lab
from testing.program import put_on_path, spender

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
    # Ctrl-C in this phase
    stop_at: str = ""
    # what the task has beside its reason
    error: str = ""
    # the settings and programs of this state
    prepare: Callable[[Lab], None] | None = None
    # what is wrong with the machine while the commands of `then` run
    trouble: Callable[[Lab], AbstractContextManager[None]] = lambda lab: nullcontext()
    # what a person does first, as the hint asks; a command must then lead out of the state
    repair: Callable[[Lab], None] | None = None

    def make(self, root: Path) -> tuple[Lab, str]:
        """The task in that state, and everything that was said on the way."""
        lab = Lab.make(root, author=self.author, judge=self.judge, extra=self.extra)
        if self.prepare:
            self.prepare(lab)
        lab.add("Add division", *self.add)
        told = ""
        if self.killed_at:
            lab.apart("run", "1", code=-9, BURNISH_FAILPOINT=self.killed_at)
        if self.stop_at:
            self._stop(lab)
        for argv in () if self.stop_at else self.then:
            with self.trouble(lab):
                said = lab.burnish(*argv, code=None)
            told = said.out + said.err
        task = lab.task()
        assert not self.error or task["error"] == self.error
        assert (task["status"], task["reason"] or task["error"] or "") == (self.status, self.why), (task, told)
        return lab, told

    def _stop(self, lab: Lab) -> None:
        with lab.start("run", "1") as process:
            lab.until(lambda: any(call["phase"] == self.stop_at for call in lab.calls()))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def no_agent(lab: Lab) -> None:
    lab.commit_settings("agent: claude\nreview: {agents: [claude]}\nchecks: {test: null, lint: null}\n")
    programs = lab.root / "bin"
    programs.mkdir()
    (programs / "git").symlink_to("/usr/bin/git")
    lab.env["PATH"] = str(programs)


def other_branch(lab: Lab) -> None:
    lab.repo.git("checkout", "-q", "-b", "other")
    lab.repo.commit({"other.py": "x = 1\n"}, "something to review")


@contextmanager
def full_disk(lab: Lab) -> Iterator[None]:
    """A limit on the size of files stands in for the disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def moved_target(lab: Lab) -> Iterator[None]:
    """After the first run, the target gets another line in the same place."""
    if lab.task()["branch"] and "pow" not in (lab.repo.path / "app.py").read_text():
        text = (lab.repo.path / "app.py").read_text()
        lab.repo.commit({"app.py": f"{text}def pow(a, b):\n    return a ** b\n"})
    yield


# keeps the lines of both sides
RESOLVES = "app.write_text(''.join(f'{line}\\n' for line in app.read_text().splitlines() if line[:1] not in '<=>'))"


@contextmanager
def deleted_branch(lab: Lab) -> Iterator[None]:
    yield
    lab.repo.git("update-ref", "-d", "refs/heads/burnish/1-add-division")


@contextmanager
def locked_database(lab: Lab) -> Iterator[None]:
    """Another program writes for longer than burnish waits, from the moment the agent is at work."""
    holder = threading.Thread(target=_hold_database, args=(lab,))
    holder.start()
    yield
    holder.join()


def _hold_database(lab: Lab) -> None:
    lab.until(lambda: (lab.root / "at-work").exists())
    with closing(sqlite3.connect(lab.root / "home" / "burnish" / "burnish.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        (lab.root / "locked").touch()
        # the first write is given up after BUSY_SECONDS; the one that records the failure succeeds
        time.sleep(2 * BUSY_SECONDS)
        other.execute("ROLLBACK")


BUSY_SECONDS = 1.5
WAITS_FOR_LOCK = """
root = pathlib.Path(LOG).parent
(root / "at-work").touch()
while not (root / "locked").exists():
    time.sleep(0.02)
"""
OTHER_COMMIT = """
import subprocess
REPO = str(pathlib.Path(LOG).parent / "repo")
def git(*words):
    return subprocess.run(["git", "-C", REPO, "-c", "user.name=P", "-c", "user.email=p@e", *words],
                          capture_output=True, text=True, check=True).stdout.strip()
branch = "burnish/1-add-division"
git("update-ref", f"refs/heads/{branch}", git("commit-tree", branch + "^{tree}", "-p", branch, "-m", "by hand"))
"""
RESOLVES_OR_WRITES = f"""
if "<<<<<<<" in app.read_text():
    {RESOLVES}
elif phase == "implement":
    app.write_text(app.read_text() + "x = 1\\n")
"""
SECRET_IN_FIX = f"""
app.write_text("x = 1\\n" if phase == "implement" else "TOKEN = '{TOKEN}'\\n")
"""
RUN_AND_LOOK = (("run", "1"), ("status",))
MANUAL = State("code_review", add=("-A",))
ONE = ("--max-cycles", "1")
STATES = {
    "backlog": State("backlog", then=()),
    "paused": State("backlog", then=(("pause", "1"),)),
    "paused at work": State("code_review", add=("-A",), then=(("run", "1"), ("pause", "1"))),
    "interrupted": State("in_progress", killed_at="work-started", then=()),
    "interrupted review": State("code_review", killed_at="review-started", then=()),
    "INTERRUPTED": State(
        "code_review",
        "INTERRUPTED",
        judge="time.sleep(60)",
        stop_at="review",
        repair=lambda lab: lab.agent("judge", APPROVE),
    ),
    "waits for review": MANUAL,
    "waits for improve": State("code_review", judge=REJECT, add=("-A",), then=(("run", "1"), ("review", "1"))),
    "handed off": State("code_review", then=(("run", "1"), ("handoff", "1"))),
    "gate": State("waiting_approval", extra="approval: required\n"),
    "skip_tests": State("waiting_approval", add=("--skip-tests",)),
    "plan at the gate": State("waiting_approval", extra="approval: required\n", add=("-t", "plan")),
    "verified": State("verified"),
    "verified, with a conflict": State(
        "verified", author=RESOLVES_OR_WRITES, judge=APPROVE, then=RUN_AND_LOOK, trouble=moved_target
    ),
    "voided approval": State("code_review", then=(("run", "1"), ("edit", "1", "--accept", "is fast"), ("done", "1"))),
    "cancelled": State("cancelled", then=(("cancel", "1"),)),
    "max_cycles": State("blocked", "max_cycles", judge=REJECT, add=ONE),
    "needs_discussion": State("blocked", "needs_discussion", judge=UNSURE),
    "rejected": State("blocked", "rejected", judge='print(verdict("rejected", "no"))'),
    "human_rejected": State(
        "blocked",
        "human_rejected",
        error="REVIEW_REJECTED",
        extra="approval: required\n",
        then=(("run", "1"), ("decide", "1", "reject")),
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
    "branch_gone": State("blocked", "branch_gone", then=(("run", "1"), ("status",)), trouble=deleted_branch),
    "secret": State("blocked", "secret", author=f'app.write_text("TOKEN = {TOKEN!r}\\n")'),
    "secret in a fix": State(
        "blocked",
        "secret",
        author=SECRET_IN_FIX,
        judge=REJECT,
    ),
    "no_changes in a resolution": State(
        "blocked",
        Reason.CONFLICT,
        author="app.write_text(app.read_text() + 'x = 1\\n') if phase == 'implement' else None",
        then=(("run", "1"), ("rebase", "1")),
        trouble=moved_target,
        repair=lambda lab: lab.agent("robot", RESOLVES),
    ),
    "AGENT_FAILED": State("failed", "AGENT_FAILED", author="sys.exit(3)"),
    "AGENT_FAILED in review": State("failed", "AGENT_FAILED", judge="sys.exit(3)"),
    "TIMEOUT": State("failed", "TIMEOUT", author=SLOW, extra="task_types: {implement: {timeout_minutes: 0.01}}\n"),
    "CHECK_ERROR": State("failed", "CHECK_ERROR", extra="checks: {test: /none/such, lint: null}\n"),
    "SETUP_FAILED": State(
        "failed", "SETUP_FAILED", extra="workspace: {setup: 'exit 3'}\nchecks: {test: 'true', lint: null}\n"
    ),
    "budget": State(
        "blocked",
        "budget",
        prepare=lambda lab: put_on_path(lab, "budget: {task_usd: 0.5}"),
        repair=lambda lab: put_on_path(lab, "budget: {task_usd: 5}"),
    ),
    "budget in the middle of the first work": State(
        "blocked",
        "budget",
        prepare=lambda lab: put_on_path(lab, "budget: {task_usd: 0.5}", spender("implement")),
        repair=lambda lab: put_on_path(lab, "budget: {task_usd: 5}"),
    ),
    "AGENT_MISSING": State(
        "failed", "AGENT_MISSING", prepare=no_agent, repair=lambda lab: put_on_path(lab, "agent: claude")
    ),
    "GIT_ERROR": State(
        "failed", "GIT_ERROR", author=OTHER_COMMIT + AUTHOR, repair=lambda lab: lab.agent("robot", AUTHOR)
    ),
    "CONFIG_ERROR": State("failed", "CONFIG_ERROR", add=("-t", "review", "--base", "main"), repair=other_branch),
    "DISK_FULL": State(
        "failed",
        "DISK_FULL",
        author="while True: print('x' * 5000)",
        trouble=full_disk,
        repair=lambda lab: lab.agent("robot", AUTHOR),
    ),
    "DATABASE_LOCKED": State(
        "failed",
        "DATABASE_LOCKED",
        author=WAITS_FOR_LOCK + AUTHOR,
        trouble=locked_database,
        repair=lambda lab: None,
    ),
    "conflict": State(
        "blocked",
        Reason.CONFLICT,
        then=(("run", "1"), ("rebase", "1")),
        trouble=moved_target,
        repair=lambda lab: lab.agent("robot", RESOLVES),
    ),
}
# a task that is completed needs nothing more
NEEDS_NOTHING = {Status.COMPLETED}
# whatever follows the command on its line: a sentence, a remark in brackets, the end of a quotation
_COMMAND = re.compile(
    r"\bburnish ((?:-C \S+ )?[a-z]+(?: [^`\n]*?)?)(?=`|\.(?:\s|$)|,\s|;\s|:\s|\s{2,}|\s\(|$)", re.MULTILINE
)
_LOOKS = ("show", "diff", "log", "inbox", "status", "findings", "list", "events")


def commands_on(text: str) -> list[str]:
    found = [match[1].strip() for match in _COMMAND.finditer(text)]
    # a verb that this test does not know would not be tried
    assert not {one.split()[0] for one in found if not one.startswith("-C")} & (VERBS.keys() - KNOWN - _OTHERS), found
    # `--rev` is named for those who meant a revision, not the task
    return [one for one in dict.fromkeys(found) if one.split()[0] in KNOWN and "--rev" not in one]


KNOWN = frozenset(
    {*_LOOKS, *"run review improve retry decide override waive merge done edit handoff cancel rebase unpause".split()}
)
# of the machine or the whole project; they change no task
_OTHERS = frozenset("trust untrust doctor limits clean add config serve".split())


def typed(command: str, lab: Lab) -> list[str]:
    """As a person completes it: words for `…`, a file for FILE, a reason where a terminal would ask for one."""
    review = lab.root / "review.md"
    review.write_text("Verdict: approved\n")
    command = command.replace("--budget …", "--budget 5")
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


def test_each_status_reason_and_error_code_has_a_row() -> None:
    rows = STATES.values()
    assert {row.status for row in rows} == set(Status) - NEEDS_NOTHING
    explained = {row.why for row in rows} | {row.error for row in rows}
    assert explained - {""} == set(Reason) | set(ErrorCode)


@pytest.fixture(autouse=True)
def _short_wait_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.store.sqlite.BUSY_SECONDS", BUSY_SECONDS)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", STATES)
def test_each_command_that_a_screen_names_works_when_typed(name: str, tmp_path: Path) -> None:
    state = STATES[name]
    lab, told = state.make(tmp_path / "first")
    looks, acts = acts_of(lab, told)
    assert acts, f"nothing leads out of {name}"
    for command in looks:
        lab.burnish(*typed(command, lab))
    left = False
    for number, command in enumerate(acts):
        here = lab if number == 0 else state.make(tmp_path / str(number))[0]
        if state.repair:
            state.repair(here)
        before = here.events(task=1)
        said = here.burnish(*typed(command, here), code=None)
        # 1 and 3: it was done, and came to what the agents of this test make of it
        assert said.code in (0, 1, 3), (command, said)
        assert here.events(task=1) != before, f"{command} did nothing"
        task = here.task()
        left = left or (task["status"], task["reason"] or task["error"] or "") != (state.status, state.why)
    assert left or not state.repair, f"none of {acts} leads out of {name}"
