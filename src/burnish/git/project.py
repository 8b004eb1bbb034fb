"""A user's repository, and the git dir that burnish owns for it."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from burnish.errors import PhaseFailed
from burnish.folder_walk import walk_folders
from burnish.git import lfs
from burnish.git.discovery import FoundRepository, refuse_special_files, refuse_special_refs_and_objects
from burnish.git.files import disk_errors, write_if_changed
from burnish.git.run import bare_env, git
from burnish.proc.capture import Captured
from burnish.proc.folders import expanded, private_folder
from burnish.regular_files import read_below, read_regular

# burnish's git dir has no branch; git requires a HEAD to recognise a git dir
_HEADS = ("attributes/HEAD", "HEAD")
# scopes of git settings that the user wrote for all repositories
_USER_SCOPES = ("system", "global")
_NO_BRANCH = b"ref: refs/heads/none\n"
# never committed automatically; a tracked file stays tracked
SECRETS = """\
.env
.env.*
!.env.example
!.env.sample
!.env.template
!.env.dist
*.pem
*.p12
*.pfx
id_rsa
id_dsa
id_ecdsa
id_ed25519
.netrc
.pypirc
.npmrc.local
"""


def is_secret(path: str) -> bool:
    name, answer = path.rpartition("/")[2], False
    for pattern in SECRETS.split():
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!")):
            answer = not pattern.startswith("!")
    return answer


@dataclass(frozen=True, slots=True)
class Project:
    """One user repository and burnish's own git dir for it."""

    root: Path
    common_dir: Path
    git_dir: Path
    own: Path
    object_format: str = "sha1"
    # a separate store for objects that are never published; it borrows from the user's
    store: Path | None = None

    @property
    def objects(self) -> Path:
        """burnish's own object store, which the user's `git gc` does not touch."""
        return self.store or self.own / "objects"

    @property
    def user_objects(self) -> Path:
        return self.common_dir / "objects"

    @property
    def zero(self) -> str:
        return "0" * (64 if self.object_format == "sha256" else 40)

    def git(
        self,
        *args: str,
        index: Path | None = None,
        work_tree: Path | None = None,
        objects: Path | None = None,
        borrow: Path | None = None,
        git_dir: Path | None = None,
        stdin: bytes = b"",
        ok: tuple[int, ...] = (0,),
        durable: bool = True,
        alone: bool = False,
    ) -> Captured:
        """Run git with burnish's git dir: it writes to burnish's store and reads the user's, and `borrow` if given.

        `alone`: without the user's store, so that git also writes objects that exist there without a ref.
        """
        env = bare_env(self.own) | {
            "GIT_DIR": str(git_dir or self.own),
            "GIT_OBJECT_DIRECTORY": str(objects or self.objects),
        }
        # always set: the default, `index` in the git dir, is a folder here
        env["GIT_INDEX_FILE"] = str(index or self.own / "no-index")
        if work_tree is not None:
            refuse_special_files(work_tree)
            env["GIT_WORK_TREE"] = str(work_tree)
        if not alone:
            stores = (self.user_objects, *((borrow,) if borrow else ()))
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(map(quoted, stores))
        return git(
            *args,
            cwd=work_tree or self.own,
            env=env | lfs.ENV,
            stdin=stdin,
            ok=ok,
            when_slow=functools.partial(self._refuse_special_files, work_tree),
            durable=durable and self.store is None,
        )

    def _refuse_special_files(self, work_tree: Path | None) -> None:
        if work_tree is not None:
            _refuse_special_files_below(work_tree)
        refuse_special_refs_and_objects(self.git_dir)

    def user_git(self, *args: str, here: bool = False, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> Captured:
        """Run git in the user's git dir, to read and update refs only: nothing that reads work tree files."""
        env = bare_env(self.own) | {"GIT_DIR": str(self.git_dir if here else self.common_dir)}
        return git(*args, cwd=self.own, env=env, stdin=stdin, ok=ok)


def _refuse_special_files_below(work_tree: Path) -> None:
    """The same in every folder; only done when git is slow, because it takes as long as git itself."""
    for folder, names, _ in walk_folders(work_tree):
        if ".git" in names:
            names.remove(".git")
        refuse_special_files(Path(folder))


def quoted(path: Path) -> str:
    """A path for git's lists of directories: in C quotes if it contains a separator."""
    text = str(path)
    if not set(text) & set('":\n#\\'):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def open_project(
    found: FoundRepository, *, home: Path, key: str, exclude: Sequence[str] = (), reading: bool = False
) -> Project:
    """Create or refresh burnish's own git dir; safe in several processes. `exclude` is never staged.

    `reading`: ignore a failed refresh, because an old git dir can still read commits.
    """
    settings = (read_regular(found.common_dir / "config") or b"").decode(errors="replace")
    sha256 = re.search(r"^\s*objectformat\s*=\s*sha256\b", settings, re.I | re.M)
    own = home.absolute() / "projects" / key / "git"
    project = Project(found.root, found.common_dir, found.git_dir, own, "sha256" if sha256 else "sha1")
    try:
        _refresh(project, found, exclude)
    except PhaseFailed:
        if not reading or not (own / "HEAD").is_file():
            raise
    return project


def _refresh(project: Project, found: FoundRepository, exclude: Sequence[str]) -> None:
    own = project.own
    with disk_errors(f"preparing {own}"):
        _create_own_git_dir(own)
        write_if_changed(own / "config", _config(project))
        write_if_changed(own / "attributes" / "config", _config(project))
        write_if_changed(own / "info" / "attributes", lfs.attributes())
        write_if_changed(own / "info" / "exclude", _excludes(project, exclude))
        shallow = read_below(found.common_dir, PurePath("shallow"))
        if shallow:
            write_if_changed(own / "shallow", shallow)
        elif (own / "shallow").exists():
            (own / "shallow").unlink(missing_ok=True)


def _create_own_git_dir(own: Path) -> None:
    if (own / "HEAD").is_file():
        _repair(own)
        return
    private_folder(own.parent)
    fresh = Path(tempfile.mkdtemp(dir=own.parent, prefix=".git-"))
    try:
        # `attributes` is a second git dir without our info/attributes, to read the attributes of the tree
        for name in (
            "info",
            "index",
            "kept",
            *(f"{d}{n}" for d in ("", "attributes/") for n in ("objects", "refs")),
        ):
            (fresh / name).mkdir(parents=True)
        for name in _HEADS:
            (fresh / name).write_bytes(_NO_BRANCH)
        try:
            fresh.rename(own)
        except OSError:
            # another process was faster
            if not (own / "HEAD").is_file():
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _repair(own: Path) -> None:
    """Restore the HEAD files, which a power failure may have emptied: without them git rejects the git dir."""
    for name in _HEADS:
        write_if_changed(own / name, _NO_BRANCH)


def _config(project: Project) -> bytes:
    sha256 = project.object_format == "sha256"
    lines = [
        "[core]",
        f"\trepositoryformatversion = {int(sha256)}",
        "\tbare = true",
        "\tfileMode = true",
        "\tsymlinks = true",
        "\tignoreCase = false",
        "\tautocrlf = false",
        "\tsafecrlf = false",
        "\tquotePath = false",
        "\tlogAllRefUpdates = false",
        "\tsparseCheckout = false",
        "[index]",
        "\tversion = 2",
        "\tsparse = false",
        "[gc]",
        "\tauto = 0",
        "[maintenance]",
        "\tauto = false",
    ]
    if sha256:
        lines += ["[extensions]", "\tobjectFormat = sha256"]
    return ("\n".join([*lines, *lfs.config(project.common_dir)]) + "\n").encode(errors="surrogateescape")


def _excludes(project: Project, more: Sequence[str]) -> bytes:
    """The user's ignore rules, which burnish's git dir does not have, and names of secret files."""
    # agents can read this list, so links to arbitrary files of the user are not followed
    parts = [read_below(project.common_dir, PurePath("info/exclude")) or b""]
    excludes_file = user_settings(project).get("core.excludesfile")
    config_home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    own = _named_path(project, excludes_file) if excludes_file else Path(config_home) / "git" / "ignore"
    parts.append(read_regular(own) or b"")
    parts += [b"/" + os.fsencode(name.strip("/")) for name in more]
    return b"\n".join([*(part.rstrip(b"\n") for part in parts if part), SECRETS.encode()])


def user_settings(project: Project) -> dict[str, str]:
    """The user's git settings that burnish needs. `git config` starts no other program."""
    env = bare_env(project.own) | {"GIT_DIR": str(project.git_dir), "HOME": str(Path.home())}
    for name in ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        env.pop(name, None)
        if name in os.environ:
            env[name] = os.environ[name]
    pattern = r"^(user\.(name|email)|core\.(excludesfile|filemode|autocrlf))$"
    result = git("config", "-z", "--show-scope", "--get-regexp", pattern, cwd=project.own, env=env, ok=(0, 1))
    words = os.fsdecode(result.stdout).split("\0")
    found = {}
    for scope, record in zip(words[::2], words[1::2], strict=False):
        name, _, value = record.partition("\n")
        if name.lower() != "core.excludesfile" or scope in _USER_SCOPES or _is_inside(project, value):
            found[name.lower()] = value
    return found


def _named_path(project: Project, text: str) -> Path:
    return project.root / expanded(text)


def _is_inside(project: Project, text: str) -> bool:
    place = _named_path(project, text).resolve()
    return any(place.is_relative_to(folder.resolve()) for folder in (project.root, project.common_dir))
