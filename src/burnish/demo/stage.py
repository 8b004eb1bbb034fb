"""The demo: a directory with a sample repository and its own burnish home, three tasks, and a summary of each."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task
from burnish.git.discovery import discover
from burnish.git.run import bare_env, git
from burnish.runtime import open_app
from burnish.runtime.tasks import add_task
from burnish.runtime.trust import BY_DEMO, grant

_NAMES = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")
_MAILS = ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")


@dataclass(frozen=True, slots=True)
class Stage:
    folder: Path

    @property
    def repo(self) -> Path:
        return self.folder / "postage"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Point the environment of this process to the stage, so that the user's state and settings are not used."""
        before = dict(os.environ)
        for name in before:
            if name.startswith("BURNISH"):
                del os.environ[name]
        os.environ["BURNISH_HOME"] = str(self.home)
        os.environ["XDG_CONFIG_HOME"] = str(self.folder / "config")
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def create_stage(folder: Path) -> Stage:
    """Create the repository with one commit and add the three tasks."""
    stage = Stage(folder)
    script = folder / "script.yaml"
    with as_file(files("burnish.demo")) as package:
        shutil.copytree(package / "sample", stage.repo)
        shutil.copyfile(package / "script.yaml", script)
    # Shipped as .txt, so that tools do not treat it as source code of burnish.
    for path in list(stage.repo.rglob("*.txt")):
        path.rename(path.with_suffix(""))
    settings = stage.repo / "burnish.yaml"
    text = settings.read_text("utf-8")
    # JSON, which YAML reads too: a path may hold anything
    text = text.replace("@SCRIPT@", json.dumps(str(script))).replace("@PYTHON@", json.dumps(sys.executable))
    settings.write_text(text, "utf-8")
    _commit(stage.repo)
    with stage.entered():
        grant(discover(stage.repo), how=BY_DEMO)
        app = open_app(stage.repo)
        for plan in TASKS:
            add_task(app, plan.spec)
    return stage


def _commit(repo: Path) -> None:
    env = bare_env(repo) | dict.fromkeys(_NAMES, "Demo") | dict.fromkeys(_MAILS, "demo@localhost")
    git("init", "--quiet", "--initial-branch=main", cwd=repo, env=env)
    git("add", "--all", cwd=repo, env=env)
    git("commit", "--quiet", "--message=Parcels and what they cost", cwd=repo, env=env)


# -- tasks ----------------------------------------------------------------------------------------
# The three tasks and the expected outcome of each.


@dataclass(frozen=True, slots=True)
class Planned:
    spec: Spec
    status: Status
    cycles: int
    reason: Reason | None = None


TASKS = (
    Planned(
        Spec("Print 5.25, not 525", "The command prints cents; people are used to whole money."),
        Status.VERIFIED,
        cycles=1,
    ),
    Planned(
        Spec("Refuse zero weight", "Zero grams or less is a slip of the finger: no price for that."),
        Status.VERIFIED,
        cycles=2,
    ),
    Planned(
        Spec("Round up for islands", "One test has failed for a while: 701.25 cents should cost 702."),
        Status.BLOCKED,
        cycles=2,
        reason=Reason.GUARD,
    ),
)


def unexpected_outcomes(tasks: Iterable[Task]) -> list[str]:
    """Descriptions of unexpected outcomes; empty if all ended as expected."""
    tasks_by_id = {task.id: task for task in tasks}
    return [
        words for number, plan in enumerate(TASKS, 1) if (words := _surprise(number, plan, tasks_by_id.get(number)))
    ]


def _surprise(number: int, plan: Planned, task: Task | None) -> str:
    expected_outcome = _words(plan.status, plan.reason, plan.cycles)
    if task is None:
        return f"task {number} is missing and should be {expected_outcome}"
    actual_outcome = _words(task.status, task.reason, task.cycle)
    return (
        ""
        if actual_outcome == expected_outcome
        else f"task {number} is {actual_outcome} and should be {expected_outcome}"
    )


def _words(status: Status, reason: Reason | None, cycles: int) -> str:
    return f"{status}{f' ({reason})' if reason else ''} in cycle {cycles}"


Story = Mapping[str, Any]


def summarize(story: Story) -> list[str]:
    """A few lines about one task, from what `show --json` has of it."""
    return [*_tests(story), *_findings(story), *_end(story)]


def _tests(story: Story) -> list[str]:
    """Each test that fails or was fixed, once, compared with the base."""
    lines: dict[str, str] = {}
    for cycle in story["cycles"]:
        for check in cycle["checks"]:
            lines |= {name: f"new failure in cycle {cycle['number']}: {_short(name)}" for name in check["new"]}
            lines |= {name: f"not blamed, failed before: {_short(name)}" for name in check["old"]}
            lines |= {name: f"fixed, failed before: {_short(name)}" for name in check["fixed"]}
    return list(lines.values())


def _short(name: str) -> str:
    """`test_a.py::B::test_c`, without the folders."""
    return name.rpartition("/")[2]


def _findings(story: Story) -> Iterator[str]:
    for finding in story["findings"]:
        if finding["severity"] == "info" or finding["category"] == "test":
            continue  # failing tests are listed above
        place = ":".join(str(finding[key]) for key in ("file", "line") if finding[key])
        by = ", ".join(name.removeprefix("check:") for name in finding["reviewers"])
        found = f"found in cycle {finding['first_cycle']} by {by}"
        yield f"{finding['id']} {place} {finding['title']} ({found}; {finding['state']})"


def _end(story: Story) -> Iterator[str]:
    cycles = f"{story['cycle']} cycle{'s' * (story['cycle'] != 1)}"
    if story["status"] == "verified":
        yield f"approved after {cycles}; the work is on the branch {story['branch']}"
    else:
        why = story["reason"] or story["error"]
        yield f"{story['status']}{f' ({why})' if why else ''} after {cycles}: {story['note'] or 'no more is known'}"
