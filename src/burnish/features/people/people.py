"""People of the server: add, list, revoke, change roles, one-time links. Every change is in the audit trail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.config.loading import load
from burnish.core.people import AuditEntry, Person, Role, is_name
from burnish.errors import BadInput, NotFound
from burnish.git.files import write_whole
from burnish.proc.identity import login_name
from burnish.proc.slots import slot
from burnish.store import Store
from burnish.store.people import PersonRow

LINK_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Administrator:
    """Who changes the people, and from where."""

    name: str
    role: str
    via: str
    address: str = ""

    @classmethod
    def at_terminal(cls) -> Administrator:
        return cls(f"user:{login_name()}", Role.MAINTAINER.value, "cli")

    @classmethod
    def of_request(cls, person: Person, via: str, address: str) -> Administrator:
        name = person.name or f"user:{login_name()}"
        return cls(name, person.role.value, via, address)


def role_named(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise BadInput(f"There is no role {text!r}.", hint=f"Roles: {', '.join(Role)}.") from None


def add(store: Store, name: str, role: Role, by: Administrator) -> str:
    """The token of the new person. It is stored as a digest only, so this is the one time that it is known."""
    if not is_name(name):
        raise BadInput(
            f"{name!r} cannot be the name of a person.",
            hint="Use up to 64 letters, digits and . _ @ + -, beginning with a letter or a digit.",
        )
    token = store.people.add(name, role, by.name)
    if token is None:
        raise BadInput(f"There is a person {name} already.", hint=f"To give a new token: burnish people revoke {name}")
    _record(store, by, f"people add {name} --role {role}")
    return token


def people(store: Store) -> list[PersonRow]:
    return store.people.everyone()


def revoke(store: Store, name: str, by: Administrator) -> None:
    """End the person's token, links, logins and sockets."""
    if not store.people.revoke(name):
        raise _unknown(name)
    _record(store, by, f"people revoke {name}")


def set_role(store: Store, name: str, role: Role, by: Administrator) -> None:
    if not store.people.set_role(name, role):
        raise _unknown(name)
    _record(store, by, f"people role {name} {role}")


def new_link(store: Store, name: str, by: Administrator, *, hours: float = LINK_HOURS) -> str:
    """The code of a link that logs the person in once."""
    code = store.people.new_link(name, hours)
    if code is None:
        raise _unknown(name)
    _record(store, by, f"people link {name}")
    return code


def served_url(home: Path) -> str:
    """The address of the server: `serve.url` of the user, else what a server of this home has written, else ""."""
    if own := load(None, repository=False).serve.url:
        return own.rstrip("/")
    try:
        return str(json.loads((home / "serve" / "lock").read_text("utf-8"))["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no person {name}.", hint="`burnish people` lists them.")


def _record(store: Store, by: Administrator, action: str) -> None:
    store.people.record(AuditEntry("", by.name, by.role, by.via, by.address, "", None, action, 200))


PREFERENCES = "preferences.json"


def preferences(home: Path, person: str) -> dict[str, str]:
    """What the pages remember for a person, such as saved filters; "" is the owner. Unreadable ones are empty."""
    return dict(_all_preferences(home).get(person, {}))


def set_preferences(home: Path, person: str, values: Mapping[str, str]) -> dict[str, str]:
    """Put these values beside the others of the person; an empty value removes one."""
    with slot(home / "locks", "preferences", 1):
        everyone = _all_preferences(home)
        own = {name: text for name, text in {**everyone.get(person, {}), **values}.items() if text}
        write_whole(home / PREFERENCES, json.dumps({**everyone, person: own}, ensure_ascii=True).encode())
    return own


def _all_preferences(home: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads((home / PREFERENCES).read_bytes())
        return {str(who): {str(name): str(text) for name, text in own.items()} for who, own in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}
