"""What a repository brings that helps or hinders the loop: settings, branches, checks, history."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.checkout_files import committable_files, detection_context, file_reader
from burnish.adapters.checks.environments import command_words
from burnish.adapters.checks.last_results import SETUP, LastResult, command_hash
from burnish.adapters.checks.tree_checks import tests_are_automatic
from burnish.adapters.configured_agents import can_start, missing_agent
from burnish.adapters.sandbox import missing_paths
from burnish.checks.discover import decide, discover, find_checks
from burnish.checks.environment import check_environment
from burnish.checks.runners import prepare
from burnish.checks.tools import SHELL_WORDS
from burnish.config.policy import RoleResolver, checks_for
from burnish.config.repository import is_inside
from burnish.config.settings import Config
from burnish.core.policy import CheckSpec, setting_of
from burnish.core.task import Spec
from burnish.errors import BurnishError
from burnish.features.doctor.diagnostic import OK, Diagnostic, DiagnosticGroup
from burnish.features.doctor.machine import sandbox_signs
from burnish.git import lfs
from burnish.git.base import resolve_base, uncommitted
from burnish.git.discovery import FoundRepository
from burnish.git.integrity import find_broken_refs, find_torn_objects, find_torn_packs
from burnish.git.project import Project, open_project
from burnish.git.refs import read_own_refs
from burnish.proc.capture import capture
from burnish.runtime.trust import CheckoutTrust, check_settings, examine, load_settings

REPO = DiagnosticGroup("repository")


def checkout_signs(found: FoundRepository, results: Mapping[str, LastResult]) -> Iterator[Diagnostic]:
    """`results`: how the set-up and the checks ended when they were last run."""
    # A git dir of our own in a place of its own: looking must leave nothing behind, in the home neither.
    with tempfile.TemporaryDirectory(prefix="burnish-doctor-") as place:
        project = open_project(found, home=Path(place).resolve(), key="doctor")
        yield from _history_signs(project)
        found_head = project.user_git("rev-parse", "--verify", "--quiet", "HEAD", here=True, ok=(0, 1))
        head = found_head.stdout.decode().strip()
    paths = committable_files(found)
    yield from _lfs_signs(found.root, paths)
    trust = examine(found)
    try:
        check_settings(trust)
        config = load_settings(trust)
    except BurnishError as error:
        yield REPO.missing("settings", error.what, error.hint)
        return
    yield _trust_sign(trust)
    yield _settings_sign(trust, config)
    if config.sandbox.mode == "require" and next(sandbox_signs()).state != OK:
        what = "required by the settings, and it does not work here"
        yield REPO.missing("sandbox", what, "Install bubblewrap, or set `sandbox.mode: auto`.")
    if missing := missing_paths(config):
        yield REPO.weak("sandbox paths", missing, "Create the path, or take it out of your settings.")
    yield from _people_signs(config)
    yield from _check_signs(found, config, paths, results, head)


def _history_signs(project: Project) -> Iterator[Diagnostic]:
    try:
        base = resolve_base(project, None)
    except BurnishError as error:
        yield REPO.missing("commits", error.what, error.hint)
    else:
        yield REPO.ok("commits", f"on {base.target or 'a detached HEAD'}, {base.commit[:10]}")
        yield _uncommitted_sign(uncommitted(project))
    yield from _damage_signs(project)
    branches = project.user_git("for-each-ref", "--format=%(refname)", "refs/heads/burnish").stdout.decode().split()
    if "refs/heads/burnish" in branches:
        what = "a branch is called `burnish`, so that no `burnish/…` can be made"
        yield REPO.missing("branch", what, "Rename it: git branch -m burnish burnish-old")
    yield from _clone_signs(project)


def _uncommitted_sign(paths: int) -> Diagnostic:
    if not paths:
        return REPO.ok("work", "everything is committed")
    what = f"{paths} path{'' if paths == 1 else 's'} not committed: tasks start from the last commit"
    return REPO.weak("work", what, "Commit what the tasks are to build on.")


def _clone_signs(project: Project) -> Iterator[Diagnostic]:
    if (project.common_dir / "shallow").exists():
        what = "shallow: its history ends early, and merging may need more"
        yield REPO.weak("clone", what, "git fetch --unshallow")
    try:
        config = (project.common_dir / "config").read_text(errors="replace")
    except OSError:
        config = ""
    if re.search(r"^\s*(?:promisor\s*=\s*true|partialclone\s*=)", config, re.I | re.M):
        what = "partial: files that were never fetched are not there, and burnish fetches nothing"
        yield REPO.weak("clone", what, "git fetch --refetch --no-filter")


def _damage_signs(project: Project) -> Iterator[Diagnostic]:
    """Refs and objects that a loss of power or a damaged disk has torn."""
    found = _describe_damage(project)
    if found:
        what = "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if found[3:] else "")
        remedy = "`burnish run` puts right what is burnish's own; `git fsck` names the rest."
        yield REPO.weak("damage", what, remedy)


def _lfs_signs(root: Path, paths: list[str]) -> Iterator[Diagnostic]:
    read = file_reader(root)
    attribute_files = [path for path in paths if path.rpartition("/")[2] == ".gitattributes"]
    if any("filter=lfs" in (read(path) or "") for path in attribute_files):
        if lfs.program():
            yield REPO.ok("git-lfs", "used here, and installed")
        else:
            what = "used here, but not installed: changes of large files cannot be committed"
            yield REPO.missing("git-lfs", what, "Install git-lfs.")


def _trust_sign(trust: CheckoutTrust) -> Diagnostic:
    if trust.acceptance:
        return REPO.ok("trust", f"accepted on {trust.acceptance.at[:10]} ({trust.acceptance.how})")
    state = "its settings have changed since they were accepted" if trust.accepted else "not trusted yet"
    what = f"{state}: they are not used, and its checks do not run"
    return REPO.weak("trust", what, f"{trust.command('--show')} lists what it would run, {trust.command()} accepts it.")


def _settings_sign(trust: CheckoutTrust, config: Config) -> Diagnostic:
    changes = sum(origin != "default" for _, _, origin in config.items())
    if trust.content.ignored:
        names = ", ".join(one.key for one in trust.content.ignored)
        what = f"never taken from a repository, so not used: {names}"
        return REPO.weak("settings", what, "Set it in your own config.yaml, under `projects` for this checkout alone.")
    if trust.content.layer or changes:
        return REPO.ok("settings", f"they load; {changes} {'is' if changes == 1 else 'are'} set")
    return REPO.ok("settings", "the defaults; `burnish init` writes burnish.yaml")


def _people_signs(config: Config) -> Iterator[Diagnostic]:
    """Who would do the work, and who would review it."""
    cast = RoleResolver(config, Spec("a task"), lambda name: can_start(config, name))
    try:
        worker, _ = cast.worker("implement")
        reviewers = [one.agent for one in cast.panel(config.review.agents)]
    except BurnishError as error:
        yield REPO.missing("agent", error.what, error.hint)
        return
    if problem := missing_agent(config, worker):
        yield REPO.missing("agent", problem.what.rstrip("."), problem.hint)
    else:
        yield REPO.ok("agent", worker)
    absent = [name for name in reviewers if missing_agent(config, name)]
    if absent:
        remedy = "Install it, or set `review.agents: [static]`, which needs no AI."
        yield REPO.missing("reviewer", f"{', '.join(absent)} cannot be started", remedy)
    elif reviewers == ["static"]:
        yield REPO.weak("reviewer", "static: rules and tests alone, no AI", "Install an agent for a second opinion.")
    else:
        yield REPO.ok("reviewer", ", ".join(reviewers))


def _check_signs(
    repository: FoundRepository, config: Config, paths: list[str], results: Mapping[str, LastResult], head: str
) -> Iterator[Diagnostic]:
    root = repository.root
    found = find_checks(paths, file_reader(root), detection_context(root))
    specs = checks_for(config, found.specs, skip_tests=False)
    names = {spec.name for spec in specs}
    setup = _setup(repository, config, paths) if specs else None
    if setup:
        yield _with_last_result(REPO.ok(SETUP, setup.text), setup.command, results, head)
    for spec in specs:
        yield _with_last_result(check_sign(spec, root, made_later=bool(setup)), spec.words, results, head)
    if "test" not in names:
        off = config.checks.test is None
        what = "switched off: changes are not tested" if off else "no test command found: changes are not tested"
        yield REPO.weak("test", what, "`burnish init` looks for one; or set `checks.test`.")
    for folder, unrun in found.unrun_by(specs):
        yield REPO.weak("not run", unrun.words(folder), "To run it, add it to `checks.extra`.")
    if config.checks.lint is not None and config.checks.lint.command == "auto":
        for note in found.notes:
            yield REPO.weak("lint", note.rstrip("."), "Install it, or set `checks.lint`.")
    if "lint" not in names and config.checks.lint is not None:
        yield REPO.ok("lint", "no linter found, none is run")


@dataclass(frozen=True, slots=True)
class _Setup:
    command: str
    text: str


def _setup(repository: FoundRepository, config: Config, paths: list[str]) -> _Setup | None:
    """`workspace.setup`; without it, and with automatic tests, what `init` would write; None if nothing is set up."""
    if config.workspace.setup:
        command = command_words(config.workspace.setup)
        return _Setup(command, f"`{command}`")
    if not tests_are_automatic(config):
        return None
    around = detection_context(repository.root, repository)
    choices = decide(discover(paths, file_reader(repository.root), around))
    found = next((choice for choice in choices if choice.key == ("workspace", "setup")), None)
    return _Setup(command_words(found.value), f"`{found.value}`, because of {found.why}") if found else None


def _with_last_result(sign: Diagnostic, command: str, results: Mapping[str, LastResult], head: str) -> Diagnostic:
    """A command that did not work when it was last run is not ok, even if its program is there."""
    last = results.get(sign.name)
    if sign.state != OK or last is None or last.command != command_hash(command) or not last.problem:
        return sign
    what = f"{sign.what} did not work on {last.at[:10]} at {last.commit[:10]}: {last.problem.rstrip('.')}"
    setting = "workspace.setup" if sign.name == SETUP else setting_of(sign.name)
    # on another commit it may work
    state = REPO.missing if last.commit == head else REPO.weak
    return state(sign.name, what, f"Correct {setting} or what it needs, then: burnish init --try")


def check_sign(spec: CheckSpec, root: Path, *, made_later: bool) -> Diagnostic:
    """A check, and whether its program is there. What `workspace.setup` brings cannot be known."""
    env = check_environment(os.environ, roots=(root,))
    argv = prepare(spec, report_dir=root, env=env).argv
    program = first_program(spec.command) if isinstance(spec.command, str) else argv[0]
    there = "/" in program or not program or shutil.which(program, path=env["PATH"]) is not None
    if "/" in program:
        there = made_later or (root / spec.cwd / program).exists()
    if not there and not made_later:
        what = f"`{spec.words}`: {program} is not installed"
        # `run` stops before an agent is called; a check that does not block is left out there
        state = REPO.missing if spec.blocking else REPO.weak
        return state(spec.name, what, f"Install {program}, or correct `{setting_of(spec.name)}`.")
    if _runs_module(spec, "pytest") and not made_later and not _has_pytest(_python_of(spec, argv), root, env):
        what = f"`{spec.words}`: this Python has no pytest"
        state = REPO.missing if spec.blocking else REPO.weak
        return state(spec.name, what, "Install pytest there, or have `workspace.setup` do it (`burnish init`).")
    return REPO.ok(spec.name, f"`{spec.words}`")


def _runs_module(spec: CheckSpec, module: str) -> bool:
    """`python3 -m pytest -q`, as a line or as words, with variables and options before it."""
    words = spec.command if isinstance(spec.command, str) else shlex.join(spec.command)
    return bool(re.match(rf"\s*(?:\w+=\S*\s+)*(?:\S*/)?python[\d.]*\s+(?:-\w+\s+)*?-m\s+{module}(?:\s|$)", words))


def _python_of(spec: CheckSpec, argv: tuple[str, ...]) -> str:
    return first_program(spec.command) if isinstance(spec.command, str) else argv[0]


def first_program(command: str) -> str:
    """The program that a shell line probably starts first; "" if unknown."""
    line = re.sub(r"^\s*cd\s+\S+\s*&&\s*", "", command)
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return ""
    word = next((word for word in words if not re.fullmatch(r"\w+=.*", word)), "")
    return word if re.fullmatch(r"[\w.+/-]+", word) and word not in SHELL_WORDS else ""


def _has_pytest(python: str, root: Path, env: dict[str, str]) -> bool:
    """A Python of the checkout is never started: its files tell."""
    program = shutil.which(python, path=env["PATH"])
    if program is None:
        return True
    if _is_of_checkout(Path(program), root):
        return _venv_has(Path(program).parent.parent, "pytest")
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
    # -I, and not started in the checkout: nothing of it is imported
    return capture([program, "-I", "-c", look], cwd=Path("/"), env=env, timeout=20).exit_code == 0


def _is_of_checkout(program: Path, root: Path) -> bool:
    """By its own path or by what it links to: a virtual environment's Python is a link to the system's."""
    return (root / program).is_relative_to(root) or is_inside(root, root / program)


def _venv_has(venv: Path, package: str) -> bool:
    places = [*venv.glob("lib/python*/site-packages"), *venv.glob("Lib/site-packages")]
    if any((place / package).is_dir() for place in places):
        return True
    try:
        settings = (venv / "pyvenv.cfg").read_text("utf-8", "replace").lower()
    except OSError:
        return False
    # then it may come from the system's Python, which is not asked here
    return bool(re.search(r"include-system-site-packages\s*=\s*true", settings))


def _describe_damage(project: Project) -> list[str]:
    """A line for each kind of torn file; changes nothing."""
    found = [f"{ref.name} {ref.words}" for ref in find_broken_refs(project, read_own_refs(project), thorough=True)]
    found += [f"the pack {pack.index.stem} is damaged" for pack in find_torn_packs(project)]
    if objects := find_torn_objects(project):
        found.append(f"{len(objects)} damaged object files, e.g. {objects[0]}")
    return found
