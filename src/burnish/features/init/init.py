"""`burnish init`: examines the repository and the machine, and writes the settings with the reasons."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from burnish import config as settings
from burnish.adapters.checkout_files import committable_files, detection_context, file_reader
from burnish.adapters.configured_agents import InstalledAgent, installed_agents
from burnish.checks.discover import DiscoveredChecks, decide, discover
from burnish.checks.tools import Command, Surroundings, Tools
from burnish.config.loading import user_layer
from burnish.config.repository import is_inside, read_inside, table_layer
from burnish.core.policy import CheckSpec
from burnish.errors import BadInput, BurnishError
from burnish.features.doctor.checkout import check_sign, first_program
from burnish.git.discovery import FoundRepository
from burnish.git.discovery import discover as find_repository
from burnish.runtime.project_identity import locate
from burnish.runtime.reader import home_of, open_home_to_write, refuse_inside_phase
from burnish.runtime.trust import BY_INIT, CheckoutTrust, examine, grant

COMMANDS = ("review-task", "parse-review")


@dataclass(frozen=True, slots=True)
class Difference:
    """An existing setting that differs from the detected one."""

    key: str
    now: Any
    origin: str
    found: Any
    why: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that was written, would be, or was left as it is: `written`, `planned`, `kept`, `same`."""

    path: Path
    state: str


@dataclass(frozen=True, slots=True)
class InitReport:
    root: Path
    tools: tuple[Tools, ...]
    agents: list[InstalledAgent]
    decided: tuple[DiscoveredChecks, ...]
    notes: list[str]
    text: str
    files: list[File]
    differences: list[Difference] = field(default_factory=list)
    # may its checks run now?
    trusted: bool = False


def initiate(start: Path, *, slash: bool, force: bool, dry_run: bool) -> InitReport:
    """Write burnish.yaml, unless there is one, and make the project known."""
    if not dry_run:
        refuse_inside_phase()
    repository = find_repository(start)
    root, paths = repository.root, committable_files(repository)
    around = detection_context(root, repository)
    tools = discover(paths, file_reader(root), around)
    agents = installed_agents()
    # In burnish.yaml it would override the agent that the user set for all projects.
    agent_setting = () if _user_names_agent() else (_agent(agents),)
    choices = (*agent_setting, *decide(tools))
    before = examine(repository)
    existing = _existing(root, force=force)
    differences = [] if force or not existing else _differences(root, choices)
    text = settings_text(choices, slash=slash)
    write = _Writer(root, force=force, dry_run=dry_run)
    files = [File(root / existing, "kept")] if existing and not force else [write(root / "burnish.yaml", text)]
    if slash:
        folder = root / ".claude" / "commands"
        files += [write(folder / f"{name}.md", _command(name)) for name in COMMANDS]
    trusted = False
    if not dry_run:
        _make_known(repository)
        trusted = _is_trusted_now(before, wrote=files[0].state == "written")
    notes = _notes(root, tools, choices, around)
    return InitReport(root, tools, agents, choices, notes, text, files, differences, trusted)


def _is_trusted_now(before: CheckoutTrust, *, wrote: bool) -> bool:
    """What a person has burnish write is accepted, where the repository had nothing of its own or was trusted."""
    had_none = before.problem is None and before.content.layer is None and not before.content.files
    if wrote and (had_none or before.is_trusted):
        return grant(before.found, how=BY_INIT).is_trusted
    return examine(before.found).is_trusted


def _existing(root: Path, *, force: bool) -> str:
    """The file that has settings already, "" if there is none."""
    try:
        in_table = table_layer(root) is not None
    except BadInput:
        in_table = True
    if in_table and force:
        raise BadInput(
            "The settings are in [tool.burnish] of pyproject.toml, which init does not change.",
            hint="Remove them there first, or change them by hand.",
        )
    if os.path.lexists(root / "burnish.yaml"):
        return "burnish.yaml"
    return "pyproject.toml" if in_table else ""


def _differences(root: Path, choices: tuple[DiscoveredChecks, ...]) -> list[Difference]:
    config = settings.load(root)
    in_force = {key: (value, origin) for key, value, origin in config.items()}
    found = []
    for one in choices:
        key = ".".join(one.key)
        mapping = in_force.get(f"{key}.command")
        now, origin = mapping or in_force.get(key, (None, "not set"))
        folder = in_force[f"{key}.cwd"][0] if mapping else None
        # `auto` means what is found here, for each part of the repository
        automatic = now == "auto" or ("extra" in one.key and in_force.get(f"checks.{key[-4:]}", ("",))[0] == "auto")
        before, after = _from_root(now, folder), _from_root(one.value, one.cwd)
        if not automatic and before != after and key != "agent":
            found.append(Difference(key, before if folder else now, origin, after if one.cwd else one.value, one.why))
    return found


def _from_root(value: Any, folder: str | None) -> Any:
    words = " ".join(value) if isinstance(value, list | tuple) else value
    return f"cd {folder} && {words}" if folder else words


def _user_names_agent() -> bool:
    layer = user_layer(os.environ)
    return bool(layer and layer.data.get("agent"))


def _agent(found: list[InstalledAgent]) -> DiscoveredChecks:
    kinds = [agent.kind for agent in found]
    if not kinds:
        return DiscoveredChecks(("agent",), "auto", "the first installed agent; none is installed yet")
    others = f", before {', '.join(kinds[1:])}" if kinds[1:] else ""
    return DiscoveredChecks(("agent",), "auto", f"the first installed agent: {kinds[0]}{others}")


def _notes(
    root: Path, tools: tuple[Tools, ...], choices: tuple[DiscoveredChecks, ...], around: Surroundings
) -> list[str]:
    """What a person should know beside the settings."""
    notes = [f"{one.folder}: {note}" if one.folder else note for one in tools for note in one.notes]
    notes += [unrun.note(one.folder) for one in tools for unrun in one.unrun_tests]
    by_key = {".".join(one.key): one for one in choices}
    setup = str(by_key["workspace.setup"].value) if "workspace.setup" in by_key else ""
    if "checks.test" not in by_key:
        notes.append(
            "No test command found. Set checks.test in burnish.yaml, so that changes are tested and not only reviewed."
        )
    if setup and (program := first_program(setup.lstrip("("))) and not shutil.which(program):
        notes.append(f"{program} is not installed here, and the set-up needs it.")
    for key, one in by_key.items():
        if key.startswith("checks."):
            spec = CheckSpec(one.key[-1], one.value, cwd=one.cwd)
            sign = check_sign(spec, root, made_later=bool(setup))
            notes += [f"{key}: {sign.what}."] if sign.state != "ok" else []
    for part in tools:
        folder = f"{part.folder}/node_modules/" if part.folder else "node_modules/"
        if part.language == "JavaScript" and part.setup and not around.ignored(folder):
            notes.append(f"git does not ignore `{folder}`: it would count as an agent's work. Add it to .gitignore.")
    return notes


def _make_known(repository: FoundRepository) -> None:
    with open_home_to_write(home_of()) as store:
        locate(store, repository, home_of(), create=True, is_trusted=examine(repository).is_trusted)


def _command(name: str) -> str:
    return (files("burnish.features.init") / "slash_commands" / f"{name}.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes only missing files, unless `force` is set, and only inside the checkout."""

    root: Path
    force: bool
    dry_run: bool

    def __call__(self, path: Path, text: str) -> File:
        if not is_inside(self.root, path):
            raise BurnishError(
                f"{path} is a link to outside the repository, so it was not written.",
                hint="Replace it with a regular file or folder.",
            )
        there = os.path.lexists(path)
        if there and _holds(self.root, path, text):
            return File(path, "same")
        if there and not self.force:
            return File(path, "kept")
        if there and not path.is_file():  # writing into a pipe would wait for a reader
            raise BurnishError(f"{path} is not a regular file, so it is not written.", hint="Remove it first.")
        if self.dry_run:
            return File(path, "planned")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w" if self.force else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise BurnishError(
                f"Cannot write {path}: {error.strerror}.", hint="Check who owns it; `--dry-run` only shows it."
            ) from error
        return File(path, "written")


def _holds(root: Path, path: Path, text: str) -> bool:
    data = text.encode()
    return read_inside(root, path, longest=len(data) + 1) == data


# -- settings file --------------------------------------------------------------------------------
# Decided settings as a short YAML file, each line with its reason.

SETTINGS_HEAD = """\
# How burnish works here, as `burnish init` found it. Change what is wrong.
# `burnish config reference` shows every other setting, `burnish doctor` what is missing.

"""
# A text like this is not read by YAML as a number, a date or another type.
_PLAIN = re.compile(r"(?:[A-Za-z]|\./)[A-Za-z0-9_ ./=,&()+@:-]*")
_NOT_TEXT = re.compile(r"(?i)true|false|yes|no|on|off|null|~|y|n")
MAX_WIDTH = 100


def settings_text(choices: Sequence[DiscoveredChecks], *, slash: bool = False) -> str:
    """The whole file. Sections appear in the order of their first setting."""
    lines: list[str] = []
    previous_key: tuple[str, ...] = ()
    for one in sorted(choices, key=lambda one: _order(one.key)):
        common_depth = next(
            (n for n, (a, b) in enumerate(zip(previous_key, one.key, strict=False)) if a != b), len(previous_key)
        )
        lines += [f"{'  ' * depth}{name}:" for depth, name in enumerate(one.key[:-1]) if depth >= common_depth]
        lines += _lines("  " * (len(one.key) - 1), one)
        previous_key = one.key
    if not any(one.key == ("checks", "test") for one in choices):
        lines += ["# checks:", "#   test: ./run-tests                # no test command found: write yours here"]
    if slash:
        lines += ["# review:", "#   slash_command: /review-task      # each review goes through it"]
    return SETTINGS_HEAD + "\n".join(lines) + "\n"


def _lines(margin: str, one: DiscoveredChecks) -> list[str]:
    """A setting on one line; a check with a folder of its own as a mapping."""
    if not one.cwd and not one.paths and not one.tap:
        return _setting(margin, f"{one.key[-1]}: {yaml_value(one.value)}", one.why)
    lines = [*_setting(margin, f"{one.key[-1]}:", one.why), f"{margin}  run: {yaml_value(one.value)}"]
    lines += [f"{margin}  cwd: {yaml_value(one.cwd)}"] if one.cwd else []
    lines += [f'{margin}  tap: "-"'] if one.tap else []
    return [*lines, *([f"{margin}  paths: {yaml_value(one.paths)}"] if one.paths else [])]


def _order(key: tuple[str, ...]) -> tuple[int, bool]:
    """Sections as in the reference; single checks before the extra ones."""
    names = ("agent", "checks", "workspace")
    return (names.index(key[0]) if key[0] in names else len(names), "extra" in key)


def _setting(margin: str, line: str, why: str) -> list[str]:
    reason = "".join(char if char.isprintable() else " " for char in why)
    beside = f"{margin}{line:<{34 - len(margin)}} # {reason}"
    return [beside] if len(beside) <= MAX_WIDTH else [f"{margin}# {reason}", f"{margin}{line}"]


def yaml_value(value: Command) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(word, inside=True) for word in value) + "]"
    return _scalar(value, inside=False)


def _scalar(text: str, *, inside: bool) -> str:
    plain = _PLAIN.fullmatch(text) and not _NOT_TEXT.fullmatch(text) and text == text.strip()
    risky = ": " in text or text.endswith(":") or (inside and "," in text)
    if inside and re.fullmatch(r"--?[A-Za-z][A-Za-z0-9_=.-]*", text):
        return text
    return text if plain and not risky else f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
