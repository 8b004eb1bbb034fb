from __future__ import annotations

from pathlib import Path

import pytest

from testing.gitworld import GitWorld
from testing.userrepo import UserRepo


@pytest.fixture
def world(user_repo: UserRepo, hermetic: Path) -> GitWorld:
    return GitWorld.make(user_repo, hermetic / "burnish")
