"""A signed approval: what it says, that it holds without the burnish home, and what does not pass for it."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing.extras import require_program
from testing.lab import APPROVE, REJECT, Lab

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"),
]


def make_key(folder: Path, name: str) -> Path:
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
    return key


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path)
    key = make_key(tmp_path, "ada")
    lab.repo.git("config", "gpg.format", "ssh")
    lab.repo.git("config", "user.signingkey", str(key))
    (tmp_path / "signers").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    lab.add("Add division")
    lab.burnish("run")
    return lab


def verify(lab: Lab, commit: str, *argv: str, code: int = 0) -> Any:
    return lab.burnish("verify", commit, "--allowed-signers", str(lab.root / "signers"), *argv, code=code)


def file_of(lab: Lab, change: Any = None, envelope: Any = None, key: str = "ada", namespace: str = "") -> Path:
    """The statement of task 1 with changes, signed again if a key is to be used."""
    ref = f"refs/burnish/attest/{lab.task()['commit']}"
    found = json.loads(lab.repo.git("cat-file", "blob", f"{ref}:attestation.json"))
    if change:
        statement = json.loads(base64.b64decode(found["payload"]))
        change(statement)
        found["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    if namespace:
        kind, payload = found["payloadType"].encode(), base64.b64decode(found["payload"])
        data = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
        argv = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(lab.root / key)]
        found["signatures"][0]["sig"] = subprocess.run(
            argv, input=data, capture_output=True, check=True
        ).stdout.decode()
    if envelope:
        envelope(found)
    place = lab.root / "statement.json"
    place.write_text(json.dumps(found))
    return place


def test_a_clone_verifies_the_approval_without_the_burnish_home(lab: Lab, tmp_path: Path) -> None:
    made = lab.burnish("attest", "1", "-o", str(tmp_path / "proof.json"), "--json").json
    commit = lab.task()["commit"]
    assert made["commit"] == commit and lab.repo.git("rev-parse", "--verify", made["ref"])
    clone = tmp_path / "clone"
    lab.repo.git("clone", "-q", str(lab.repo.path), str(clone))
    lab.repo.git("-C", str(clone), "fetch", "-q", "origin", lab.task()["branch"])
    env = {**os.environ, "HOME": str(tmp_path / "nobody"), "BURNISH_HOME": str(tmp_path / "none")}
    argv = [sys.executable, "-m", "burnish.cli", "verify", commit, "--allowed-signers", str(tmp_path / "signers")]
    alone = subprocess.run(argv, cwd=clone, env=env, capture_output=True, text=True)
    assert alone.returncode == 1 and "no attestation" in alone.stderr and "git fetch origin" in alone.stderr
    lab.repo.git("-C", str(clone), "fetch", "-q", "origin", "refs/burnish/attest/*:refs/burnish/attest/*")
    done = subprocess.run([*argv, "--json"], cwd=clone, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["signer"] == "ada@example.org" and found["predicate"]["base"] == lab.task()["base"]
    assert [one["agent"] for one in found["predicate"]["reviewers"]] == ["judge"]
    assert found["predicate"]["overrides"] == [] and not (tmp_path / "none").exists()
    assert verify(lab, commit, "--statement", str(tmp_path / "proof.json")).code == 0

    def seen_in_part(statement: dict[str, Any]) -> None:
        statement["predicate"]["unseen_files"] = ["a.bin"]

    in_part = file_of(lab, seen_in_part, namespace="burnish-attestation")
    assert "the content of 1 file." in verify(lab, commit, "--statement", str(in_part)).err


def test_nothing_else_passes_for_the_statement(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit, main = lab.task()["commit"], lab.repo.git("rev-parse", "main")
    make_key(lab.root, "eve")
    amended = lab.repo.git("commit-tree", "-p", main, "-m", "amended", f"{commit}^{{tree}}")
    assert "no attestation" in verify(lab, amended, code=1).err
    assert "another commit" in verify(lab, amended, "--statement", str(file_of(lab)), code=1).err

    def swapped(statement: dict[str, Any]) -> None:
        statement["subject"][0]["digest"]["gitCommit"] = statement["predicate"]["commit"] = main

    assert "signature" in verify(lab, main, "--statement", str(file_of(lab, swapped)), code=1).err
    signed_swap = file_of(lab, swapped, namespace="burnish-attestation")
    assert "another commit" in verify(lab, main, "--statement", str(signed_swap), code=1).err, "its tree is another one"
    for words in ({"namespace": "git"}, {"namespace": "file"}, {"namespace": "burnish-attestation", "key": "eve"}):
        assert "not valid" in verify(lab, commit, "--statement", str(file_of(lab, **words)), code=1).err

    def other_type(statement: dict[str, Any]) -> None:
        statement["predicateType"] = "https://slsa.dev/provenance/v1"

    again = file_of(lab, other_type, namespace="burnish-attestation")
    assert "another type" in verify(lab, commit, "--statement", str(again), code=1).err
    two = file_of(lab, envelope=lambda found: found["signatures"].append(found["signatures"][0]))
    assert "not one signed statement" in verify(lab, commit, "--statement", str(two), code=1).err
    subjects = file_of(lab, lambda s: s["subject"].append(s["subject"][0]), namespace="burnish-attestation")
    assert "another form" in verify(lab, commit, "--statement", str(subjects), code=1).err
    text = file_of(lab).read_text()
    file = lab.root / "twice.json"
    file.write_text(text[:-1] + ', "payload": "e30="}')
    assert "not one signed statement" in verify(lab, commit, "--statement", str(file), code=1).err
    file.write_text("[]")
    assert "not one signed statement" in verify(lab, commit, "--statement", str(file), code=1).err
    public = (lab.root / "ada.pub").read_text()
    (lab.root / "signers").write_text(f'ada@example.org valid-before="20200101" {public}')
    verify(lab, commit, code=1)
    (lab.root / "signers").write_text(f'ada@example.org namespaces="git" {public}')
    verify(lab, commit, code=1)


def test_a_replaced_commit_does_not_pass(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit, main = lab.task()["commit"], lab.repo.git("rev-parse", "main")
    signed = file_of(lab)
    lab.repo.git("replace", main, commit)
    verify(lab, main, "--statement", str(signed), code=1)
    assert verify(lab, commit).code == 0


def test_an_override_is_part_of_it_and_needs_to_be_accepted(lab: Lab) -> None:
    lab.agent("judge", REJECT)
    lab.add("Second", "--max-cycles", "1")
    lab.burnish("run", "2", code=1)
    assert "only a verified task can be attested" in lab.burnish("attest", "2", code=4).err
    lab.burnish("override", "2", "--explain", "known")
    lab.burnish("attest", "2")
    commit = lab.task(2)["commit"]
    assert "overridden by a person" in verify(lab, commit, code=1).err
    found = verify(lab, commit, "--allow-override", "--json").json
    override = found["predicate"]["overrides"][0]
    assert override["explanation"] == "known"
    words = verify(lab, commit, "--allow-override").out
    assert (
        f"was approved by user:{override['by'].removeprefix('user:')} against the review of judge, signed by" in words
    )


def test_a_person_who_approved_at_the_gate_is_part_of_it(lab: Lab) -> None:
    lab.agent("judge", APPROVE)
    lab.add("Second", "--skip-tests")
    lab.burnish("run", "2", code=1)
    lab.burnish("decide", "2", "approve")
    lab.burnish("attest", "2")
    commit = lab.task(2)["commit"]
    (decision,) = verify(lab, commit, "--json").json["predicate"]["decisions"]
    assert decision["choice"] == "approve" and decision["by"] not in ("", "burnish")
    name = decision["by"].removeprefix("user:")
    assert f"was approved by judge, user:{name}, signed by ada@example.org" in verify(lab, commit).out
    # only the reviewer approved the first task
    lab.burnish("attest", "1")
    alone = verify(lab, lab.task()["commit"], "--json").json
    assert alone["predicate"]["decisions"] == [] and "approved by judge, signed" in verify(lab, alone["commit"]).out


def test_without_a_key_or_a_list_of_signers_it_says_what_to_set(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit = lab.task()["commit"]
    assert "--allowed-signers" in lab.burnish("verify", commit, code=2).err
    (lab.repo.path / "signers").write_text("x")
    of_the_user = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gpg.ssh.allowedSignersFile"}
    of_the_user |= {"GIT_CONFIG_VALUE_0": str(lab.repo.path / "signers")}
    lab.env |= of_the_user
    assert "lies in the repository" in " ".join(lab.burnish("verify", commit, code=2).err.split())
    assert "no commit" in verify(lab, "nothere", code=2).err
    lab.repo.git("config", "--unset", "user.signingkey")
    assert "user.signingkey" in lab.burnish("attest", "1", code=2).err


@pytest.fixture
def gpg_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    require_program("gpg")
    # a socket has a short path
    with tempfile.TemporaryDirectory(prefix="burnish-gpg-") as home:
        monkeypatch.setenv("GNUPGHOME", home)
        for name in ("ada", "eve"):
            make_gpg_key(name, "never")
        # Keys expire at a whole second, and are valid in it: a wait for it depends on the moment.
        make_gpg_key("old", "1d", "--faked-system-time", "20200101T000000")
        lab = Lab.make(tmp_path)
        lab.repo.git("config", "user.signingkey", "ada@example.org")
        export_keys(tmp_path / "signers", "ada")
        lab.add("Add division")
        lab.burnish("run")
        yield lab
        subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True)


def make_gpg_key(name: str, expires: str, *options: str) -> None:
    words = ["--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", expires]
    argv = ["gpg", "--batch", "--quiet", *options, "--passphrase", "", *words]
    subprocess.run(argv, check=True, capture_output=True)


def export_keys(file: Path, *names: str) -> None:
    argv = ["gpg", "--armor", "--export", *(f"{name}@example.org" for name in names)]
    file.write_bytes(subprocess.run(argv, check=True, capture_output=True).stdout)


def test_a_gpg_key_signs_and_only_allowed_keys_verify(gpg_lab: Lab) -> None:
    lab = gpg_lab
    lab.burnish("attest", "1")
    commit = lab.task()["commit"]

    assert verify(lab, commit, "--json").json["signer"].startswith("ada <ada@example.org> (")

    def about_another_task(statement: Any) -> None:
        statement["predicate"]["task"]["title"] = "Another"

    changed = file_of(lab, about_another_task)
    assert "is not valid" in verify(lab, commit, "--statement", str(changed), code=1).err
    export_keys(lab.root / "signers", "eve")
    assert "not an allowed signer" in verify(lab, commit, code=1).err
    (lab.root / "signers").write_text("ada@example.org ssh-ed25519 AAAA\n")
    assert "signed with a GPG key" in verify(lab, commit, code=2).err
    assert "gpg --armor --export" in lab.burnish("verify", commit, code=2).err


def test_an_expired_gpg_key_and_a_signed_commit_do_not_pass(gpg_lab: Lab) -> None:
    lab = gpg_lab
    lab.burnish("attest", "1")
    commit = lab.task()["commit"]
    lab.repo.git("config", "user.signingkey", "old@example.org")
    assert "gpg could not sign" in lab.burnish("attest", "1", code=3).err
    # ada's signature of another text
    argv = ["gpg", "--batch", "--armor", "--detach-sign", "--local-user", "ada@example.org"]
    other = subprocess.run(argv, input=b"tree 1\n", capture_output=True, check=True).stdout.decode()
    file = file_of(lab, envelope=lambda found: found["signatures"][0].update(sig=other))
    verify(lab, commit, "--statement", str(file), code=1)


def test_x509_is_refused_by_name(lab: Lab) -> None:
    lab.repo.git("config", "gpg.format", "x509")

    refused = lab.burnish("attest", "1", code=2).err

    assert "gpg.format x509" in refused and "SSH and GPG" in refused


@pytest.mark.parametrize("attested", [True, False])
def test_the_workflow_of_the_page_requires_an_attestation(lab: Lab, tmp_path: Path, attested: bool) -> None:
    page = (Path(__file__).parents[2] / "docs" / "attest.md").read_text()
    workflow = yaml.safe_load(re.findall(r"```yaml\n(on: pull_request\n.*?)```", page, re.DOTALL)[0])
    steps = workflow["jobs"]["approved"]["steps"]
    lab.repo.commit({".github/allowed_signers": (tmp_path / "signers").read_text()}, "signers")
    if attested:
        lab.burnish("attest", "1")
    clone, commit = tmp_path / "clone", lab.task()["commit"]
    lab.repo.git("clone", "-q", str(lab.repo.path), str(clone))
    lab.repo.git("-C", str(clone), "fetch", "-q", "origin", lab.task()["branch"])
    # what actions/checkout does with the `ref` of the first step
    assert (
        steps[0]["with"]["ref"] == "${{ github.event.pull_request.head.sha }}" and steps[0]["with"]["fetch-depth"] == 0
    )
    lab.repo.git("-C", str(clone), "checkout", "-q", commit)
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, text in (("pip", "exit 0"), ("burnish", f'exec {sys.executable} -m burnish.cli "$@"')):
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    (tmp_path / "runner").mkdir()
    env = {"PATH": f"{bin}:/usr/bin:/bin", "HOME": str(tmp_path / "runner"), "RUNNER_TEMP": str(tmp_path / "runner")}
    codes = []
    for step in steps[1:]:
        script = step["run"].replace("${{ github.base_ref }}", "main")
        assert "${{" not in script
        codes.append(subprocess.run(["bash", "-e", "-c", script], cwd=clone, env=env, capture_output=True).returncode)

    assert codes == ([0, 0, 0, 0] if attested else [0, 0, 0, 1])


def test_the_settings_of_a_repository_do_not_choose_who_may_sign(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit, outside = lab.task()["commit"], str(lab.root / "signers")
    lab.repo.git("config", "gpg.ssh.allowedSignersFile", outside)
    assert "no list of allowed signers" in lab.burnish("verify", commit, code=2).err
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gpg.ssh.allowedSignersFile"}
    lab.env |= {**variables, "GIT_CONFIG_VALUE_0": outside}
    assert lab.burnish("verify", commit).code == 0


@pytest.mark.attacks("a signer that the repository lists", 3)
def test_a_list_of_signers_in_any_work_tree_of_the_repository_does_not_count(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit, linked = lab.task()["commit"], lab.root / "linked"
    lab.repo.git("worktree", "add", "-q", "--detach", str(linked), "main")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gpg.ssh.allowedSignersFile"}
    for place, start in ((lab.repo.path, linked), (linked, lab.repo.path), (lab.repo.path / ".git", linked)):
        (place / "listed").write_text((lab.root / "signers").read_text())
        lab.env |= {**variables, "GIT_CONFIG_VALUE_0": str(place / "listed")}
        said = lab.burnish("-C", str(start), "verify", commit, code=2)
        assert "lies in the repository" in " ".join(said.err.split()), place


@pytest.mark.parametrize("missing", ["HEAD", "HEAD^{tree}"])
def test_verifying_starts_no_program_of_a_partial_clone(lab: Lab, missing: str) -> None:
    program, flag = lab.root / "program", lab.root / "ran"
    program.write_text(f"#!/bin/sh\ntouch {flag}\nexit 1\n")
    program.chmod(0o755)
    lab.repo.git("commit", "-q", "--allow-empty", "-m", "two")
    lab.repo.commit({"other.py": "x = 2\n"}, "three")
    sha = lab.repo.git("rev-parse", missing).strip()
    (lab.repo.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
    }.items():
        lab.repo.git("config", name, value)
    assert "error" in verify(lab, "HEAD", code=2).err
    assert not flag.exists()


def test_a_signature_that_is_not_text_does_not_hold(lab: Lab) -> None:
    lab.burnish("attest", "1")
    commit = lab.task()["commit"]
    for value in ("\ud800", {"a": 1}, None):
        file = file_of(lab, envelope=lambda found, value=value: found["signatures"][0].update(sig=value))
        assert "not one signed statement" in verify(lab, commit, "--statement", str(file), code=1).err
