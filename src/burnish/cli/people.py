"""burnish people, burnish audit"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import count, one_line, pad, say, say_json, tell, width
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.core.people import AuditEntry

_ACTIONS = "Use `burnish people`, or it with add NAME, link NAME, revoke NAME or role NAME ROLE."


def people(
    action: Annotated[
        str | None, Argument(metavar="[add|list|link|revoke|role]", help="The action; list if omitted.")
    ] = None,
    name: Annotated[str | None, Argument(metavar="NAME", help="The name of the person.")] = None,
    new_role: Annotated[str | None, Argument(metavar="ROLE", help="With role: the new role.")] = None,
    role: Annotated[str, Option("--role", metavar="ROLE", help="With add: viewer, reviewer or maintainer.")] = "viewer",
    hours: Annotated[
        float, Option("--hours", min=0.01, max=720, metavar="HOURS", help="With link: how long it is valid.")
    ] = 24.0,
    as_json: AsJson = False,
) -> None:
    """List, add and revoke people of the server, and change roles.

    add prints a token, once. link prints a link that logs the person in once. revoke ends the token, the links and
    all sessions at once. A viewer reads; a reviewer comments, reviews, decides and waives; a maintainer may do
    everything. Without people, the token of `burnish serve` is the only way in.
    """
    if action in (None, "list"):
        _list(as_json)
        return
    from burnish import runtime
    from burnish.features.people import people as features

    runtime.refuse_inside_phase()
    if action not in ("add", "link", "revoke", "role"):
        raise BadInput(f"Unknown action {action!r}.", hint=_ACTIONS)
    if not name:
        raise BadInput("Missing argument 'NAME'.", hint=_ACTIONS)
    by = features.Administrator.at_terminal()
    home = runtime.home_of()
    from burnish.runtime.reader import open_home_to_write

    with open_home_to_write(home) as store:
        if action == "add":
            token = features.add(store, name, features.role_named(role), by)
            _tell_token(name, role, token, features.served_url(home), as_json)
        elif action == "link":
            code = features.new_link(store, name, by, hours=hours)
            url = features.served_url(home)
            link = f"{url}/login?link={code}"
            say_json({"name": name, "link": link}) if as_json else say(link)
            if not url:
                tell("No server of this home has run yet, so the link lacks its address. Write it in front of the")
                tell("link, or set it: burnish config set serve.url https://burnish.example.org")
        elif action == "revoke":
            features.revoke(store, name, by)
            say_json({"name": name}) if as_json else say(f"Revoked {name}. Token, links and sessions have ended.")
        else:
            if not new_role:
                raise BadInput("Missing argument 'ROLE'.", hint="Roles: viewer, reviewer, maintainer.")
            features.set_role(store, name, features.role_named(new_role), by)
            say_json({"name": name, "role": new_role}) if as_json else say(f"{name} is a {new_role} now.")


def _tell_token(name: str, role: str, token: str, url: str, as_json: bool) -> None:
    if as_json:
        say_json({"name": name, "role": role, "token": token})
        return
    say(token)
    where = f"at {url}/login" if url else "on the login page of `burnish serve`"
    tell(f"This is the only time that the token of {name} ({role}) is printed. It is entered {where},")
    tell(f"or use a one-time link instead: burnish people link {name}")


def _list(as_json: bool) -> None:
    from burnish.features.people import people as features
    from burnish.runtime.reader import open_store

    _, store = open_store()
    with store:
        found = features.people(store)
    if as_json:
        keys = ("name", "role", "created_at", "created_by", "seen_at")
        say_json({"people": [{key: str(getattr(one, key)) for key in keys} for one in found]})
        return
    if not found:
        say("No people: the token of `burnish serve` is the only way in. Add one: burnish people add NAME")
        return
    longest = max(width(one.name) for one in found)
    for one in found:
        last_login = f"last login {one.seen_at[:16].replace('T', ' ')}" if one.seen_at else "never logged in"
        say(f"{pad(one.name, longest)}  {pad(one.role, 10)}  since {one.created_at[:10]}  {last_login}")


def audit(
    person: Annotated[str, Option("--person", metavar="NAME", help="Only of this person.")] = "",
    project: Annotated[str, Option("--project", metavar="PROJECT", help="Only of this project (its key).")] = "",
    number: Annotated[int, Option("-n", min=1, max=100_000, metavar="N", help="The newest N entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what was done on the server: who, when, from where.

    Requests that changed something, logins, changes of people, and refused attempts. What commands did is in
    `burnish events`.
    """
    from burnish import runtime
    from burnish.runtime.reader import open_store

    runtime.refuse_inside_phase()
    _, store = open_store()
    with store:
        found = store.people.entries(person=person, project=project, most=number)
    if as_json:
        say_json({"entries": [audit_json(one) for one in found]})
        return
    for one in found:
        say(_line(one))
    if not found:
        tell("The audit trail has no such entries.")


def audit_json(one: AuditEntry) -> dict[str, object]:
    keys = ("ts", "person", "role", "via", "address", "project", "task", "action", "status", "more")
    return {key: getattr(one, key) for key in keys} | {"refused": one.is_refused}


def _line(one: AuditEntry) -> str:
    who = one.person or "unknown"
    place = f"{one.via} {one.address}".strip()
    task = f" (task {one.task})" if one.task else ""
    more = f", and {count(one.more, 'similar request')}" if one.more else ""
    result = f"refused {one.status}{more}" if one.is_refused else str(one.status)
    return one_line(f"{one.ts[:19].replace('T', ' ')}  {who}  {place}  {one.action}{task}  {one.project}  {result}")
