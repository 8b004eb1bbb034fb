"""An approval of a change with binary files waits for a person, who is told which files."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.hidden_payloads import PNG, Payload
from testing.lab import APPROVE, Lab
from testing.terminal import terminal

BINARY = Payload({"assets/logo.png": PNG, "tool": b"\x7fELF" + bytes(range(100)), "a.py": b"x = 1\n"}, ("tool",))


def waiting(tmp_path: Path, payload: Payload = BINARY, **env: str) -> Lab:
    lab = Lab.make(tmp_path, author=payload.author(), judge=APPROVE)
    lab.env |= env
    lab.add("Add a logo")
    lab.burnish("run", code=None)
    return lab


def test_the_files_are_listed_wherever_the_task_waits(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    task = lab.task()
    assert (task["status"], task["review_status"]) == ("waiting_approval", "passed")
    entry = lab.burnish("inbox", "--json").json["inbox"][0]
    assert entry["why"] == (
        "2 files have content that no reviewer could be shown: assets/logo.png, tool: approve, reject or fix"
    )
    described = {file["path"]: file["description"] for file in entry["unseen_files"]}
    assert described["tool"].startswith("ELF program or library, 104 bytes, EXECUTABLE, sha256:")
    assert "assets/logo.png: PNG image" in lab.burnish("inbox").out
    assert [file["path"] for file in lab.show()["cycles"][0]["unseen_files"]] == ["assets/logo.png", "tool"]
    artifact = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert "Not seen by any reviewer" in artifact and "tool" in artifact
    assert "PNG image" in lab.calls()[1]["prompt"]
    decided = lab.burnish("decide", "1", "approve")
    assert "No reviewer saw the content of 2 files:" in decided.out and "tool: ELF program" in decided.out
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_the_gate_on_a_terminal_lists_them(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=BINARY.author(), judge=APPROVE)
    lab.add("Add a logo")
    with terminal(lab, "run", "--hitl-review") as screen:
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert "Not seen by any reviewer (2 files)" in screen.plain and "tool: ELF program or library" in screen.plain
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_the_users_own_settings_may_allow_them(tmp_path: Path) -> None:
    lab = waiting(tmp_path, BURNISH__REVIEW__UNSEEN__ALLOW='["assets/*"]')
    assert [file["path"] for file in lab.burnish("inbox", "--json").json["inbox"][0]["unseen_files"]] == ["tool"]
    lab.env["BURNISH__REVIEW__UNSEEN__ALLOW"] = '["assets/*", "tool"]'
    lab.agent("robot", Payload({"assets/b.png": PNG + b"2"}).author())
    number = lab.add("Add another")
    lab.burnish("run", number)
    assert lab.task(number)["status"] == "verified"


@pytest.mark.long
def test_that_a_reviewer_lists_a_binary_file_as_inspected_changes_nothing(tmp_path: Path) -> None:
    lab = Lab.make(
        tmp_path, author=BINARY.author(), judge='print(verdict("approved", inspected=["assets/logo.png", "tool"]))'
    )
    lab.add("Add a logo")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_deleted_binary_file_needs_nobody_and_a_renamed_one_does(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="os.remove('a.png'); print('done')", judge=APPROVE)
    for name in ("a.png", "b.png"):
        (lab.repo.path / name).write_bytes(PNG + name.encode())
    lab.repo.commit({}, "pictures")
    lab.add("Tidy up")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    lab.agent("robot", "os.rename('b.png', 'c.png'); print('done')")
    number = lab.add("Rename it")
    lab.burnish("run", number, code=1)
    assert lab.task(number)["status"] == "waiting_approval"
    assert "was b.png: c.png" in lab.calls()[-1]["prompt"]


def test_the_static_reviewer_does_not_pass_binary_files_either(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=BINARY.author(), extra="review: {agents: [static]}\n")
    lab.add("Add a logo")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_a_submodule_waits_for_a_person(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    sha = lab.repo.git("rev-parse", "HEAD")
    lab.repo.git("update-index", "--add", "--cacheinfo", f"160000,{sha},vendor/lib")
    lab.repo.git("commit", "-q", "-m", "a submodule")
    said = lab.burnish("review", "HEAD", "--no-tests", "--json", code=1).json
    assert said["verdict"] == "needs_discussion" and said["not_shown"] == ["vendor/lib"]


SAMPLE = "ghp_" + "1aB2" * 9
PRAGMA = "# pragma: " + "allowlist secret"
SAMPLE_KEY = Payload({"sample.py": f'KEY = "{SAMPLE}"  {PRAGMA}\n'.encode(), "a.py": b"x = 1\n"}, ())


def blind(lab: Lab, *names: str) -> None:
    settings = lab.repo.path / "burnish.yaml"
    text = settings.read_text()
    for name in names:
        text = text.replace(f"{lab.root}/{name}.py']", f"{lab.root}/{name}.py'], reads_files: false")
    settings.write_text(text)
    lab.burnish("trust")


@pytest.mark.long
def test_redacted_text_waits_for_a_person_where_the_reviewer_cannot_read_files(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=SAMPLE_KEY.author(), judge='print(verdict("approved", inspected=["sample.py"]))')
    blind(lab, "judge")
    lab.add("Add a sample")
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["review_status"]) == ("waiting_approval", "passed"), lab.show()
    (file,) = lab.burnish("inbox", "--json").json["inbox"][0]["unseen_files"]
    assert file == {"path": "sample.py", "description": "text that looks like a secret, redacted in the prompt"}
    # it is not asked a second time for what it cannot be shown
    assert len(lab.calls()) == 2 and SAMPLE not in lab.calls()[1]["prompt"]
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_redacted_text_that_another_approving_reviewer_reads_needs_nobody(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=SAMPLE_KEY.author(), judge=APPROVE)
    lab.agent("reader", 'print(verdict("approved", inspected=["sample.py"]))')
    lab.settle("review: {agents: [judge, reader]}\n")
    blind(lab, "judge")
    lab.add("Add a sample")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
