"""A directory with the sample repository and a separate burnish home."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from burnish.demo.tasks import TASKS
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
