"""The `.git` that an agent gets to play with: laid by writing files, never used by our own git calls."""

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
from burnish.git import large_files as large
from burnish.git.files import copy_index, disk_errors, is_real_dir, open_rights, remove_tree
from burnish.git.object_links import lent_objects
from burnish.git.objects import Author
from burnish.git.project import Project, quoted
from burnish.regular_files import read_regular

_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOOSE = re.compile(r"[0-9a-f]{2}")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
MOST_REFS = 5_000


@dataclass(frozen=True, slots=True)
class AgentGitDir:
    """What a laid `.git` says: where HEAD is, and the names it knows."""

    branch: str
    commit: str
    base: str
    target: str | None = None
    author: Author = ("burnish", "burnish@localhost")
    # further names: rescued work that the agent is told of
    refs: tuple[tuple[str, str], ...] = ()
    # texts for the agent in `.git/burnish`, which is part of no commit
    files: tuple[tuple[str, str], ...] = ()


def create_agent_gitdir(project: Project, root: Path, index: Path, laid: AgentGitDir) -> None:
    """Write a fresh `.git` beside the workspace and move it in, so that half of one is never seen."""
    with disk_errors(f"laying {root / '.git'}"):
        fresh = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".laying-{root.name}-"))
        try:
            _write(project, fresh, index, laid)
            remove_tree(root / ".git")
            fresh.rename(root / ".git")
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _write(project: Project, fresh: Path, index: Path, laid: AgentGitDir) -> None:
    sha256 = project.object_format == "sha256"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"):
        (fresh / name).mkdir(parents=True)
    (fresh / "HEAD").write_text(f"ref: {laid.branch}\n")
    settings = [
        f"[core]\n\trepositoryformatversion = {int(sha256)}\n\tbare = false\n\tfileMode = true",
        f"[user]\n\tname = {_value(laid.author[0])}\n\temail = {_value(laid.author[1])}",
        "[gc]\n\tauto = 0",
        *(["[extensions]\n\tobjectFormat = sha256"] if sha256 else []),
    ]
    (fresh / "config").write_text("\n".join(settings) + "\n", errors="surrogateescape")
    alternates = "".join(f"{quoted(link)}\n" for link, _store in lent_objects(project))
    (fresh / "objects" / "info" / "alternates").write_bytes(os.fsencode(alternates))
    refs = {laid.branch: laid.commit}
    if laid.target and _is_name(laid.target) and laid.target != laid.branch.removeprefix("refs/heads/"):
        refs[f"refs/heads/{laid.target}"] = laid.base
    refs |= laid.refs
    lines = "".join(f"{sha} {ref}\n" for ref, sha in sorted(refs.items()))
    (fresh / "packed-refs").write_bytes(os.fsencode("# pack-refs with: peeled fully-peeled sorted \n" + lines))
    for name in ("shallow", "info/exclude"):
        if (project.own / name).is_file():
            shutil.copyfile(project.own / name, fresh / name)
    if index.is_file():
        copy_index(index, fresh / "index")
    for name, text in laid.files:
        (fresh / "burnish").mkdir(exist_ok=True)
        (fresh / "burnish" / name).write_text(text, "utf-8", errors="replace")


def _is_name(target: str) -> bool:
    """A name that held a secret was redacted, and is no name of a branch any more."""
    return re.search(r"[\s\[:]", target) is None


def _value(text: str) -> str:
    return '"' + re.sub(r'([\\"])', r"\\\1", text.replace("\n", " ")) + '"'


def take_aside(root: Path) -> list[Path]:
    """Move `.git` out of the workspace, whatever it is by now; also finds what a killed run had moved."""
    here = root / ".git"
    if os.path.lexists(here):
        with disk_errors(f"moving {here} aside"):
            aside = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".aside-{root.name}-"))
            if is_real_dir(here):
                # a directory without its owner's rights can neither be moved nor read
                here.chmod(here.lstat().st_mode | 0o700)
                open_rights(here)
            here.rename(aside / "git")
    return sorted(path for path in root.parent.glob(f".aside-{_glob(root.name)}-*") if is_real_dir(path))


def _glob(name: str) -> str:
    return re.sub(r"([\[*?])", r"[\1]", name)


def tips(git_dir: Path) -> list[str]:
    """Every commit that HEAD or a ref of that git dir names, HEAD's branch first; read, not asked."""
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
    seen = 0
    if not is_real_dir(git_dir / "refs"):
        return
    for here, _dirs, files in walk_folders(git_dir / "refs"):
        for name in sorted(files):
            seen += 1
            if seen > MOST_REFS:
                return
            path = Path(here) / name
            yield str(path.relative_to(git_dir)), path


def take_commits(
    project: Project, git_dir: Path, wanted: list[str], known: list[str], secrets: Secrets, most: int
) -> list[str]:
    """Copy commits the agent made into the user's store; every object's name is computed anew on the way."""
    with _lent(git_dir) as lent:
        here = _present(project, wanted, None)
        there = [sha for sha in _present(project, wanted, lent) if sha not in here]
        if not there:
            return []
        revs = "".join([*(f"{sha}\n" for sha in there), *(f"^{sha}\n" for sha in known)])
        large.refuse_commits(project, lent, revs.encode(), most)
        _refuse_secrets(project, lent, revs, secrets)
        packing = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        pack = project.git(*packing, borrow=lent, stdin=revs.encode()).stdout
        project.git("unpack-objects", "-q", "--strict", stdin=pack)
    return there


@contextmanager
def _lent(git_dir: Path) -> Iterator[Path]:
    """The agent's objects, moved out to be read; if that fails they are put back, for they are to be kept."""
    with tempfile.TemporaryDirectory(dir=git_dir.parent, prefix="objects-") as folder:
        lent = Path(folder)
        _plain_objects(git_dir / "objects", lent)
        try:
            yield lent
        except BurnishError:
            for file in lent.glob("*/*"):
                file.rename(git_dir / "objects" / file.relative_to(lent))
            raise


def _refuse_secrets(project: Project, lent: Path, revs: str, secrets: Secrets) -> None:
    args = ("log", "--stdin", "-p", "-m", "--format=%B", "--no-color", "--no-ext-diff", "--no-textconv", "-U0")
    text = project.git(*args, borrow=lent, stdin=revs.encode()).stdout.decode("utf-8", "replace")
    added = "\n".join(line for line in text.split("\n") if not line.startswith("-"))
    if secrets.find_new(added):
        raise SecretFound("Commits that the agent made hold what looks like a secret.")


def _present(project: Project, shas: list[str], lent: Path | None) -> list[str]:
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    check = "--batch-check=%(objecttype) %(objectname)"
    answer = project.git("cat-file", check, borrow=lent, stdin=asked).stdout.decode()
    return [line.split(" ")[1] for line in answer.split("\n") if line.startswith("commit ")]


def _plain_objects(source: Path, into: Path) -> None:
    """Only loose objects and packs that are real files: no alternates, no pipes that hang, no links out."""
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


def keep_whole(project: Project, aside: Path, name: str) -> Path:
    """When its commits cannot be copied, the git dir itself is kept: nothing an agent made is thrown away."""
    for number in range(1, 1000):
        target = project.own / "kept" / f"{name}-{number}"
        if not os.path.lexists(target):
            target.parent.mkdir(exist_ok=True)
            shutil.move(aside, target)
            return target
    raise BurnishError(f"{project.own / 'kept'} is full of git dirs.", hint="Look through them and remove them.")
