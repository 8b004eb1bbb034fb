"""Promise 3: what changed is never merged on the old approval alone. Promise 20: and nothing is lost."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.features.merge.merge import MergeRequest, merge
from burnish.git.objects import BURNISH_AUTHOR, read_commit, write_commit
from burnish.git.publishing import publish
from burnish.git.refs import read_ref
from burnish.runtime.app import App
from burnish.runtime.trust import BY_COMMAND, grant
from testing.approved import Silent, app_of, approved, digest, put_commit
from testing.both_stores import BOTH_STORES
from testing.lab import Lab
from testing.userrepo import UserRepo

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
pytestmark = BOTH_STORES
ROOT = Path(__file__).parents[2]
MAIN = "refs/heads/main"
LINES = [f"line {n}" for n in range(30)]
# Whoever judges writes down what lay before them.
SEEN = """
import hashlib, os, pathlib
sums = []
for path in sorted(pathlib.Path('.').rglob('*')):
    if path.is_file() and not {'.git', '__pycache__'} & set(path.parts):
        sums.append(f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}")
fd = os.open(SEEN, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(fd, (hashlib.sha256("\\n".join(sums).encode()).hexdigest() + "\\n").encode())
"""


def lab_of(root: Path, rule: str, check: bool) -> Lab:
    seen = f"SEEN = {str(root / 'seen')!r}\n{SEEN}"
    (root / "look.py").write_text(seen)
    test = f"checks: {{test: ['{sys.executable}', '-I', '-S', '{root}/look.py'], lint: null}}\n" if check else ""
    judge = f"{seen}\nnames = [str(p) for p in pathlib.Path('.').rglob('*') if p.is_file() and '.git' not in p.parts]\n"
    judge += (
        "gone = re.findall(r'[ab]/([\\w./-]+)', prompt)\nprint(verdict('approved', inspected=sorted({*names, *gone})))"
    )
    lab = Lab.make(root, judge=judge, extra=f"{test}merge: {{on_moved: {rule}}}\n")
    lab.repo.commit({"long.txt": "\n".join(LINES) + "\n", "old.txt": "old\n"})
    lab.repo.git("switch", "-q", "-c", "elsewhere")
    return lab


def edited(at: int, word: str) -> dict[str, str]:
    return {"long.txt": "\n".join([*LINES[:at], word, *LINES[at + 1 :]]) + "\n"}


def on_main(app: App, task: Task, chance: random.Random) -> str:
    """The target moves on: in another file, in the same one, or in both."""
    files = chance.choice([{"new.txt": "1\n"}, edited(25, "theirs"), {"old.txt": "newer\n", "d/e.txt": "1\n"}])
    put_commit(app, MAIN, files)
    return "target"


def main_same(app: App, task: Task, chance: random.Random) -> str:
    """A commit that changes nothing."""
    tip = read_commit(app.repo, str(read_ref(app.repo, MAIN)))
    commit = write_commit(app.repo, tip.tree, (tip.sha,), "empty", BURNISH_AUTHOR)
    publish(app.repo, commit)
    app.repo.user_git("update-ref", MAIN, commit)
    return "target same"


def main_back(app: App, task: Task, chance: random.Random) -> str:
    app.repo.user_git("update-ref", MAIN, f"{task.base}^")
    return "target back"


def main_rewritten(app: App, task: Task, chance: random.Random) -> str:
    """Another history with other files, as after a force-push."""
    app.repo.user_git("update-ref", MAIN, f"{task.base}^")
    put_commit(app, MAIN, {"rewritten.txt": "1\n"})
    return "target rewritten"


def on_branch(app: App, task: Task, chance: random.Random) -> str:
    put_commit(app, f"refs/heads/{task.branch}", chance.choice([{"by-hand.txt": "1\n"}, edited(2, "by hand")]))
    return "tree"


def other_judge(app: App, task: Task, chance: random.Random) -> str:
    """The settings in the user's checkout, which is where they are read from."""
    place = app.repo.root / "burnish.yaml"
    text = place.read_text()
    more = chance.choice(["quorum: any", "block_on: warning", "agents: [judge, judge]"])
    place.write_text(text.replace("review: {agents: [judge]", f"review: {{agents: [judge], {more}")) if (
        "agents: [j" not in more
    ) else place.write_text(text.replace("agents: [judge]", "agents: [judge, judge]"))
    grant(app.trust.found, how=BY_COMMAND)
    return "judge"


SHAPES: tuple[Callable[[App, Task, random.Random], str], ...] = (
    on_main,
    on_main,
    main_same,
    main_back,
    main_rewritten,
    on_branch,
    other_judge,
)


def tree_of(app: App, rev: str) -> str:
    return app.repo.user_git("rev-parse", f"{rev}^{{tree}}").stdout.decode().strip()


def exported(repo: UserRepo, rev: str, folder: Path) -> str:
    folder.mkdir()
    repo.git("archive", "-o", str(folder.with_suffix(".tar")), rev)
    repo.git("-C", str(folder), "init", "-q")
    import tarfile

    with tarfile.open(folder.with_suffix(".tar")) as tar:
        tar.extractall(folder, filter="data")
    return digest(folder)


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.attacks("merge what was not checked", 34 if TORTURE else 7)
@pytest.mark.parametrize("rule", ["recheck", "review", "refuse"])
@pytest.mark.parametrize("check", [True, False])
def test_nothing_is_merged_unchecked(tmp_path: Path, rule: str, check: bool) -> None:
    """Each shape changes one thing or two after the approval; what gets in was seen whole by a check or a review."""
    lab = lab_of(tmp_path, rule, check)
    settings = (lab.repo.path / "burnish.yaml").read_text()
    chance = random.Random(f"{rule}{check}")
    outcome: Counter[str] = Counter()
    for number in range(34 if TORTURE else 7):
        with app_of(lab) as app:
            start = read_ref(app.repo, MAIN)
            task = approved(app, chance.choice([edited(5, f"ours {number}"), {f"f{number}.txt": "1\n"}]))
            kinds = [chance.choice(SHAPES)(app, task, chance) for _ in range(chance.choice([1, 1, 2]))]
        before = lab.repo.git("rev-parse", "main")
        if "target same" in kinds:
            # the review that approved it is only written down here, and saw just that
            with (tmp_path / "seen").open("a") as seen_by:
                seen_by.write(exported(lab.repo, f"{task.commit}", tmp_path / f"judged{number}") + "\n")
        how = chance.choice(["merge", "squash", "rebase"])
        with app_of(lab) as app:
            try:
                report = merge(app, MergeRequest((task.id,), how=how), Silent())
                landed = bool(report.landed)
            except BurnishError:
                landed = False
        after = lab.repo.git("rev-parse", "main")
        assert landed or after == before, kinds
        if after != before:
            # squashed, the change alone is put on a target that went back, and its checks run there
            back = set() if (rule, how) == ("recheck", "squash") else {"target back"}
            assert rule != "refuse" and not ({"tree", "judge"} | back) & set(kinds), kinds
            seen = (tmp_path / "seen").read_text().split()
            assert exported(lab.repo, "main", tmp_path / f"out{number}") in seen, kinds
        outcome["merged" if landed else "kept out"] += 1
        (lab.repo.path / "burnish.yaml").write_text(settings)
        lab.repo.git("update-ref", MAIN, str(start))
    assert outcome["kept out"], "some shapes must be refused"
    if rule != "refuse":
        assert outcome["merged"], "and some must get in"


@pytest.mark.representatives(1)
@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
@pytest.mark.parametrize("rule", ["recheck", "review", "refuse"])
def test_a_target_that_moved_to_the_same_files_has_moved(tmp_path: Path, rule: str, how: str) -> None:
    lab = lab_of(tmp_path, rule, check=False)
    with app_of(lab) as app:
        task = approved(app, {"f.txt": "1\n"})
        main_same(app, task, random.Random())
        report = merge(app, MergeRequest((task.id,), how=how), Silent())
        if rule == "refuse":
            assert not report.landed and [error.exit_code for _, error in report.left] == [4]
            assert app.store.task(app.key, task.id).status == "verified"
            return
        assert report.landed
        (merged,) = app.store.events(app.key, task=task.id, types=["task.merged"])
        asked = app.store.events(app.key, task=task.id, types=["approval.voided"])
    assert bool(merged.data.get("same_tree")) == (rule == "recheck") == (not asked)


@pytest.mark.long
@pytest.mark.parametrize("how", ["merge", "squash"])
def test_what_burnish_itself_merged_before_is_no_move_of_the_target(tmp_path: Path, how: str) -> None:
    lab = lab_of(tmp_path, "refuse", check=False)
    with app_of(lab) as app:
        first = approved(app, {"f.txt": "1\n"})
        second = approved(app, {"g.txt": "1\n"}, base_ref=str(first.branch), depends_on=(first.id,))
        report = merge(app, MergeRequest((first.id, second.id), how=how), Silent())
    assert [one.task.id for one in report.landed] == [first.id, second.id], report.left


# what a user may have lying about


def staged(repo: UserRepo) -> None:
    repo.write({"long.txt": "staged\n"})
    repo.git("add", "long.txt")


def unstaged(repo: UserRepo) -> None:
    repo.write({"long.txt": "unstaged\n"})


def both(repo: UserRepo) -> None:
    staged(repo)
    unstaged(repo)


def deleted(repo: UserRepo) -> None:
    (repo.path / "long.txt").unlink()


def in_the_way(repo: UserRepo) -> None:
    repo.write({"f.txt": "mine, untracked\n"})


def ignored_in_the_way(repo: UserRepo) -> None:
    in_the_way(repo)
    (repo.path / ".git" / "info" / "exclude").write_text("f.txt\n")


def half_merged(repo: UserRepo) -> None:
    repo.git("switch", "-q", "-c", "side", "HEAD~1")
    repo.commit({"side.txt": "1\n"})
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")


def added_only(repo: UserRepo) -> None:
    repo.write({"fresh.txt": "1\n"})
    repo.git("add", "-N", "fresh.txt")


MESSES = [staged, unstaged, both, deleted, in_the_way, ignored_in_the_way, half_merged, added_only]


@pytest.mark.representatives(2)
@pytest.mark.parametrize("mess", MESSES)
def test_a_refusal_leaves_everything_of_the_users_byte_for_byte(
    tmp_path: Path, mess: Callable[[UserRepo], None]
) -> None:
    lab = Lab.make(tmp_path)
    repo = lab.repo
    repo.commit({"long.txt": "long\n"})
    repo.write({"long.txt": "stashed\n"})
    repo.git("stash")
    hook = repo.path / ".git" / "hooks" / "pre-merge-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    with app_of(lab) as app:
        approved(app, {"f.txt": "theirs\n"})
    mess(repo)
    before = repo.fingerprint(), lab.refs("refs/"), lab.events(), repo.git("stash", "list")
    for how in ((), ("--squash",), ("--rebase",)):
        lab.burnish("merge", "1", *how, code=4)
        assert (repo.fingerprint(), lab.refs("refs/"), lab.events(), repo.git("stash", "list")) == before
