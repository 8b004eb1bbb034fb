"""What git never gets to see, and what it may."""

from __future__ import annotations

import pytest

from burnish.core.secrets import Secrets
from burnish.errors import SecretFound
from burnish.git.secret_scan import OVERLAP, PART
from burnish.git.workspace import GitWorkspace
from testing.gitworld import GitWorld, commit
from testing.long_forms import IS_LONG

TOKEN = "ghp_" + "aB3dE5fG7h" * 3 + "I9jK1l"
VALUE = "env-7f8a9b2c3d"


@pytest.fixture
def workspace(world: GitWorld) -> GitWorkspace:
    made = world.workspace()
    made.secrets = Secrets.of({"DEPLOY_TOKEN": VALUE})
    return made


def refused(workspace: GitWorkspace) -> str:
    with pytest.raises(SecretFound) as found:
        commit(workspace)
    assert TOKEN not in found.value.what and VALUE not in found.value.what
    assert str(workspace.path) in found.value.hint
    return found.value.what


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.py", f"x = 1\nt = '{TOKEN}'\n".encode(), "a.py:2 (GitHub token)"),
        ("a.bin", b"\0\1\2" + VALUE.encode(), "a.bin:1 (value of DEPLOY_TOKEN)"),
        ("a.py", f"t = '{VALUE}'  # burnish: allow-secret\n".encode(), "a.py:1 (value of DEPLOY_TOKEN)"),
        (f"{TOKEN}.txt", b"x\n", "[secret: GitHub token removed].txt:0 (GitHub token in its name)"),
        (f"{TOKEN}/a.txt", b"x\n", "[secret: GitHub token removed]/a.txt:0 (GitHub token in its name)"),
        ("a.db", b"\0\1\2" + bytes(range(256)) + TOKEN.encode() + b"\0\2", "a.db:1 (GitHub token)"),
        ("large.txt", b"a b\n" * 2_300_000 + TOKEN.encode(), "large.txt:2300001 (GitHub token)"),
        ("a.py", f"t = '{TOKEN[:20]}\ufe0f{TOKEN[20:]}'\n".encode(), "a.py:1 (GitHub token)"),
        ("app.env", b"API_KEY=k8Jx2mQ9vR4tB7nW\n", "app.env:1 (password or token)"),
    ],
)
def test_a_secret_is_refused_by_place_and_kind(workspace: GitWorkspace, name: str, data: bytes, told: str) -> None:
    before = workspace.head()
    (workspace.path / name).parent.mkdir(exist_ok=True)
    (workspace.path / name).write_bytes(data)
    assert told in refused(workspace)
    assert workspace.head() == before and (workspace.path / name).read_bytes() == data


@pytest.mark.parametrize(("secret", "kind"), [(TOKEN, "GitHub token"), (VALUE, "value of DEPLOY_TOKEN")])
def test_a_secret_as_the_target_of_a_link_is_refused(workspace: GitWorkspace, secret: str, kind: str) -> None:
    before = workspace.head()
    (workspace.path / "link").symlink_to(f"keys/{secret}")
    assert f"link:1 ({kind})" in refused(workspace)
    assert workspace.head() == before


def test_a_link_that_changes_its_target_to_a_secret_is_refused(world: GitWorld) -> None:
    (world.repo.path / "link").symlink_to("app.py")
    world.repo.commit({"a.py": "x = 1\n"}, "a link")
    workspace = GitWorld.make(world.repo, world.home).workspace("2-more")
    workspace.secrets = Secrets.of({"DEPLOY_TOKEN": VALUE})
    (workspace.path / "link").unlink(missing_ok=True)
    (workspace.path / "link").symlink_to(TOKEN)
    assert "link:1 (GitHub token)" in refused(workspace)


def test_a_secret_across_two_parts_of_a_large_file_is_refused(workspace: GitWorkspace) -> None:
    sizes = (PART - 20, PART - OVERLAP - 20, 2 * (PART - OVERLAP) - 20)
    for size in sizes if IS_LONG else sizes[:1]:
        (workspace.path / "large.txt").write_bytes(b"a" * (size - 1) + b" " + TOKEN.encode() + b" " + b"a" * OVERLAP)
        assert refused(workspace).count("large.txt:1 (GitHub token)") == 1


def test_an_ordinary_link_is_committed(workspace: GitWorkspace) -> None:
    (workspace.path / "link").symlink_to("app.py")
    before = workspace.head()
    commit(workspace)
    assert workspace.head() != before


def test_what_the_repository_had_may_move_and_what_is_allowed_may_come(world: GitWorld) -> None:
    world.repo.commit({"old.py": f"x = 1\nt = '{TOKEN}'\n"}, "long ago")
    workspace = GitWorld.make(world.repo, world.home).workspace("2-more")
    (workspace.path / "old.py").rename(workspace.path / "new.py")
    commit(workspace)
    (workspace.path / "new.py").write_text(f"def f():\n    t = '{TOKEN}'\n")
    commit(workspace)
    (workspace.path / "fixture.py").write_text(f"t = '{TOKEN[:-1]}x'  # pragma: allowlist secret\n")
    commit(workspace)


def test_a_rescue_of_nothing_but_a_secret_says_where_it_is(workspace: GitWorkspace, world: GitWorld) -> None:
    (workspace.path / "a.py").write_text(f"t = '{TOKEN}'\n")
    assert workspace.is_dirty()
    ref = workspace.rescue("1-implement")
    assert ref and "a.py" not in world.repo.git("ls-tree", "--name-only", ref).split()
    assert "'a.py': line 1, GitHub token" in world.repo.git("log", "-1", "--format=%B", ref)
    (copy,) = workspace.path.parent.glob(".withheld-*/a.py")
    assert TOKEN in copy.read_text() and copy.parent.stat().st_mode & 0o077 == 0
