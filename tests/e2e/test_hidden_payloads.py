"""Promise 6: what no reviewer saw does not count as reviewed. Payloads that once were approved unseen."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.change import Change
from burnish.review.packing import pack, passes
from testing.attack_counts import CountAttacks
from testing.gitworld import GitWorld, commit
from testing.hidden_payloads import AUDIT, CODE, MORE, PNG, REDACTED, Payload
from testing.lab import Lab
from testing.userrepo import UserRepo

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
# Approves whatever does not show the payload, and lists nothing as inspected.
LENIENT = """
seen = "EVIL" in re.sub(r"\\\\x[0-9a-f]{2}|\\\\u[0-9a-f]{4}", "", prompt)
print(verdict("rejected", "it runs EVIL", [flaw], blocking=True) if seen else verdict("approved", "good"))
"""
EXPECTED = {
    "seen": {("blocked", "rejected")},
    # stopped before a reviewer sees it: a file in a folder of installed packages
    "guard": {("blocked", "guard")},
    "hidden": {("waiting_approval", None)},
    "incomplete": {("blocked", "incomplete_review"), ("blocked", "rejected")},
}


def lab_for(tmp_path: Path, *, reads_files: bool) -> Lab:
    lab = Lab.make(tmp_path, judge=LENIENT)
    settings = lab.settings("").replace(f"{lab.root}/judge.py']", f"{lab.root}/judge.py'], reads_files: {reads_files}")
    lab.commit_settings(settings.replace("True", "true").replace("False", "false"))
    return lab


def outcome_of(lab: Lab, name: str, payload: Payload) -> tuple[str, str | None]:
    start = lab.repo.git("rev-parse", "HEAD").strip()
    for path, data in payload.before.items():
        (lab.repo.path / path).write_bytes(data)
    if payload.before:
        lab.repo.git("add", "-A")
        lab.repo.git("commit", "-q", "--allow-empty", "-m", f"before {name}")
    lab.agent("robot", payload.author())
    number = lab.add(f"Bring {name}")
    lab.burnish("run", number, code=None)
    task = lab.task(number)
    # the attributes of one payload must not change how git reads the next
    lab.repo.git("reset", "-q", "--hard", start)
    return task["status"], task["reason"]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", AUDIT)
def test_no_payload_of_the_audit_is_approved_unseen(tmp_path: Path, name: str) -> None:
    lab = lab_for(tmp_path, reads_files=True)
    assert outcome_of(lab, name, AUDIT[name]) in EXPECTED[AUDIT[name].outcome]


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", REDACTED)
def test_no_payload_that_redaction_removes_is_approved_unseen(tmp_path: Path, name: str) -> None:
    lab = lab_for(tmp_path, reads_files=True)
    assert outcome_of(lab, name, REDACTED[name]) in EXPECTED[REDACTED[name].outcome]


@pytest.mark.skipif(not TORTURE, reason="long: make torture")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("reads_files", [True, False])
def test_no_relative_of_them_is_approved_unseen(tmp_path: Path, reads_files: bool, count_attacks: CountAttacks) -> None:
    lab = lab_for(tmp_path, reads_files=reads_files)
    start = lab.repo.git("rev-parse", "HEAD")
    payloads = {**AUDIT, **MORE, **REDACTED}
    came = {}
    for name, payload in payloads.items():
        # attributes and files of the payload before would change what this one means
        lab.repo.git("reset", "-q", "--hard", start)
        came[name] = outcome_of(lab, name, payload)
    approved = [name for name, (status, _) in came.items() if status in ("verified", "completed")]
    count_attacks("hide a payload from reviewers", len(came), len(approved))
    assert not approved
    # where no reviewer can read files, a person looks at what redaction removed
    person = set() if reads_files else {("waiting_approval", None)}
    allowed = {
        n: EXPECTED.get(payloads[n].outcome, {r}) | (person if n in REDACTED else set()) for n, r in came.items()
    }
    assert not {n: r for n, r in came.items() if r not in allowed[n]}


@pytest.mark.representatives(1)
@pytest.mark.parametrize("reads_files", [True, False])
def test_each_of_them_is_shown_described_or_named_as_not_shown(
    user_repo: UserRepo, hermetic: Path, reads_files: bool
) -> None:
    """The same without the loop, all in one change, each in a folder of its own."""
    payloads = {f"p{number}": payload for number, payload in enumerate({**AUDIT, **MORE}.values())}
    for folder, payload in payloads.items():
        write(user_repo.path / folder, payload.before)
    user_repo.commit({}, "before")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    workspace = world.workspace()
    for folder, payload in payloads.items():
        write(workspace.path / folder, payload.files, payload.programs, payload.links)
        if payload.outcome == "any":
            (workspace.path / folder / ".gitattributes").unlink()
    commit(workspace)
    change = workspace.changes(world.base.commit, str(workspace.tip()))
    for folder, payload in payloads.items():
        part = replace(change, files=tuple(f for f in change.files if f.path.startswith(f"{folder}/")))
        assert how_shown(part, reads_files=reads_files) in ALLOWED[payload.outcome, reads_files], folder


@pytest.mark.attacks("hide a payload from reviewers", 2)
def test_the_target_of_a_moved_link_is_shown(user_repo: UserRepo, hermetic: Path) -> None:
    """From another folder, a relative link leads to another file."""
    (user_repo.path / "docs").mkdir()
    (user_repo.path / "docs" / "a").symlink_to("../EVIL")
    user_repo.commit({}, "before")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    workspace = world.workspace()
    (workspace.path / "tools" / "bin").mkdir(parents=True)
    (workspace.path / "docs" / "a").rename(workspace.path / "tools" / "bin" / "a")
    commit(workspace)
    change = workspace.changes(world.base.commit, str(workspace.tip()))
    assert [file.status for file in change.files] == ["R"]
    assert {how_shown(change, reads_files=reads) for reads in (True, False)} == {"seen"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("notes.txt", "conftest.py"),
        ("docs/sample", "Makefile"),
        ("hooks/run.sample", "hooks/run"),
        ("a.md", "a.sh"),
        ("docs/ci.yml", ".github/workflows/ci.yml"),
        ("examples/conftest.py", "conftest.py"),
        ("helpers.py", "json.py"),
        ("docs/pre-commit", ".githooks/pre-commit"),
    ],
)
@pytest.mark.parametrize("edit", [b"", b"# edited\n"], ids=["unchanged", "edited"])
@pytest.mark.attacks("hide a payload from reviewers", 2)
def test_text_of_a_renamed_file_is_shown(user_repo: UserRepo, hermetic: Path, old: str, new: str, edit: bytes) -> None:
    content = CODE.encode() + b"#\n" * 40
    write(user_repo.path, {old: content})
    user_repo.commit({}, "before")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    workspace = world.workspace()
    (workspace.path / old).unlink()
    write(workspace.path, {new: content + edit})
    commit(workspace)
    change = workspace.changes(world.base.commit, str(workspace.tip()))
    assert [file.status for file in change.files] == ["R"]
    assert {how_shown(change, reads_files=reads) for reads in (True, False)} == {"seen"}


@pytest.mark.parametrize(("old", "new"), [("data.bin", "module.so"), ("docs/tool.jar", "wrapper/tool.jar")])
def test_a_renamed_binary_file_is_described(user_repo: UserRepo, hermetic: Path, old: str, new: str) -> None:
    write(user_repo.path, {old: PNG})
    user_repo.commit({}, "before")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    workspace = world.workspace()
    (workspace.path / old).unlink()
    write(workspace.path, {new: PNG})
    commit(workspace)
    assert how_shown(workspace.changes(world.base.commit, str(workspace.tip())), reads_files=True) == "hidden"


ALLOWED = {
    ("seen", True): {"seen"},
    ("seen", False): {"seen"},
    ("guard", True): {"seen"},
    ("guard", False): {"seen"},
    ("hidden", True): {"hidden"},
    ("hidden", False): {"hidden"},
    ("incomplete", True): {"not shown"},
    # one that cannot read files gets it in pieces
    ("incomplete", False): {"seen"},
    ("any", True): {"seen", "hidden"},
    ("any", False): {"seen", "hidden"},
}


def how_shown(change: Change, *, reads_files: bool) -> str:
    parts = (change,) if reads_files else passes(change, 30 * 1024)
    packed = [pack(part, 30 * 1024, reads_files=reads_files) for part in parts]
    if any("EVIL" in without_escapes(one.text) for one in packed):
        return "seen"
    if any(file.hidden for file in change.files):
        return "hidden"
    return "not shown" if any(one.not_shown for one in packed) else "approved unseen"


def without_escapes(text: str) -> str:
    return re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", "", text)


def write(
    folder: Path, files: dict[str, bytes], programs: tuple[str, ...] = (), links: dict[str, str] | None = None
) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    for name in programs:
        (folder / name).chmod(0o755)
    for name, target in (links or {}).items():
        folder.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)


@pytest.mark.slow
def test_a_harmless_change_is_still_approved(tmp_path: Path) -> None:
    lab = lab_for(tmp_path, reads_files=True)
    payload = Payload({"a.py": b"x = 1\n", "b_pb2.py": b"y = 2\n", "empty.txt": b"", "c.ps1": "z\n".encode("utf-16")})
    assert outcome_of(lab, "nothing", payload) == ("verified", None)
