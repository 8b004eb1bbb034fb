"""What a `.git` folder names or links to elsewhere is not given to agents, and does not stop a command.

`git clone` does not copy these files, but an archive or a shared folder may hold a `.git` that somebody else wrote.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from burnish.errors import BadInput
from burnish.features.hooks.commits import head_of
from burnish.git.discovery import discover
from burnish.git.objects import borrowed_objects, read_files
from burnish.git.project import open_project
from burnish.git.refs import read_ref
from testing.clones import remote_with_program
from testing.gitworld import GitWorld
from testing.userrepo import UserRepo

SECRET = "a line of a private file"


@pytest.fixture
def secret(hermetic: Path) -> Path:
    folder = hermetic / "private"
    folder.mkdir()
    (folder / "key").write_text(f"{SECRET}\n")
    return folder / "key"


def given_to_agents(repo: UserRepo, home: Path) -> str:
    """Everything in the `.git` of a workspace, and in the git dir that it was made from."""
    world = GitWorld.make(repo, home)
    workspace = world.workspace()
    files = [*(workspace.path / ".git").rglob("*"), *(world.project.own / "info").iterdir()]
    return "".join(file.read_text(errors="replace") for file in files if file.is_file())


@pytest.mark.representatives(2)
@pytest.mark.parametrize("how", ["absolute", "~", "relative", "included", "info/exclude", "info"])
def test_a_file_that_the_git_folder_names_is_not_given_to_agents(
    user_repo: UserRepo, hermetic: Path, secret: Path, how: str
) -> None:
    git_dir = user_repo.path / ".git"
    if how in ("absolute", "~", "relative"):
        relative = os.path.relpath(secret, user_repo.path)
        named = {"absolute": str(secret), "~": f"~/{os.path.relpath(secret, Path.home())}", "relative": relative}
        user_repo.git("config", "core.excludesFile", named[how])
    elif how == "included":
        (hermetic / "settings").write_text(f"[core]\n\texcludesFile = {secret}\n")
        user_repo.git("config", "include.path", str(hermetic / "settings"))
    elif how == "info":
        shutil.rmtree(git_dir / "info", ignore_errors=True)
        shutil.copyfile(secret, secret.parent / "exclude")
        (git_dir / "info").symlink_to(secret.parent)
    else:
        (git_dir / how).parent.mkdir(exist_ok=True)
        (git_dir / how).unlink(missing_ok=True)
        (git_dir / how).symlink_to(secret)
    assert SECRET not in given_to_agents(user_repo, hermetic / "burnish")


def test_lists_of_the_user_and_of_the_repository_count(
    user_repo: UserRepo, hermetic: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = hermetic / "gitconfig"
    settings.write_text(f"[core]\n\texcludesFile = {secret}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert SECRET in given_to_agents(user_repo, hermetic / "one")
    settings.unlink()
    user_repo.write({"lists/ignored": "*.generated\n"})
    user_repo.git("config", "core.excludesFile", "lists/ignored")
    assert "*.generated" in given_to_agents(user_repo, hermetic / "two")


def test_only_folders_of_objects_are_lent(user_repo: UserRepo, hermetic: Path, secret: Path) -> None:
    other = UserRepo.make(hermetic / "other").path / ".git" / "objects"
    alternates = user_repo.path / ".git/objects/info/alternates"
    alternates.write_text(f"{secret.parent}\n{other}\n")
    world = GitWorld.make(user_repo, hermetic / "burnish")
    stores = [store for _, store in borrowed_objects(world.project)]
    assert other in stores and secret.parent not in stores

    objects = user_repo.path / ".git/objects"
    shutil.rmtree(objects)
    objects.symlink_to(secret.parent)
    assert objects not in [store for _, store in borrowed_objects(world.project)]


@pytest.mark.representatives(3)
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", ["config", "HEAD", "index", "packed-refs", "info/exclude", "objects/info/alternates"])
def test_a_pipe_or_a_device_in_the_git_folder_is_named(user_repo: UserRepo, name: str, kind: str) -> None:
    target = user_repo.path / ".git" / name
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="is a pipe or a device"):
        discover(user_repo.path)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("name", ["packed-refs", "shallow", "info/grafts", "objects/info/alternates"])
def test_a_link_to_a_file_that_git_would_quote_is_refused(user_repo: UserRepo, secret: Path, name: str) -> None:
    """`fatal: bad shallow line: …` would have a line of it, on the screen and in the log."""
    target = user_repo.path / ".git" / name
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    target.symlink_to(secret)
    with pytest.raises(BadInput, match="is not a git file"):
        discover(user_repo.path)


def test_links_to_the_files_of_another_git_folder_are_accepted(user_repo: UserRepo, hermetic: Path) -> None:
    """As `git new-workdir` makes them."""
    user_repo.git("pack-refs", "--all")
    other = hermetic / "other"
    (other / ".git").mkdir(parents=True)
    for name in ("config", "refs", "objects", "info", "packed-refs"):
        (other / ".git" / name).symlink_to(user_repo.path / ".git" / name)
    (other / ".git/HEAD").write_text((user_repo.path / ".git/HEAD").read_text())
    project = open_project(discover(other), home=hermetic / "burnish", key="repo")
    assert read_ref(project, "refs/heads/main") == user_repo.git("rev-parse", "HEAD")


@pytest.mark.slow
def test_a_pipe_in_the_place_of_a_ref_ends_in_bounded_time(user_repo: UserRepo, hermetic: Path) -> None:
    project = open_project(discover(user_repo.path), home=hermetic / "burnish", key="repo")
    os.mkfifo(user_repo.path / ".git/refs/heads/pipe")
    with pytest.raises(BadInput, match="pipe is a pipe or a device"):
        project.user_git("for-each-ref")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["the checked-out branch", "an object", "an object that burnish's git reads"])
def test_a_pipe_that_git_opens_ends_in_bounded_time(user_repo: UserRepo, hermetic: Path, place: str) -> None:
    found = discover(user_repo.path)
    project = open_project(found, home=hermetic / "burnish", key="repo")
    tree = user_repo.git("rev-parse", "HEAD^{tree}")
    name = "refs/heads/main" if place == "the checked-out branch" else f"objects/{tree[:2]}/{tree[2:]}"
    target = user_repo.path / ".git" / name
    target.unlink()
    os.mkfifo(target)
    with pytest.raises(BadInput, match="is a pipe or a device"):
        if place == "the checked-out branch":
            head_of(found)
        elif place == "an object":
            project.user_git("cat-file", "tree", tree)
        else:
            project.git("cat-file", "tree", tree)


def test_a_path_that_leads_out_of_the_tree_has_no_content(world: GitWorld) -> None:
    """A reviewer may cite it; git would end with an error, and with it the task."""
    paths = ["../secret", "./app.py", "/etc/passwd", "a/../../b", "."]
    assert read_files(world.project, world.base.commit, paths) == dict.fromkeys(paths)


@pytest.mark.attacks("programs that a git folder names for a remote", 3)
def test_a_missing_object_does_not_start_the_program_of_a_remote(user_repo: UserRepo, hermetic: Path) -> None:
    """git before 2.45 knows no variable against it, and `protocol.ext.allow` counts more than `protocol.allow`."""
    mark = hermetic / "started"
    remote_with_program(user_repo, mark)
    user_repo.commit({"gone.py": "x = 1\n"}, "a file whose content is missing")
    blob = user_repo.git("rev-parse", "HEAD:gone.py").strip()
    (user_repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    project = GitWorld.make(user_repo, hermetic).project
    for args in (("cat-file", "-p", blob), ("rev-parse", "--verify", f"{blob}^{{blob}}"), ("rev-list", "-1", blob)):
        project.user_git(*args, ok=(0, 1, 128))
        assert not mark.exists(), args
    user_repo.git("cat-file", "-p", blob, check=False)
    assert mark.exists(), "the control"
