"""Lists what a project would test beside its test commands: other targets and sessions, and its workflows. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from burnish.checks.own_commands.step_kinds import is_type_script
from burnish.checks.own_commands.steps import ENTRY_NAMES, NOT_TESTS, CommandStep, OwnCommands
from burnish.checks.own_commands.task_files import read_yaml
from burnish.checks.project_scripts import is_variant

_MAX_WORKFLOWS = 8
_MAX_DEPTH = 12
_TEST_NAME = re.compile(
    r"(?:.*[-_.:])?(?:self)?(?:tests?|testing|specs?|smoke|e2e|it|integrations?|acceptance|functional|unit|units|system|regress(?:ion)?s?"
    r"|conformance|verify|doctests?)(?:[-_.:].*)?",
    re.I,
)
_RAKE_TASK = re.compile(r"^\s*(?:(?:multi)?task|[\w:]*Task\.new)[ (]+[:'\"]?([a-z][\w:]*)", re.M)
_WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
# Other services, by the keys of their files that have shell lines.
_OTHER_SERVICES = re.compile(
    r"\.gitlab-ci\.ya?ml|\.circleci/config\.ya?ml|\.travis\.ya?ml|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml"
    r"|\.cirrus\.ya?ml|\.woodpecker(?:/[^/]+)?\.ya?ml|\.drone\.ya?ml|\.?appveyor\.ya?ml|\.buildkite/[^/]+\.ya?ml"
)
_SHELL_KEYS = frozenset(
    ("script", "run", "command", "commands", "bash", "test_script", "before_script", "after_success")
)
# Hooks of pre-commit that are known by their name; those of the repository itself have their command.
_KNOWN_HOOKS = frozenset(("mypy", "pyright", "basedpyright", "pytype", "pyre-check", "pytest"))
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}", re.S)


def is_named_test(command: str) -> bool:
    """True if the target, session or script of a command is called a test, and not a variant of others."""
    name = command.split()[-1]
    return bool(_TEST_NAME.fullmatch(name)) and not NOT_TESTS.fullmatch(name) and not is_variant(name)


def other_entries(own: OwnCommands) -> Iterator[tuple[str, str]]:
    """Commands beside those that a person types to run all tests, each with its file."""
    for start, file, names in (
        ("make", own.makefile.name, own.makefile.rules),
        ("just", own.justfile.name, own.justfile.tasks),
        ("task", own.taskfile.name, own.taskfile.tasks),
    ):
        yield from ((f"{start} {name}", file) for name in names if name not in ENTRY_NAMES and _is_plain(name))
    for start, name, file in own.python.other_entries():
        if name not in ENTRY_NAMES and _is_plain(name):
            yield f"{start} {name}", file
    tasks = dict.fromkeys(_RAKE_TASK.findall(own.place.read("Rakefile")))
    yield from ((f"rake {name}", "Rakefile") for name in tasks if name != "default")
    for name in own.scripts:
        # `test:unit` and the like are found with the scripts of the package
        is_other = name not in ENTRY_NAMES and not name.startswith(("test", "pre", "post")) and is_named_test(name)
        if (is_other or is_type_script(f"npm run {name}")) and not _is_used(own, name):
            yield f"npm run {name}", "package.json"


def _is_used(own: OwnCommands, name: str) -> bool:
    """True if another script starts this one."""
    return any(re.search(rf"(?<![\w:/.-]){re.escape(name)}(?![\w:/.-])", text) for text in own.scripts.values())


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[\w:-]+", name) is not None and not name.startswith("_")


def workflow_jobs(own: OwnCommands) -> Iterator[list[CommandStep]]:
    """The steps of each job in the workflows of the repository; without those that depend on the runner's values."""
    if own.place.folder:
        return
    for text, path in _hook_commands(own):
        yield [step for step in own.script_steps(text, path, "", {}) if "\0" not in step.text]
    for path in sorted(path for path in own.place.paths if _OTHER_SERVICES.fullmatch(path)):
        texts = list(_shell_texts(read_yaml(own.place.read(path)), 0))
        yield [step for text in texts for step in own.script_steps(text, path, "", {}) if "\0" not in step.text]
    paths = sorted(path for path in own.place.paths if _WORKFLOW.fullmatch(path))
    for path in paths[:_MAX_WORKFLOWS]:
        table = read_yaml(own.place.read(path))
        jobs = table.get("jobs")
        for job in jobs.values() if isinstance(jobs, dict) else ():
            if isinstance(job, dict):
                yield list(_job_steps(own, path, job, _texts(table.get("env"))))


def _hook_commands(own: OwnCommands) -> Iterator[tuple[str, str]]:
    """The commands of pre-commit hooks, each with its file. A hook gets the changed files, which are left out."""
    for path in (".pre-commit-config.yaml", ".pre-commit-config.yml"):
        repos = read_yaml(own.place.read(path)).get("repos")
        for repo in repos if isinstance(repos, list) else ():
            hooks = repo.get("hooks") if isinstance(repo, dict) else None
            for hook in hooks if isinstance(hooks, list) else ():
                if not isinstance(hook, dict):
                    continue
                name, args = str(hook.get("id")), hook.get("args")
                command = hook.get("entry") if repo.get("repo") == "local" else name if name in _KNOWN_HOOKS else None
                words = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
                if isinstance(command, str):
                    yield " ".join([command, *map(shlex.quote, words)]), path


def _shell_texts(value: object, depth: int) -> Iterator[str]:
    """What the jobs of another service run; as one, since their order does not matter here."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        for one in value:
            yield from _shell_texts(one, depth + 1)
    for key, inner in value.items() if isinstance(value, dict) and depth < _MAX_DEPTH else ():
        if key in _SHELL_KEYS and isinstance(inner, str | list):
            lines = [inner] if isinstance(inner, str) else inner
            yield "\n".join(line for line in lines if isinstance(line, str))
        else:
            yield from _shell_texts(inner, depth + 1)


def _job_steps(own: OwnCommands, path: str, job: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[CommandStep]:
    steps = job.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, dict) or not isinstance(step.get("run"), str):
            continue
        folder = str(step.get("working-directory") or "").strip("./")
        own_env = {**env, **_texts(job.get("env")), **_texts(step.get("env"))}
        for found in own.script_steps(_EXPRESSION.sub("\0", step["run"]), path, folder, own_env):
            if "\0" not in found.text:
                yield found


def _texts(table: object) -> dict[str, str]:
    pairs = table.items() if isinstance(table, dict) else ()
    return {str(key): str(value) for key, value in pairs if not _EXPRESSION.search(str(value))}
