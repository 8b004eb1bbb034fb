"""Everything that can be missing or weak, each with its remedy. Looks only; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from burnish.adapters.checks.last_results import LastResult, read_results
from burnish.adapters.redaction import secrets_from_environment
from burnish.adapters.task_locks import is_runner_dead
from burnish.core.flow import RUNNING
from burnish.errors import BadInput, BurnishError
from burnish.features.doctor.agents import configured_signs, program_versions
from burnish.features.doctor.diagnostic import MISSING, Diagnostic, DiagnosticGroup, clean_signs
from burnish.features.doctor.machine import RUNS, agent_signs, database_sign, machine_signs
from burnish.git.discovery import discover
from burnish.git.integrity import forget_check
from burnish.proc.shim_files import wait_for_orphans
from burnish.runtime.reader import home_of
from burnish.store import Store

# a clock that differs more makes the times of events on several machines hard to read
MAX_CLOCK_SECONDS = 2.0


def examine(start: Path, *, encoding: str) -> list[Diagnostic]:
    """The machine, and the repository that `start` lies in, if any."""
    home = home_of()
    with suppress(BadInput):  # reported with the checkout
        discover(start)  # first: from here on no program of burnish's own is taken from there
    signs = list(machine_signs(home, encoding=encoding))
    sign, store = database_sign(home)
    others = configured_signs(start)
    signs += [sign, *agent_signs(program_versions(start), others=bool(others)), *others]
    can_git = signs[0].state != MISSING
    if store is None:
        signs += _repository_signs(start, {}, can_git=can_git)
    else:
        with store:
            key = _project_key(start, store)
            found_signs = list(_repository_signs(start, read_results(home, key) if key else {}, can_git=can_git))
            if key and any(sign.name == "damage" for sign in found_signs):
                # else the next run would only look at refs: it has read all objects since the machine started
                with suppress(OSError):
                    forget_check(home / "projects" / key / "git")
            signs += found_signs
            signs += _origin_signs(key, store)
            signs += _run_signs(home, store)
            signs += _cluster_signs(start, store) if store.is_shared else ()
    return clean_signs(secrets_from_environment(), signs)


def can_run(signs: list[Diagnostic]) -> bool:
    return all(sign.state != MISSING for sign in signs)


def _repository_signs(start: Path, results: Mapping[str, LastResult], *, can_git: bool) -> Iterator[Diagnostic]:
    group = DiagnosticGroup("repository")
    try:
        found = discover(start)
    except BadInput as error:
        # `doctor` without a repository is a question about the machine, and its exit code the answer to that
        describe = group.weak if "not inside" in error.what else group.missing
        yield describe("checkout", error.what, error.hint)
        yield from _own_settings_signs()
        return
    if not can_git:
        return
    from burnish.features.doctor.checkout import checkout_signs

    yield group.ok("checkout", str(found.root))
    try:
        yield from checkout_signs(found, results)
    except BurnishError as error:
        yield group.missing("git", error.what, error.hint)


def _project_key(start: Path, store: Store) -> str | None:
    try:
        common_dir = discover(start).common_dir
        return next((row.key for row in store.projects() if row.common_dir == common_dir), None)
    except BurnishError:
        return None  # reported with the checkout or the database


def _origin_signs(key: str | None, store: Store) -> Iterator[Diagnostic]:
    """The proof that tests import the tree under test, as it was stored with the newest baseline."""
    try:
        origins = store.baseline_origins(key) if key else None
    except BurnishError:
        return  # reported with the database
    if origins:
        places = "; ".join(f"{name} from {place}" for name, place in sorted(origins.origins.items()))
        what = f"`{origins.command}` imports the tree under test: {places} ({origins.captured_at[:10]})"
        yield DiagnosticGroup("repository").ok("imports", what, origins.origins)


def _cluster_signs(start: Path, store: Store) -> Iterator[Diagnostic]:
    """Machines that share the database: workers, the remote, the clocks."""
    from burnish.adapters.task_locks import LEASE_SECONDS
    from burnish.cluster.shared_refs import has_remote, remote_problem
    from burnish.runtime.trust import examine as examine_trust
    from burnish.user_settings import remote_name

    group = DiagnosticGroup("machines")
    seconds = store.clock_difference()
    what = f"{abs(seconds):.1f} s {'behind' if seconds > 0 else 'ahead of'} the database"
    if abs(seconds) < MAX_CLOCK_SECONDS:
        yield group.ok("clock", what)
    else:
        yield group.weak("clock", what, "Set it by NTP: times in lists are wrong. Leases use the server's clock.")
    for card in store.runners():
        if card.get("kind") != "worker":
            continue
        age = store.lease_age(str(card["id"])) or 0.0
        running = [str(task.id) for task in store.tasks(brief=True, statuses=RUNNING) if task.runner == card["id"]]
        labels = f", labels {' '.join(card['labels'])}" if card.get("labels") else ""
        facts = f"since {str(card['since'])[:16]}, burnish {card.get('version')}, -j {card.get('jobs')}{labels}"
        facts += f", running: {' '.join(running) or 'nothing'}"
        name = f"worker {card.get('executor')}"
        if age <= LEASE_SECONDS:
            yield group.ok(name, facts)
        else:
            yield group.weak(name, f"no sign of life for {age:.0f} s; {facts}", "Another worker takes its tasks over.")
    with suppress(BurnishError):
        found, remote = discover(start), remote_name()
        root = found.root
        if not has_remote(root, remote):
            yield group.weak("remote", f"no git remote {remote!r}", "Other machines need it to get branches of tasks.")
        elif not examine_trust(found).is_trusted:
            yield group.weak("remote", "not asked: the checkout is not trusted", "burnish trust")
        elif why := remote_problem(root, remote):
            yield group.missing("remote", why, f"Check it with `git ls-remote {remote}`.")
        else:
            yield group.ok("remote", f"{remote} can be reached")


def _own_settings_signs() -> Iterator[Diagnostic]:
    """Outside a repository: do the user's own settings load?"""
    from burnish import config

    try:
        config.load(None)
    except BurnishError as error:
        yield DiagnosticGroup("settings").missing("settings", error.what, error.hint)


def _run_signs(home: Path, store: Store) -> Iterator[Diagnostic]:
    """Tasks whose runner died, and programs that outlived it."""
    locks = home / "locks"
    try:
        held = [task for task in store.tasks(brief=True, statuses=RUNNING) if task.runner]
    except BurnishError as error:
        yield RUNS.missing("tasks", error.what, error.hint)
        return
    cut = [task for task in held if task.runner and is_runner_dead(store, locks, task.runner)]
    has_workers = any(card.get("kind") == "worker" for card in store.runners())
    orphans = [t for t in cut if not wait_for_orphans(locks / f"shims-{t.project}-{t.id}", seconds=0)]
    for task in cut:
        what = f"{task.project} T{task.id} was cut: its runner is gone"
        remedy = f"burnish run {task.id} goes on where it was"
        yield RUNS.weak("runner", what, f"A worker takes it over; {remedy}, too" if has_workers else remedy)
    for task in orphans:
        what = f"programs of {task.project} T{task.id} outlived their runner"
        yield RUNS.weak("programs", what, "They are ended within seconds; else `burnish run` waits for them.")
    if not cut:
        running = len(held)
        yield RUNS.ok("runners", f"{running} task{'' if running == 1 else 's'} running, none cut")
