"""The agent's own `.git` directory: written file by file, and never used by burnish's git calls."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from burnish.core.secrets import Secrets
from burnish.errors import BurnishError, SecretFound
from burnish.folder_walk import walk_folders
from burnish.git import staging as large
from burnish.git.files import copy_index, disk_errors, is_real_dir, remove_tree, restore_owner_rights
from burnish.git.objects import Author, borrowed_objects
from burnish.git.project import Project, quoted
from burnish.regular_files import read_regular

_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOOSE = re.compile(r"[0-9a-f]{2}")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
MAX_REFS = 5_000


@dataclass(frozen=True, slots=True)
class AgentGitDir:
    """Content of an agent's `.git`: HEAD, refs and texts."""

    branch: str
    commit: str
    base: str
    target: str | None = None
    author: Author = ("burnish", "burnish@localhost")
    # additional refs: rescued work that the prompt mentions
    refs: tuple[tuple[str, str], ...] = ()
    # texts for the agent in `.git/burnish`, so that no commit contains them
    files: tuple[tuple[str, str], ...] = ()


def create_agent_gitdir(project: Project, root: Path, index: Path, contents: AgentGitDir) -> None:
    """Write a new `.git` beside the workspace, then rename it into place, so that it is never incomplete."""
    with disk_errors(f"writing {root / '.git'}"):
        fresh = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".laying-{root.name}-"))
        try:
            _write_gitdir(project, fresh, index, contents)
            remove_tree(root / ".git")
            fresh.rename(root / ".git")
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _write_gitdir(project: Project, fresh: Path, index: Path, contents: AgentGitDir) -> None:
    sha256 = project.object_format == "sha256"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"):
        (fresh / name).mkdir(parents=True)
    (fresh / "HEAD").write_text(f"ref: {contents.branch}\n")
    settings = [
        f"[core]\n\trepositoryformatversion = {int(sha256)}\n\tbare = false\n\tfileMode = true",
        f"[user]\n\tname = {_value(contents.author[0])}\n\temail = {_value(contents.author[1])}",
        "[gc]\n\tauto = 0",
        *(["[extensions]\n\tobjectFormat = sha256"] if sha256 else []),
    ]
    (fresh / "config").write_text("\n".join(settings) + "\n", errors="surrogateescape")
    alternates = "".join(f"{quoted(link)}\n" for link, _store in borrowed_objects(project))
    (fresh / "objects" / "info" / "alternates").write_bytes(os.fsencode(alternates))
    refs = {contents.branch: contents.commit}
    if (
        contents.target
        and _is_branch_name(contents.target)
        and contents.target != contents.branch.removeprefix("refs/heads/")
    ):
        refs[f"refs/heads/{contents.target}"] = contents.base
    refs |= contents.refs
    lines = "".join(f"{sha} {ref}\n" for ref, sha in sorted(refs.items()))
    (fresh / "packed-refs").write_bytes(os.fsencode("# pack-refs with: peeled fully-peeled sorted \n" + lines))
    for name in ("shallow", "info/exclude"):
        if (project.own / name).is_file():
            shutil.copyfile(project.own / name, fresh / name)
    if index.is_file():
        copy_index(index, fresh / "index")
    for name, text in contents.files:
        (fresh / "burnish").mkdir(exist_ok=True)
        (fresh / "burnish" / name).write_text(text, "utf-8", errors="replace")


def _is_branch_name(target: str) -> bool:
    """A redacted name contains characters that git does not allow in branch names."""
    return re.search(r"[\s\[:]", target) is None


def _value(text: str) -> str:
    return '"' + re.sub(r'([\\"])', r"\\\1", text.replace("\n", " ")) + '"'


def folder_aside(root: Path) -> Path:
    """For each `.git` that was moved out of the workspace, until its commits are copied."""
    return root.parent / f".aside-{root.name}"


def sort_leftovers(root: Path) -> None:
    """Remove what killed runs left beside the workspace; a `.git` that an earlier version moved there is collected."""
    with disk_errors(f"removing what was left beside {root}"), os.scandir(root.parent) as listing:
        for entry in listing:
            if entry.name.startswith(f".laying-{root.name}-"):
                remove_tree(Path(entry.path))
            elif entry.name.startswith(f".aside-{root.name}-"):
                folder_aside(root).mkdir(mode=0o700, exist_ok=True)
                Path(entry.path).rename(folder_aside(root) / entry.name)


def move_gitdir_aside(root: Path) -> list[Path]:
    """Move `.git` (directory, file or link) out of the workspace; returns all such folders, also of killed runs."""
    here, folder = root / ".git", folder_aside(root)
    if os.path.lexists(here):
        with disk_errors(f"moving {here} aside"):
            folder.mkdir(mode=0o700, exist_ok=True)
            aside = Path(tempfile.mkdtemp(dir=folder))
            if is_real_dir(here):
                # a directory without its owner's rights can neither be moved nor read
                here.chmod(here.lstat().st_mode | 0o700)
                restore_owner_rights(here)
            here.rename(aside / "git")
    # One look: the folder of a thousand workspaces takes long to list, and this is done several times in a run.
    return sorted(path for path in folder.iterdir() if is_real_dir(path)) if is_real_dir(folder) else []


def borrows_from(project: Project, root: Path) -> bool:
    """Whether the `.git` in the directory borrows objects of this project, as burnish writes it for workspaces."""
    if not is_real_dir(root / ".git"):
        return False
    lines = os.fsdecode(read_regular(root / ".git/objects/info/alternates", follow=False) or b"").split("\n")
    # The last parts are enough: a home that is restored elsewhere has another path.
    ours = (project.own / "lent").parts[-4:]
    return any(Path(line.strip('"')).parent.parts[-4:] == ours for line in lines)


def read_tips(git_dir: Path) -> list[str]:
    """All commits that HEAD and the refs of a git dir name, HEAD's first; read from files, without running git."""
    if not is_real_dir(git_dir):
        return []
    found: dict[str, str] = {}
    for line in (read_regular(git_dir / "packed-refs", longest=1 << 24, follow=False) or b"").split(b"\n"):
        sha, _, name = line.partition(b" ")
        if _SHA.fullmatch(sha):
            found[os.fsdecode(name)] = sha.decode()
    for ref, path in _loose_refs(git_dir):
        text = (read_regular(path, longest=4096, follow=False) or b"").strip()
        if _SHA.fullmatch(text):
            found[ref] = text.decode()
    head = (read_regular(git_dir / "HEAD", longest=4096, follow=False) or b"").strip()
    first = head.decode() if _SHA.fullmatch(head) else found.get(os.fsdecode(head.removeprefix(b"ref: ")))
    return list(dict.fromkeys([*([first] if first else []), *found.values()]))


def _loose_refs(git_dir: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    if not is_real_dir(git_dir / "refs"):
        return
    for here, _dirs, files in walk_folders(git_dir / "refs"):
        for name in sorted(files):
            count += 1
            if count > MAX_REFS:
                return
            path = Path(here) / name
            yield str(path.relative_to(git_dir)), path


def copy_commits(
    project: Project, git_dir: Path, tips: list[str], excluded_commits: list[str], secrets: Secrets, most: int
) -> list[str]:
    """Copy the agent's commits into burnish's store; `unpack-objects` computes every object's hash again."""
    with _moved_objects(git_dir) as agent_objects:
        here = _existing_commits(project, tips, None)
        there = [sha for sha in _existing_commits(project, tips, agent_objects) if sha not in here]
        if not there:
            return []
        revs = "".join([*(f"{sha}\n" for sha in there), *(f"^{sha}\n" for sha in excluded_commits)])
        large.refuse_commits(project, agent_objects, revs.encode(), most)
        _refuse_secrets(project, agent_objects, revs, secrets)
        packing = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        pack = project.git(*packing, borrow=agent_objects, stdin=revs.encode()).stdout
        project.git("unpack-objects", "-q", "--strict", stdin=pack)
    return there


@contextmanager
def _moved_objects(git_dir: Path) -> Iterator[Path]:
    """Move the agent's objects to a temporary folder; on an error they are moved back, so that none is lost."""
    with tempfile.TemporaryDirectory(dir=git_dir.parent, prefix="objects-") as folder:
        objects = Path(folder)
        _move_plain_objects(git_dir / "objects", objects)
        try:
            yield objects
        except BurnishError:
            for file in objects.glob("*/*"):
                file.rename(git_dir / "objects" / file.relative_to(objects))
            raise


def _refuse_secrets(project: Project, agent_objects: Path, revs: str, secrets: Secrets) -> None:
    args = ("log", "--stdin", "-p", "-m", "--format=%B", "--no-color", "--no-ext-diff", "--no-textconv", "-U0")
    text = project.git(*args, borrow=agent_objects, stdin=revs.encode()).stdout.decode("utf-8", "replace")
    added_lines = "\n".join(line for line in text.split("\n") if not line.startswith("-"))
    if secrets.find_new(added_lines):
        raise SecretFound("Commits made by the agent contain what looks like a secret.")


def _existing_commits(project: Project, shas: list[str], extra_objects: Path | None) -> list[str]:
    query = "".join(f"{sha}\n" for sha in shas).encode()
    check = "--batch-check=%(objecttype) %(objectname)"
    answer = project.git("cat-file", check, borrow=extra_objects, stdin=query).stdout.decode()
    return [line.split(" ")[1] for line in answer.split("\n") if line.startswith("commit ")]


def _move_plain_objects(source: Path, into: Path) -> None:
    """Move loose objects and packs that are regular files; skip alternates, pipes and links."""
    (into / "pack").mkdir()
    if not is_real_dir(source):
        return
    for folder in sorted(source.iterdir()):
        pack = folder.name == "pack"
        if not is_real_dir(folder) or not (pack or _LOOSE.fullmatch(folder.name)):
            continue
        (into / folder.name).mkdir(exist_ok=True)
        for file in folder.iterdir():
            right = _PACK.fullmatch(file.name) if pack else re.fullmatch(r"[0-9a-f]{38}(?:[0-9a-f]{24})?", file.name)
            if right and file.is_file() and not file.is_symlink():
                file.rename(into / folder.name / file.name)


def keep_gitdir(project: Project, aside: Path, name: str) -> Path:
    """Keep the whole git dir where its commits cannot be copied, so that no work of the agent is lost."""
    for number in range(1, 1000):
        target = project.own / "kept" / f"{name}-{number}"
        if not os.path.lexists(target):
            target.parent.mkdir(exist_ok=True)
            shutil.move(aside, target)
            return target
    raise BurnishError(
        f"{project.own / 'kept'} already holds 1,000 git directories for {name}.",
        hint="Remove those that you do not need.",
    )
