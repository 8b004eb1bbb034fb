"""Trust per checkout: without it, nothing that a repository names is started or read.

Acceptances are stored in the burnish home, one file per checkout, and as events of the project. A checkout is
identified by its path and by the identity of its git directory, so another clone at the same path is a different one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish import config as settings
from burnish.adapters.redaction import secrets_from_environment
from burnish.config.loading import project_layer, user_layer
from burnish.config.repository import RepositoryContent, repository_content
from burnish.config.sources import Layer, env_layer
from burnish.core.event import Event
from burnish.core.journal_events import TrustGranted, TrustRevoked, new_event
from burnish.core.secrets import mask, mask_all
from burnish.errors import BadInput, BurnishError, Untrusted
from burnish.git.discovery import FoundRepository, discover
from burnish.git.files import disk_errors, write_whole
from burnish.proc.birth import identity_of
from burnish.proc.folders import private_folder
from burnish.proc.identity import login_name
from burnish.proc.own_programs import enclosing_checkouts, record_checkout
from burnish.runtime.project_identity import locate
from burnish.runtime.reader import home_of, open_home_to_write, refuse_inside_phase
from burnish.store import Store

if TYPE_CHECKING:
    from burnish.config.settings import Config

# Branches with different settings are accepted separately; switching back must not ask again.
MAX_ACCEPTED = 20
BY_COMMAND, BY_ANSWER, BY_INIT, BY_DEMO = "burnish trust", "answer on the terminal", "burnish init", "burnish demo"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One content of the repository that a person accepted."""

    digest: str
    at: str
    by: str
    how: str
    # as it was, to show what changed since
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckoutTrust:
    """The settings and files of a checkout, and whether a person accepted exactly these."""

    found: FoundRepository
    content: RepositoryContent
    # oldest first
    accepted: tuple[Acceptance, ...] = ()
    # why the content cannot be read
    problem: BurnishError | None = None
    # True if hints are shown to a user who may be on another machine, in a browser.
    is_remote: bool = False

    @property
    def is_trusted(self) -> bool:
        return self.problem is None and self.acceptance is not None

    @property
    def acceptance(self) -> Acceptance | None:
        """The acceptance of the current content."""
        digest = self.content.digest
        return next((one for one in reversed(self.accepted) if one.digest == digest), None)

    @property
    def accepted_files(self) -> Mapping[str, str]:
        """Paths of files that may be used, each with the hash of its content or the target of its link."""
        return self.content.files if self.is_trusted else {}

    @property
    def state(self) -> str:
        return "trusted" if self.is_trusted else "changed" if self.accepted else "untrusted"

    def require(self) -> None:
        """Raise unless the checkout is trusted."""
        if self.is_trusted:
            return
        check_settings(self)  # report invalid settings first
        raise Untrusted(self.why, hint=self.remedy, root=str(self.found.root))

    @property
    def why(self) -> str:
        root = self.found.root
        if self.accepted:
            return f"The settings of {root} have changed since they were trusted. Nothing was run."
        return f"The checkout {root} is not trusted. Nothing was run."

    @property
    def remedy(self) -> str:
        return f"See what it would run: {self.command('--show')}. Then accept it: {self.command()}"

    def command(self, *arguments: str) -> str:
        """The command to type, from the user's current directory."""
        here = not self.is_remote and _has_cwd() and Path.cwd().is_relative_to(self.found.root)
        place = () if here else ("-C", shlex.quote(str(self.found.root)))
        return " ".join(("burnish", *place, "trust", *arguments))


def examine(found: FoundRepository, home: Path | None = None) -> CheckoutTrust:
    """The trust of a checkout. Reads only files; never raises because of the repository's content."""
    trust = _read_trust(found, home)
    record_checkout(found.root, trusted=trust.is_trusted)
    for place in enclosing_checkouts(found.root):
        # It may be trusted as well; then agents find the programs of its environment.
        with suppress(BurnishError):
            outer = discover(place)
            if _read_acceptances(outer, home or home_of()):
                record_checkout(outer.root, trusted=_read_trust(outer, home).is_trusted)
    return trust


def current_trust(trust: CheckoutTrust, home: Path) -> CheckoutTrust:
    """The trust as it is now, for a run that goes on. What this process knows about the checkout stays as it is."""
    return _read_trust(trust.found, home)


def _read_trust(found: FoundRepository, home: Path | None) -> CheckoutTrust:
    acceptances = _read_acceptances(found, home or home_of())
    try:
        return CheckoutTrust(found, repository_content(found.root, _user_layers(found.root)), acceptances)
    except BurnishError as problem:
        return CheckoutTrust(found, RepositoryContent(), acceptances, problem)
    except OSError as error:
        what = f"Cannot read the settings of {found.root}: {error.strerror or error}."
        return CheckoutTrust(found, RepositoryContent(), acceptances, BurnishError(what, hint="Check its permissions."))


def _user_layers(root: Path) -> list[Layer]:
    """The user's settings, which may name files of the checkout. Errors are reported when they are loaded."""
    try:
        user = user_layer(os.environ)
        layers = (user, project_layer(user, root), env_layer(os.environ, {}))
    except BurnishError:
        return []
    return [layer for layer in layers if layer]


def load_settings(trust: CheckoutTrust, flags: Mapping[str, Any] | None = None) -> Config:
    """The effective settings; those of the repository only if it is trusted."""
    return settings.load(trust.found.root, flags=flags, repository=trust.is_trusted and trust.content)


def settings_at(start: Path) -> tuple[Path | None, Config]:
    """The checkout that contains `start` (None outside of one), and its effective settings."""
    try:
        found = discover(start)
    except BadInput:
        return None, settings.load(None)
    trust = examine(found)
    check_settings(trust)
    return found.root, load_settings(trust)


def settings_with(root: Path | None, user_text: str) -> Config:
    """The settings that would be in force with this content of the user's file."""
    alone = settings.load(None, user_text=user_text)
    if root is None:
        return alone
    trust = examine(discover(root))
    return settings.load(root, repository=trust.is_trusted and trust.content, user_text=user_text)


def check_settings(trust: CheckoutTrust) -> None:
    """Raise for invalid settings, trusted or not; does not apply them."""
    if trust.problem:
        raise trust.problem
    settings.load(trust.found.root)


def grant(
    found: FoundRepository, *, how: str, store: Store | None = None, shown_trust: CheckoutTrust | None = None
) -> CheckoutTrust:
    """Accept the checkout with its current content; `shown_trust` is what the person saw before answering."""
    refuse_inside_phase()
    home = home_of()
    trust = examine(found, home)
    check_settings(trust)
    if shown_trust is not None and shown_trust.content.digest != trust.content.digest:
        raise Untrusted(
            f"The settings of {found.root} have changed while they were shown. Nothing was accepted.",
            hint=trust.remedy,
            root=str(found.root),
        )
    if trust.is_trusted:
        return trust
    return _record(trust, home, how, store)


def revoke(found: FoundRepository, *, store: Store | None = None) -> bool:
    """Remove all acceptances; False if there were none."""
    refuse_inside_phase()
    home = home_of()
    trust = examine(found, home)
    file = _file(home, found)
    if not file.exists():
        return False
    with disk_errors(f"removing {file}"):
        file.unlink()
    if trust.accepted:
        _record_event(found, home, new_event("trust.revoked", TrustRevoked(str(found.root), _person())), store)
    return bool(trust.accepted)


@contextmanager
def staying_trusted(
    found: FoundRepository, *, how: str, paths: tuple[str, ...], store: Store | None = None
) -> Iterator[None]:
    """Keep the checkout trusted while the user writes files through burnish, if nothing else changes.

    `paths` are the files that the user writes; `burnish.yaml` stands for the settings.
    """
    home = home_of()
    before = examine(found, home)
    yield
    if not before.is_trusted:
        return
    after = examine(found, home)
    if not after.is_trusted and after.problem is None and _changed(before.content, after.content) <= set(paths):
        _record(after, home, how, store)


def _changed(before: RepositoryContent, after: RepositoryContent) -> set[str]:
    names = before.files.keys() | after.files.keys()
    paths = {name for name in names if before.files.get(name) != after.files.get(name)}
    return paths | ({"burnish.yaml"} if before.settings != after.settings else set())


def _record(trust: CheckoutTrust, home: Path, how: str, store: Store | None) -> CheckoutTrust:
    found, content = trust.found, trust.content
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    # Only the digest must be exact; the texts stored to show differences later are redacted.
    secrets = secrets_from_environment()
    # Masked as in `trust --show`, so that the two can be compared.
    plain = mask_all(secrets, json.loads(json.dumps(dict(content.settings), default=str)))
    texts = {path: mask(secrets, text) for path, text in content.texts.items()}
    new = Acceptance(content.digest, now, _person(), how, plain, dict(content.files), texts)
    acceptances = (*trust.accepted, new)[-MAX_ACCEPTED:]
    file = _file(home, found)
    record = {
        "root": str(found.root),
        "common_dir": str(found.common_dir),
        "identity": identity_of(found.common_dir),
        "accepted": [asdict(one) for one in acceptances],
    }
    with disk_errors(f"writing {file}"):
        private_folder(file.parent)
        write_whole(file, json.dumps(record).encode())
    event = new_event("trust.granted", _granted(trust, new))
    _record_event(found, home, replace(event, data=secrets.clean(event.data)), store, is_trusted=True)
    return replace(trust, accepted=acceptances)


def _granted(trust: CheckoutTrust, new: Acceptance) -> TrustGranted:
    layer = trust.content.layer
    return TrustGranted(
        root=str(trust.found.root),
        by=new.by,
        how=new.how,
        digest=new.digest,
        settings=layer.name if layer else "",
        files=tuple(sorted(new.files)),
    )


def _record_event(
    found: FoundRepository, home: Path, event: Event, store: Store | None, *, is_trusted: bool = False
) -> None:
    with _open_store(store, home) as log:
        project = locate(log, found, home, create=True, is_trusted=is_trusted).project
        assert project
        log.record(project.key, None, [event])


@contextmanager
def _open_store(store: Store | None, home: Path) -> Iterator[Store]:
    if store is not None:
        yield store
        return
    with open_home_to_write(home) as own:
        yield own


def _read_acceptances(found: FoundRepository, home: Path) -> tuple[Acceptance, ...]:
    """The acceptances of this checkout; a damaged file counts as none."""
    try:
        record = json.loads(_file(home, found).read_bytes())
        same = (record["root"], record["common_dir"], record["identity"]) == (
            str(found.root),
            str(found.common_dir),
            identity_of(found.common_dir),
        )
        return tuple(Acceptance(**one) for one in record["accepted"]) if same else ()
    except (OSError, ValueError, TypeError, KeyError):
        return ()


def _file(home: Path, found: FoundRepository) -> Path:
    name = hashlib.sha256(os.fsencode(found.root) + b"\0" + os.fsencode(found.common_dir)).hexdigest()[:32]
    return home / "trust" / f"{name}.json"


def _person() -> str:
    return f"user:{login_name()}"


def _has_cwd() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True
