"""People of a server, their one-time links, and the audit trail. Tokens and codes are stored as digests only."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from burnish.core.people import AuditEntry, Person, Role
from burnish.store.database import SHARED, Database

# of the audit trail, for each person and action: a person who repeats a request displaces only entries of that request,
# neither what others did nor the person's own decisions
MAX_DONE = 5_000
MAX_REFUSED = 500
_TRIM_EVERY = 64
_PREFIX = "bp_"


@dataclass(frozen=True, slots=True)
class PersonRow:
    name: str
    role: Role
    created_at: str
    created_by: str
    seen_at: str


@dataclass(frozen=True, slots=True)
class Identity:
    """A person, and the digest of the token, which names this login until it is revoked."""

    person: Person
    token: str


def new_token() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """SHA-256 is enough: a token has 256 random bits, so that it cannot be guessed from a list of words."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class PeopleRecords:
    _db: Database
    _now: Callable[[], str]

    def add(self, name: str, role: Role, by: str) -> str | None:
        """The token of the new person, which is not stored; None if the name is in use."""
        token = new_token()
        values = {"name": name, "role": role.value, "token": digest(token), "now": self._now(), "by": by}
        with self._db.writing(SHARED):
            return token if self._db.all("person_add", values) else None

    def everyone(self) -> list[PersonRow]:
        found = [
            PersonRow(r["name"], Role(r["role"]), r["created_at"], r["created_by"], r["seen_at"])
            for r in self._db.all("person_list", {})
        ]
        return sorted(found, key=lambda one: one.name)

    def named(self, name: str) -> Identity | None:
        row = self._db.one("person_named", {"name": name})
        return Identity(Person(row["name"], Role(row["role"])), row["token"]) if row else None

    def of_token(self, token: str) -> Identity | None:
        return self.of_digest(digest(token))

    def of_digest(self, token_digest: str) -> Identity | None:
        row = self._db.one("person_of_token", {"token": token_digest})
        return Identity(Person(row["name"], Role(row["role"])), token_digest) if row else None

    def saw(self, identity: Identity) -> None:
        """Record that the person logged in."""
        with self._db.writing(SHARED):
            self._db.all("person_seen", {"token": identity.token, "now": self._now()})

    def set_role(self, name: str, role: Role) -> bool:
        with self._db.writing(SHARED):
            return bool(self._db.all("person_role", {"name": name, "role": role.value}))

    def revoke(self, name: str) -> bool:
        """Remove the person; logins and links end with the token. False if there is none of that name."""
        with self._db.writing(SHARED):
            rows = self._db.all("person_remove", {"name": name})
            for row in rows:
                self._db.all("links_of_token", {"token": row["token"]})
            return bool(rows)

    # one-time links

    def new_link(self, name: str, hours: float) -> str | None:
        """A code that logs the person in once; None if there is no such person."""
        code = secrets.token_urlsafe(32)
        until = _later(self._now(), hours)
        with self._db.writing(SHARED):
            self._db.all("links_expire", {"now": self._now()})
            identity = self.named(name)
            if identity is None:
                return None
            self._db.all("link_add", {"code": digest(code), "token": identity.token, "until": until})
        return code

    def look_at_link(self, code: str) -> Identity | None:
        """The person of a link that is still valid; the link stays."""
        row = self._db.one("link_look", {"code": digest(code)})
        return self.of_digest(row["token"]) if row and row["until"] > self._now() else None

    def take_link(self, code: str) -> Identity | None:
        """The person of a link, which ends."""
        with self._db.writing(SHARED):
            row = self._db.one("link_take", {"code": digest(code)})
            return self.of_digest(row["token"]) if row and row["until"] > self._now() else None

    # the audit trail

    def record(self, entry: AuditEntry) -> None:
        """Append an entry. Beyond a limit, the oldest of the same person and action are removed."""
        values = {name: getattr(entry, name) for name in _COLUMNS}
        with self._db.writing(SHARED):
            last = self._db.all("audit_last", {})[0]["last"]
            id = int(last or 0) + 1
            self._db.all(
                "audit_add", {**values, "ts": entry.ts or self._now(), "id": id, "is_refused": int(entry.is_refused)}
            )
            group: dict[str, int | str] = {
                "is_refused": int(entry.is_refused),
                "person": entry.person,
                "action": entry.action,
            }
            # not at every n-th entry: its sender could choose which request that is
            if secrets.randbelow(_TRIM_EVERY) == 0:
                self._trim(group, MAX_REFUSED if entry.is_refused else MAX_DONE)

    def _trim(self, group: Mapping[str, int | str], most: int) -> None:
        row = self._db.one("audit_oldest_to_keep", {**group, "most": most})
        if row:
            self._db.all("audit_trim", {**group, "id": row["id"]})

    def entries(self, *, person: str = "", project: str = "", most: int = 200) -> list[AuditEntry]:
        """The newest first."""
        found = self._db.all("audit_list", {"person": person, "project": project, "most": most})
        return [AuditEntry(*row) for row in found]

    def names_in_audit(self) -> list[str]:
        return sorted(str(row["person"]) for row in self._db.all("audit_people", {}) if row["person"])


_COLUMNS = ("person", "role", "via", "address", "project", "task", "action", "status", "more")


def _later(now: str, hours: float) -> str:
    then = datetime.fromisoformat(now).astimezone(UTC) + timedelta(hours=hours)
    return then.strftime("%Y-%m-%dT%H:%M:%S.") + f"{then.microsecond // 1000:03d}Z"
