"""A signed statement of what was approved, which can be verified without the burnish home.

The statement has the form of in-toto, and its envelope that of DSSE. The signature is made by `ssh-keygen -Y sign` or
`gpg` with the key that git signs with. The signature of a commit cannot pass for it: SSH signatures have a namespace of
their own, and the signed bytes begin with the name of the envelope.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish import __version__
from burnish.core.codec import encode
from burnish.core.finding import FindingState
from burnish.core.history import with_result
from burnish.core.journal import CheckResult, ReviewResult, read
from burnish.core.journal_events import DecisionMade, OverrideRecorded
from burnish.core.review import PERSON
from burnish.core.status import Status
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.merge.plan import merge_candidate
from burnish.git.discovery import FoundRepository, discover, list_checkouts
from burnish.git.objects import read_commit, write_commit, write_object, write_tree
from burnish.git.refs import read_ref, update_ref
from burnish.git.run import READ_FAILED, bare_env, git
from burnish.git.target_branch import user_git
from burnish.proc.capture import Captured, capture
from burnish.proc.folders import expanded
from burnish.proc.own_programs import find_own_program, own_path
from burnish.regular_files import read_regular
from burnish.review import strictjson
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.core.approval import Approval
    from burnish.core.task import Task
    from burnish.runtime.app import App

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:burnish:attestation:review:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
NAMESPACE = "burnish-attestation"
REF = "refs/burnish/attest/"
FILE = "attestation.json"
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Attestation:
    task: Task
    commit: str
    ref: str
    envelope: str


def attest(app: App, task_id: int) -> Attestation:
    """Sign a statement of the task's approval and store it under a ref of the commit."""
    refuse_inside_phase()
    task, approval = _approved(app, task_id)
    statement = json.dumps(_statement(app, task, approval), sort_keys=True, separators=(",", ":")).encode()
    format, signature = _sign(app.repo.root, _signed_bytes(statement))
    envelope = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(statement).decode(),
        "signatures": [{"format": format, "sig": signature}],
    }
    text, ref = json.dumps(envelope, indent=2) + "\n", f"{REF}{approval.commit}"
    blob = write_object(app.repo, "blob", text.encode())
    tree = write_tree(app.repo, {FILE.encode(): ("100644", blob)})
    before = read_ref(app.repo, ref)
    message = f"Attestation of {approval.commit}\n"
    update_ref(
        app.repo, ref, write_commit(app.repo, tree, [before] if before else [], message), before or app.repo.zero
    )
    return Attestation(task, approval.commit, ref, text)


def _approved(app: App, task_id: int) -> tuple[Task, Approval]:
    task = app.store.task(app.key, task_id)
    if task.status is not Status.COMPLETED:
        candidate = merge_candidate(app, task_id, act="attested")
        return candidate.task, candidate.approval
    approval = app.store.approval(app.key, task_id)
    if approval is None or not approval.valid:
        raise Refused(f"Task {task_id} has no valid approval.", hint=f"`burnish show {task_id}` shows its reviews.")
    return task, approval


def _statement(app: App, task: Task, approval: Approval) -> dict[str, Any]:
    history = app.store.history(app.key, task.id)
    phases = [phase for phase in history.phases if phase.state == "finished" and not phase.superseded]
    reviews = [one for one in with_result(phases, ReviewResult) if one.result.tree == approval.tree]
    checks = with_result(phases, CheckResult)
    overrides = [
        read(OverrideRecorded, event.data)
        for event in app.store.events(app.key, task=task.id, types=["override.recorded"])
        if event.run == task.run
    ]
    decisions = [
        decision
        for event in app.store.events(app.key, task=task.id, types=["decision.made"])
        if (event.run, event.cycle) == (task.run, task.cycle)
        and (decision := read(DecisionMade, event.data)).action == "accept"
        and decision.by != "burnish"
    ]
    predicate = {
        "burnish": __version__,
        "task": {"id": str(task.id), "title": task.spec.title, "criteria": list(task.spec.criteria)},
        "commit": approval.commit,
        "tree": read_commit(app.repo, approval.commit).tree,
        "base": approval.base,
        "verdict": "approved",
        "approved_at": approval.ts,
        # "": the reviewers
        "approved_by": approval.by,
        "criteria_hash": approval.judge,
        "cycles": task.cycle,
        "checks": [
            {key: check.get(key) for key in ("name", "command", "status", "counts", "blocking")}
            for check in (encode(checks[-1].result.checks) if checks else [])
        ],
        "reviewers": [
            {
                "agent": one.agent,
                "model": one.model,
                "verdict": one.verdict,
                "reviewed_at": one.reviewed_at,
                "raw_sha256": one.raw_sha256,
            }
            for review in reviews
            for one in review.result.reviewers
        ],
        # of people: an approval at the gate
        "decisions": [{"by": one.by, "choice": one.choice, "via": one.via} for one in decisions],
        "overrides": [
            {"by": one.by, "category": one.category, "explanation": one.explanation, "verdict": one.verdict}
            for one in overrides
        ],
        "waived": [
            {"id": one.id, "title": one.remark.title, "by": one.waiver.by, "reason": one.waiver.reason}
            for one in history.findings
            if one.state is FindingState.WAIVED and one.waiver
        ],
        "open_findings": [one.id for one in history.findings if one.alive],
        "unseen_files": [file.path for review in reviews for file in review.result.unseen_files],
    }
    subject = {"name": "commit", "digest": {"gitCommit": approval.commit}}
    statement = {"_type": STATEMENT_TYPE, "subject": [subject], "predicateType": PREDICATE_TYPE, "predicate": predicate}
    clean: dict[str, Any] = app.event_log.secrets.clean(statement)
    return clean


def _signed_bytes(statement: bytes) -> bytes:
    """The pre-authentication encoding of DSSE."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(statement), statement)


# -- signatures -----------------------------------------------------------------------------------


def _setting(root: Path, name: str) -> str:
    return user_git(root, "config", "--get", name).stdout.decode(errors="replace").strip()


def _own_setting(root: Path, name: str) -> str:
    """A path of the user's or the machine's settings. Those of the repository do not count: who wrote it is unknown."""
    values = user_git(root, "config", "--null", "--show-scope", "--path", "--get-all", name).stdout.split(b"\0")
    pairs = zip(values[::2], values[1::2], strict=False)
    return next((os.fsdecode(path) for scope, path in reversed([*pairs]) if scope not in (b"local", b"worktree")), "")


def _sign(root: Path, data: bytes) -> tuple[str, str]:
    """The format and the signature."""
    key, format = _setting(root, "user.signingkey"), _setting(root, "gpg.format") or "openpgp"
    if format not in ("ssh", "openpgp"):
        raise BadInput(
            f"Attestations cannot be signed with gpg.format {format}: only SSH and GPG keys are supported.",
            hint="git config gpg.format ssh; git config user.signingkey ~/.ssh/id_ed25519.pub",
        )
    if not key:
        raise BadInput(
            "An attestation is signed with the key that git signs with, and none is set.",
            hint="git config --global gpg.format ssh; git config --global user.signingkey ~/.ssh/id_ed25519.pub "
            "(for GPG: git config --global user.signingkey YOUR-KEY-ID)",
        )
    return format, _sign_with_ssh(key, data) if format == "ssh" else _sign_with_gpg(key, data)


def _sign_with_ssh(key: str, data: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = expanded(key)
        if key.startswith(("key::", "ssh-", "ecdsa-", "sk-")):
            # a key of the SSH agent, named by its public half
            path = Path(folder) / "key.pub"
            path.write_text(key.removeprefix("key::") + "\n")
        result = _ssh_keygen(Path(folder), "sign", "-n", NAMESPACE, "-f", str(path), stdin=data)
    if result.exit_code:
        lines = result.stderr.decode(errors="replace").strip().split("\n")
        raise BurnishError(f"ssh-keygen could not sign: {lines[-1]}", hint=f"Check the key {key} and your SSH agent.")
    return result.stdout.decode()


def _sign_with_gpg(key: str, data: bytes) -> str:
    result = _gpg("--detach-sign", "--armor", "--local-user", key, stdin=data)
    if result.exit_code:
        lines = result.stderr.decode(errors="replace").strip().split("\n")
        raise BurnishError(f"gpg could not sign: {lines[-1]}", hint=f"Check the key: gpg --list-secret-keys {key}")
    return result.stdout.decode()


def _gpg(*args: str, stdin: bytes = b"", home: Path | None = None) -> Captured:
    """The user's own gpg; with `home`, a new keyring there and nothing of the user's settings or of key servers."""
    program = find_own_program("gpg")
    if program is None:
        raise BurnishError("gpg is not installed.", hint="Install GnuPG, version 2.1 or later.")
    env = {**os.environ, "PATH": own_path(), "LC_ALL": "C"}
    alone = ("--homedir", str(home), "--no-options", "--no-autostart", "--no-auto-key-retrieve") if home else ()
    return capture(
        [program, *alone, "--batch", "--status-fd", "2", *args], cwd=Path("/"), env=env, stdin=stdin, timeout=120
    )


def _ssh_keygen(folder: Path, action: str, *args: str, stdin: bytes) -> Captured:
    program = find_own_program("ssh-keygen")
    if program is None:
        raise BurnishError("ssh-keygen is not installed.", hint="Install OpenSSH, version 8.2 or later.")
    env = {**os.environ, "PATH": own_path(), "LC_ALL": "C"}
    return capture([program, "-Y", action, *args], cwd=folder, env=env, stdin=stdin, timeout=120)


# -- verification ---------------------------------------------------------------------------------


class NotVerified(BurnishError):
    """The commit has no statement that holds. Exit code 1."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Verified:
    commit: str
    signer: str
    predicate: Mapping[str, Any]

    @property
    def reviewers(self) -> tuple[str, ...]:
        return self._names("reviewers", "agent")

    @property
    def people(self) -> tuple[str, ...]:
        """The people who approved it themselves, at the gate or by their own review."""
        alone = self.predicate.get("approved_by")
        names = [alone] if isinstance(alone, str) and alone else []
        return tuple(dict.fromkeys(map(_as_person, (*names, *self._names("decisions", "by")))))

    @property
    def overriders(self) -> tuple[str, ...]:
        """The people who approved it against a review."""
        return tuple(dict.fromkeys(map(_as_person, self._names("overrides", "by"))))

    def _names(self, key: str, field: str) -> tuple[str, ...]:
        rows = self.predicate.get(key)
        names = [str(row.get(field)) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return tuple(dict.fromkeys(names))

    @property
    def unseen_count(self) -> int:
        files = self.predicate.get("unseen_files")
        return len(files) if isinstance(files, list) else 0

    def as_json(self) -> dict[str, Any]:
        return {"commit": self.commit, "signer": self.signer, "verified": True, "predicate": dict(self.predicate)}


def _as_person(name: str) -> str:
    return name if name.startswith(PERSON) else f"{PERSON}{name}"


def verify(
    start: Path, revision: str, *, signers: Path | None, statement: Path | None, allow_override: bool
) -> Verified:
    """Check the signature, the commit, the tree and the verdict. Needs the repository and no burnish home."""
    found = discover(start)
    commit = _resolve(found, f"{revision}^{{commit}}", f"There is no commit {revision!r}.")
    tree = _resolve(found, f"{commit}^{{tree}}", f"The tree of {commit[:12]} is missing.")
    payload, format, signature = _open_envelope(_envelope_of(found, commit, statement))
    check = _check_ssh_signature if format == "ssh" else _check_gpg_signature
    signer = check(_signers_file(found, signers, format), payload, signature)
    predicate = _checked_predicate(payload, commit, tree)
    if predicate.get("verdict") != "approved":
        raise NotVerified(f"{commit[:12]} is not approved: {str(predicate.get('verdict'))[:40]}.", hint="")
    if predicate.get("overrides") != [] and not allow_override:
        hint = "Accept overrides with --allow-override."
        raise NotVerified(f"The review of {commit[:12]} was overridden by a person.", hint=hint)
    return Verified(commit, signer, predicate)


def _read_git(found: FoundRepository, *args: str) -> Captured:
    """git without programs that the repository names: with the user's git, a missing object would start them."""
    env = bare_env(found.git_dir) | {"GIT_DIR": str(found.git_dir)}
    return git(*args, cwd=found.git_dir, env=env, ok=(0, 1, *READ_FAILED))


def _resolve(found: FoundRepository, revision: str, problem: str) -> str:
    result = _read_git(found, "rev-parse", "--verify", "--quiet", "--end-of-options", revision)
    text = result.stdout.decode(errors="replace").strip()
    if result.exit_code or not text:
        raise BadInput(problem, hint="Fetch it first, or name another one.")
    return text.split("\n")[-1]


def _envelope_of(found: FoundRepository, commit: str, statement: Path | None) -> bytes:
    if statement is not None:
        try:
            with statement.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise BadInput(f"{statement} cannot be read: {error.strerror}.", hint="Name another file.") from error
    name = f"{REF}{commit}:{FILE}"
    size = _read_git(found, "cat-file", "-s", name).stdout.strip()
    result = _read_git(found, "cat-file", "blob", name) if not size.isdigit() or int(size) <= MAX_BYTES else None
    if result is None:
        raise NotVerified(f"The attestation of {commit[:12]} is too large to be one of burnish.", hint="")
    if result.exit_code:
        raise NotVerified(
            f"{commit[:12]} has no attestation.",
            hint=f"Fetch them: git fetch origin '{REF}*:{REF}*'; or write one: burnish attest TASK",
        )
    return result.stdout


def _open_envelope(data: bytes) -> tuple[bytes, str, str]:
    """The signed bytes' payload, and format and text of the one signature."""
    try:
        if len(data) > MAX_BYTES:
            raise ValueError("it is too large")
        envelope = strictjson.loads(data.decode())
        (signature,) = envelope["signatures"]
        if envelope["payloadType"] != PAYLOAD_TYPE or signature["format"] not in ("ssh", "openpgp"):
            raise ValueError("its type or signature is of another kind")
        sig: str = signature["sig"]
        sig.encode()  # half of a surrogate pair cannot be written to a file
        return base64.b64decode(envelope["payload"], validate=True), signature["format"], sig
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error, RecursionError):
        raise NotVerified("The attestation cannot be read: it is not one signed statement.", hint="") from None


def _signers_file(found: FoundRepository, signers: Path | None, format: str) -> Path:
    """The list of allowed signers, from outside of the repository unless it is named."""
    text = "" if signers or format != "ssh" else _own_setting(found.root, "gpg.ssh.allowedSignersFile")
    path = signers or (Path(text) if text else None)
    hint = _SIGNER_HINTS[format]
    if path is None or not path.is_file():
        raise BadInput("There is no list of allowed signers." if path is None else f"{path} does not exist.", hint=hint)
    if (b"BEGIN PGP PUBLIC KEY" in (read_regular(path, longest=MAX_BYTES) or b"")) is not (format == "openpgp"):
        kinds = ("a GPG key", "SSH keys") if format == "openpgp" else ("an SSH key", "GPG keys")
        raise BadInput(f"The attestation is signed with {kinds[0]}, and {path} lists {kinds[1]}.", hint=hint)
    if signers is None and any(path.resolve().is_relative_to(folder) for folder in _folders(found)):
        raise BadInput(
            f"{path} lies in the repository, so that the commit itself could change it.",
            hint="Name it if that is intended: --allowed-signers FILE",
        )
    return path.resolve()


def _folders(found: FoundRepository) -> list[Path]:
    """The git directory and all work trees of the repository: a commit may lie in each of them."""
    places = (found.root, found.git_dir, found.common_dir, *list_checkouts(found.common_dir))
    return [place.resolve() for place in places]


def _check_ssh_signature(signers: Path, payload: bytes, signature: str) -> str:
    data = _signed_bytes(payload)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "signature"
        file.write_text(signature)
        found = _ssh_keygen(Path(folder), "find-principals", "-f", str(signers), "-s", str(file), stdin=b"")
        names = found.stdout.decode(errors="replace").split("\n") if found.exit_code == 0 else []
        for name in filter(None, map(str.strip, names)):
            args = ("-f", str(signers), "-I", name, "-n", NAMESPACE, "-s", str(file))
            if _ssh_keygen(Path(folder), "verify", *args, stdin=data).exit_code == 0:
                return name
    raise NotVerified(
        "The signature of the attestation is not valid, or its key is not an allowed signer.",
        hint=f"Allowed signers are listed in {signers}.",
    )


def _check_gpg_signature(signers: Path, payload: bytes, signature: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        # a keyring with the allowed keys alone
        home = Path(folder) / "gnupg"
        home.mkdir(mode=0o700)
        file = Path(folder) / "signature.asc"
        file.write_text(signature)
        _gpg("--import", str(signers), home=home)
        result = _gpg("--trust-model", "always", "--verify", str(file), "-", stdin=_signed_bytes(payload), home=home)
    lines = result.stderr.decode(errors="replace").split("\n")
    words = [line.removeprefix("[GNUPG:] ").split(" ") for line in lines if line.startswith("[GNUPG:] ")]
    good = [line for line in words if line[0] == "GOODSIG"]
    valid = [line for line in words if line[0] == "VALIDSIG"]
    # an expired or revoked key, or one that is not in the list, has another word in place of GOODSIG
    if result.exit_code == 0 and len(good) == 1 and len(valid) == 1:
        return f"{' '.join(good[0][2:])} ({valid[0][-1]})"
    raise NotVerified(
        "The signature of the attestation is not valid, or its key is not an allowed signer, or has expired.",
        hint=f"Allowed keys are those in {signers}.",
    )


_SIGNER_HINTS = {
    "ssh": 'Write "you@example.org ssh-ed25519 AAAA…" to a file and name it: --allowed-signers FILE',
    "openpgp": "Export the keys and name the file: gpg --armor --export you@example.org > FILE; --allowed-signers FILE",
}


def _checked_predicate(payload: bytes, commit: str, tree: str) -> Mapping[str, Any]:
    """The predicate of a statement about exactly this commit and tree."""
    try:
        statement = strictjson.loads(payload.decode())
        (subject,) = statement["subject"]
        predicate = statement["predicate"]
        kinds = (statement["_type"], statement["predicateType"])
        commits = (subject["digest"]["gitCommit"], predicate["commit"])
        tree_in_statement = predicate["tree"]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        raise NotVerified("The signed statement has another form.", hint="") from None
    if kinds != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise NotVerified("The signed statement is of another type.", hint="")
    if commits != (commit, commit) or tree_in_statement != tree:
        raise NotVerified(f"The signed statement is about another commit than {commit[:12]}.", hint="")
    found: Mapping[str, Any] = predicate
    return found
