"""Promise 17: no known secret in a prompt, artifact, log, event or page, and none in git."""

from __future__ import annotations

import os
import random
import string
import zlib
from pathlib import Path

import pytest

from burnish.cli.main import VERBS
from testing.lab import Lab

DICE = random.Random(17)


def letters(count: int, of: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choice(of) for _ in range(count))


ENV = f"cnry-{letters(20)}"
IN_URL = letters(18)
IN_DIFF = f"ghp_{letters(36)}"
IN_TEST = f"glpat-{letters(20)}"
IN_TITLE = f"sk-ant-{letters(40)}"
IN_BRANCH = f"npm_{letters(36)}"
IN_SAID = f"xoxb-{letters(11, string.digits)}-{letters(24)}"
IN_REVIEW = f"AIza{letters(35)}"
IN_SETUP = f"hf_{letters(34)}"
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "".join(letters(64) + "\n" for _ in range(8))
    + "-----END RSA PRIVATE KEY-----\n"
)
CANARIES = {
    "environment": ENV, "address": IN_URL, "diff": IN_DIFF, "test": IN_TEST, "title": IN_TITLE,
    "branch": IN_BRANCH, "said": IN_SAID, "review": IN_REVIEW, "setup": IN_SETUP, "key": KEY.split("\n")[3],
}  # fmt: skip

AUTHOR = f"""
text = app.read_text()
text = text.replace("# TOKEN {IN_DIFF}", "# TOKEN {IN_DIFF} moved")
app.write_text(text + "x = 1  # {IN_DIFF} burnish: allow-secret\\n")
print("I used", {IN_SAID!r}, {ENV!r})
print({KEY!r})
print({ENV!r}, file=sys.stderr)
"""
JUDGE = f"""
flaw["title"] = "Leaks " + {IN_REVIEW!r}
flaw["description"] = "see " + {ENV!r} + " and " + {KEY!r}
flaw["quote"] = "x = 1  # " + {IN_DIFF!r}
if cycle == 1:
    print(verdict("changes_requested", "because of " + {IN_REVIEW!r}, [flaw]))
else:
    print(verdict("approved", "fine " + {IN_REVIEW!r}))
"""
SETTINGS = (
    f"workspace: {{setup: 'echo {IN_SETUP}'}}\n"
    f"checks: {{test: 'echo {IN_TEST} $0; echo {ENV}; exit 1', lint: null, on_failure: review}}\n"
)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=JUDGE)
    lab.env |= {"DEPLOY_TOKEN": ENV, "DATABASE_URL": f"postgres://app:{IN_URL}@db/app"}
    return lab


PAGES = (
    *("show 1", "show 1 --json", "status", "status --json", "log 1", "-v log 1", "events", "events --json"),
    *("show review-cycle://1/review-cycle-1.md", "findings 1", "findings 1 --json", "list", "list --json", "inbox"),
    *("inbox --json", "prompts render 1", "log 1 --json", "stats", "stats --json", "cost", "cost --json"),
    *(f"export 1 --format {form}" for form in ("markdown", "html", "json", "sarif", "rdjson", "github")),
)


def seen(where: str, text: str) -> list[str]:
    return [f"{name} in {where}" for name, canary in CANARIES.items() if canary in text or canary.lower() in text]


def home_files(lab: Lab) -> list[Path]:
    """Everything burnish keeps, but for the user's own code."""
    home = Path(lab.env["BURNISH_HOME"])
    files = [Path(here) / name for here, _, names in os.walk(home) for name in names]
    return [file for file in files if file.relative_to(home).parts[0] not in ("workspaces", "snapshots", "throwaway")]


@pytest.mark.slow
def test_no_canary_is_seen_anywhere(lab: Lab) -> None:
    lab.repo.git("checkout", "-q", "-b", f"work-{IN_BRANCH}")
    lab.repo.commit({"app.py": f"def add(a, b):\n    return a + b\n# TOKEN {IN_DIFF}\n# {IN_URL}\n"}, "app")
    lab.settle(SETTINGS)
    # the agent's stand-in for a test that prints: exit code 1 at the base as well
    lab.add(f"Add division {IN_TITLE}", "-d", f"use {ENV} and {KEY}", "--accept", f"no {IN_TITLE}")
    said = lab.burnish("run", code=None)
    lab.burnish("edit", "1", "--title", f"More {IN_TITLE}")
    found = seen("the terminal", said.out + said.err)
    calls = lab.calls()
    assert {"implement", "improve", "review"} <= {call["phase"] for call in calls}
    for call in calls:
        found += seen(f"the prompt of {call['phase']} {call['cycle']}", call["prompt"])
    for words in PAGES:
        argv = words.split()
        if not {*argv[:2]} & set(VERBS):
            continue
        page = lab.burnish(*argv, code=None)
        # annotations are for open findings alone, and this task has none
        assert page.code in (0, 1) and (page.out == "" if "github" in argv else len(page.out) > 50), words
        found += seen(f"burnish {' '.join(argv)}", page.out + page.err)
    refs = lab.refs("refs/burnish")
    assert any(ref.startswith("refs/burnish/artifacts/") for ref in refs)
    for ref in [*refs, *lab.refs("refs/heads/burnish")]:
        found += seen("a ref", ref)
        if "/artifacts/" in ref:
            for path in lab.repo.git("ls-tree", "-r", "--name-only", ref).splitlines():
                found += seen(path, lab.repo.git("show", f"{ref}:{path}"))
    files = home_files(lab)
    assert len(files) > 20
    for file in files:
        found += seen(str(file), file.read_bytes().decode("utf-8", "replace"))
    assert not found, "\n".join(found)
    # the test looks in the right places: the notes that stand there instead are found
    assert "[secret: value of DEPLOY_TOKEN removed]" in calls[0]["prompt"]
    assert "[secret: Slack token removed]" in lab.burnish("log", "1").out


UNREAD = f"""
print("I cannot say, because of", {ENV!r}, {IN_REVIEW!r})
print({KEY!r}, file=sys.stderr)
"""


@pytest.mark.long
def test_a_review_without_a_task_shows_none_either(lab: Lab) -> None:
    lab.agent("judge", UNREAD)
    lab.repo.git("checkout", "-q", "-b", f"work-{IN_BRANCH}")
    lab.settle("review: {agents: [judge, static]}\n" + SETTINGS)
    lab.repo.write({"app.py": f"def add(a, b):\n    return a + b\n# {IN_DIFF} {ENV} {IN_URL}\n"})
    found = []
    for argv in (["review", "--dirty", "--tests"], ["review", "--dirty", "--json"], ["doctor", "--probe"]):
        said = lab.burnish(*argv, code=None)
        assert said.out, argv
        found += seen(" ".join(argv), said.out + said.err)
    calls = lab.calls()
    assert {"review", "probe"} == {call["phase"] for call in calls}
    for call in calls:
        found += seen(f"the prompt of {call['phase']}", call["prompt"])
    kept = home_files(lab)
    assert any(file.name == "prompt.md" for file in kept)  # what could not be read is kept for a person
    for file in kept:
        found += seen(str(file), file.read_bytes().decode("utf-8", "replace"))
    assert not found, "\n".join(found)


LEAK = f"""
import pathlib
if "Nothing was committed" not in prompt:
    pathlib.Path("settings.py").write_text("a = 1\\nTOKEN = '{IN_DIFF}'\\n")
    pathlib.Path("good.py").write_text("b = 2\\n")
else:
    assert pathlib.Path("good.py").exists(), "the work is still there"
    assert "settings.py:2 (GitHub token)" in prompt
    pathlib.Path("settings.py").write_text("import os\\nTOKEN = os.environ['TOKEN']\\n")
print("done")
"""
APPROVE = 'print(verdict("approved", "good", inspected=["app.py", "settings.py", "good.py"]))'


def test_a_secret_is_not_committed_and_a_retry_takes_it_out(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=LEAK, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["reason"]) == ("blocked", "secret")
    (told,) = (e["data"]["note"] for e in lab.events("task.status") if e["data"]["to"] == "blocked")
    assert "settings.py:2 (GitHub token)" in told and IN_DIFF not in told
    workspace = Path(lab.burnish("path", "1").out.strip())
    assert str(workspace) in told and IN_DIFF in (workspace / "settings.py").read_text()
    assert lab.commits("burnish/1-add-division") == [] and lab.refs("refs/burnish/rescue") == {}
    assert not in_objects(lab, IN_DIFF)
    lab.burnish("retry", "1")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"
    assert lab.text("burnish/1-add-division", "good.py") == "b = 2"
    assert not in_objects(lab, IN_DIFF)


def test_what_the_agent_itself_committed_does_not_bring_a_secret_into_git(tmp_path: Path) -> None:
    own = (
        LEAK
        + "import subprocess\nsubprocess.run(['git', 'add', '-A'], check=True)\n"
        + "subprocess.run(['git', 'commit', '-qm', 'mine'], check=True)\n"
    )
    lab = Lab.make(tmp_path, author=own, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "secret"
    assert lab.refs("refs/burnish/rescue") == {} and not in_objects(lab, IN_DIFF)


CUT = f"""
import pathlib
if not pathlib.Path(os.environ["HOME"], "again").exists():
    pathlib.Path(os.environ["HOME"], "again").touch()
    pathlib.Path("keys.py").write_text("TOKEN = '{IN_DIFF}'\\n")
    pathlib.Path("half.py").write_text("b = 2\\n")
    sys.exit(1)
pathlib.Path("half.py").write_text("c = 3\\n")
"""


@pytest.mark.long
def test_a_rescue_leaves_secrets_out_and_says_where_they_are(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=CUT, judge=APPROVE)
    lab.add()
    lab.burnish("run", code=3)
    (ref,) = lab.refs("refs/burnish/rescue")
    assert "half.py" in lab.repo.git("ls-tree", "--name-only", ref).split()
    assert "keys.py" not in lab.repo.git("ls-tree", "--name-only", ref).split()
    message = lab.repo.git("log", "-1", "--format=%B", ref)
    assert "'keys.py': line 1, GitHub token" in message and IN_DIFF not in message
    (copy,) = Path(lab.env["BURNISH_HOME"]).glob("workspaces/*/.withheld-*/keys.py")
    assert IN_DIFF in copy.read_text() and copy.stat().st_mode & 0o077 == 0
    assert not in_objects(lab, IN_DIFF)


def in_objects(lab: Lab, secret: str) -> bool:
    """In any object of the user's repository or of burnish's own store, whether or not a ref leads to it."""
    listed = lab.repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
    shas = [line.split(" ")[1] for line in listed.splitlines() if not line.startswith("tree")]
    assert shas
    own = list(Path(lab.env["BURNISH_HOME"]).glob("projects/*/git/objects/??/*"))
    assert own
    if any(secret.encode() in zlib.decompress(file.read_bytes()) for file in own):
        return True
    return any(secret in lab.repo.git("cat-file", "-p", sha) for sha in shas)


@pytest.mark.long
def test_files_left_out_because_of_their_names_are_named_wherever_a_person_looks(tmp_path: Path) -> None:
    writes = 'pathlib.Path(".env").write_text("a=b\\n"); pathlib.Path("mine.log").write_text("x\\n")\n'
    lab = Lab.make(tmp_path, author=writes, judge='print(verdict("approved"))')
    lab.repo.commit({".gitignore": "*.log\n.env.local\n"})
    lab.add()
    lab.burnish("run", code=1)
    told = "Left out because of its name: .env. Rename it"
    task = lab.show(1)
    assert task["reason"] == "no_changes" and f"nothing that may be committed. {told}" in task["note"]
    assert ".env" in lab.burnish("inbox").out

    lab.agent("robot", f'{writes}pathlib.Path(".env.local").write_text("")\napp.write_text(app.read_text() + "# x\\n")')
    assert f"Implementation complete. {told}" in lab.burnish("retry", "1").err
    shown = " ".join(lab.burnish("show", "1").out.split())
    assert lab.task()["status"] == "verified" and f"note: {told}" in shown and ".env.local" not in shown
    assert f"ready to be merged. {told}" in " ".join(lab.burnish("inbox").out.split())
