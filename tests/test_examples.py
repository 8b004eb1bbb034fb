"""The `$ burnish …` lines of all pages are run: none is refused as wrong usage, and what a page shows is printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.gh_standin import GhStandIn
from testing.lab import CRITIC, REJECT, Lab

ROOT = Path(__file__).parents[1]
_LINE = re.compile(r"^\$ burnish ([a-z-].*)$", re.MULTILINE)

# What cannot be run here, by the begin of the line, with the reason.
NOT_RUN: dict[str, str] = {
    "run --watch": "it runs until it is ended",
    "run --all -j 3 --tui": "it needs a terminal",
    "tui": "it needs a terminal",
    "serve": "it runs until it is ended",
    "worker": "it needs PostgreSQL",
    "store move": "it needs PostgreSQL",
    "pr watch": "it runs until no pull request is open",
    "review --pr": "it needs a pull request of somebody else",
    "import gh:": "the stand-in for gh has no issues",
    "demo": "tests/demo runs it",
    "doctor --probe": "it asks every agent program of the machine",
}
# Refusals and findings are answers, too: which tasks there are depends on the page. Wrong usage is not.
CODES = (0, 1, 4)
# What these examples name does not exist in the lab: exit code 2, and a message with what to do.
ABSENT = ("limits --clear claude", "sync show desk-90c1d2/4", "show 99")
# What both the page and the program print, by the begin of the line.
PRINTED: dict[str, str] = {
    "attest 29": r"✓ Signed the approval of task \d+ at [0-9a-f]{12}$",
    "verify a81cf74fdc53": r"✓ [0-9a-f]{12} was approved by \w+, signed by \S+@\S+$",
    "merge 1": r"✓ 1 .+  in main at [0-9a-f]{12} \(fast-forwarded\)$",
    "sync  ": r"Pushed: \d+ tasks? to origin, as \S+-[0-9a-f]{6}\.\nFetched: \d+ tasks? of \d+ other machines?\.$",
    "people add ada": r"bp_\w{4}",
    "people link ada": r"/login\?link=[\w-]{4}",
    "show 99": r"error: There is no task 99\.\n   do: `burnish list` shows the tasks of this project\.$",
    "comment 2": r"Commented on task 2: F\d+ round up, not down$",
}
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if _LINE.search(page.read_text())]


def _examples(page: Path) -> list[tuple[str, str]]:
    """The commands of a page, each with the output that the page shows below it."""
    parts = re.split(r"^\$ |^```.*$", page.read_text("utf-8"), flags=re.MULTILINE)
    commands = [part.partition("\n") for part in parts if re.match(r"burnish [a-z-]", part)]
    return [(line.removeprefix("burnish ").rstrip(), output.strip("\n")) for line, _, output in commands]


def _words(line: str, commit: str) -> list[str]:
    """Without what belongs to the shell; tasks with other numbers are task 1, except one that is missing."""
    # the open finding of this lab
    line = line.replace("waive 3 F2", "waive 2 F1")
    words = shlex.split(re.split(r" [|>&] ?|;", line)[0], comments=True)
    names = {"99": "99", "a81cf74fdc53": commit}
    return [
        names.get(word)
        or ("1" if re.fullmatch(r"[4-9]|\d\d+", word) and words[n - 1] not in ("-j", "--budget") else word)
        for n, word in enumerate(words)
    ]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Task 1 is verified, task 2 is blocked with an open finding, task 3 waits. A remote and a signing key exist."""
    lab = Lab.make(tmp_path_factory.mktemp("examples") / "lab")
    repo = lab.repo
    repo.git("init", "-q", "--bare", str(lab.root / "remote.git"))
    repo.git("remote", "add", "origin", str(lab.root / "remote.git"))
    repo.git("push", "-q", "origin", "main")
    GhStandIn.make(lab.root / "bin", lab.root / "remote.git")
    key = lab.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingkey", str(key))
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    repo.write(
        {
            ".github/allowed_signers": f"ada@example.org {public}\n",
            "shop.yaml": "tasks:\n  - title: Sell bread\n",
            "spec/tasks.md": "### SHOP-001: Sell butter\nP1 | TODO\n",
            "review.md": "VERDICT: APPROVED\n",
        }
    )
    lab.add("Add division")
    lab.burnish("run")
    lab.agent("judge", REJECT)
    lab.add("Refuse zero weight", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.agent("judge", CRITIC)
    lab.add("Sort the list")
    shutil.copytree(lab.root, lab.root.with_name("copy"), symlinks=True)
    return lab


def _restore(lab: Lab) -> None:
    """The same lab at the same path: a page may have merged or removed everything."""
    shutil.rmtree(lab.root)
    shutil.copytree(lab.root.with_name("copy"), lab.root, symlinks=True)
    # trust belongs to the folder that was examined, not to its path
    lab.trust()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_can_be_run(lab: Lab, page: Path) -> None:
    _restore(lab)
    commit = str(lab.task()["commit"])
    env = {**os.environ, **lab.env, "PATH": f"{lab.root / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    wrong = []
    for line, shown in _examples(page):
        if any(line.startswith(begin) for begin in NOT_RUN):
            continue
        argv = [sys.executable, "-m", "burnish.cli", *_words(line, commit)]
        done = subprocess.run(
            argv, cwd=lab.repo.path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200
        )
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode not in ((2,) if line.startswith(ABSENT) else CODES):
            wrong.append(f"{line}\n  exit code {done.returncode}: {done.stderr[-300:]}")
        pattern = next((pattern for begin, pattern in PRINTED.items() if line.startswith(begin)), "") if shown else ""
        for text in (shown, done.stdout + done.stderr):
            if pattern and not re.search(pattern, text, re.MULTILINE):
                wrong.append(f"{line}\n  this is not printed: {pattern}\n  but: {text[-300:]}")
    assert not wrong, f"{page.name}:\n" + "\n".join(wrong)


def test_every_exception_is_still_needed() -> None:
    lines = [line for page in PAGES for line, _ in _examples(page)]
    unused = [begin for begin in (*NOT_RUN, *ABSENT, *PRINTED) if not any(line.startswith(begin) for line in lines)]
    assert not unused
