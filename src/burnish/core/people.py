"""People of a server: their names, and the roles that decide what they may do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

# also an address, as a reverse proxy may send it
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")


class Role(StrEnum):
    """Each may do what those before it may do."""

    VIEWER = "viewer"  # reads
    REVIEWER = "reviewer"  # comments, reviews, decides at the gate, waives
    MAINTAINER = "maintainer"  # everything

    def covers(self, least: Role) -> bool:
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(least)


@dataclass(frozen=True, slots=True)
class Person:
    """Who sends a request. Without a name: the owner of the server, by the server's own token."""

    name: str
    role: Role

    @property
    def signature(self) -> str:
        """How records name the person. A login of the machine is `user:ada`, without `@web`."""
        return f"user:{self.name}@web"


# The user who started the server. Decisions are recorded with the name of that login.
OWNER = Person("", Role.MAINTAINER)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One request that changed something, or that was refused."""

    ts: str
    person: str  # "": not known
    role: str
    via: str  # web, api, proxy or cli
    address: str
    project: str
    task: int | None
    action: str  # e.g. `POST /api/v1/projects/{project}/tasks/{task}/decide`, or a command
    status: int
    # further refused requests that were not stored one by one
    more: int = 0

    @property
    def is_refused(self) -> bool:
        return self.status in (401, 403)
