"""Refs of burnish's own that lead to nothing: with one of them the user's `git gc` and `git log --all` fail."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors
from burnish.git.project import Project
from burnish.git.refs import OURS, OwnRefFiles, list_refs
from burnish.git.soundness import find_unsound
from burnish.proc.folders import sync_folder


@dataclass(frozen=True, slots=True)
class BrokenRef:
    """`commit` is where it points, if it names a commit at all."""

    name: str
    commit: str = ""

    @property
    def words(self) -> str:
        return (
            f"leads to {self.commit[:12]}, of which not everything can be read"
            if self.commit
            else "holds no name of a commit"
        )


def find_broken_refs(project: Project, files: OwnRefFiles, *, thorough: bool) -> list[BrokenRef]:
    """Refs of burnish's whose files hold no name; `thorough`: also those of which not everything can be read."""
    torn = [BrokenRef(ref) for ref in files.torn]
    if not thorough:
        return torn
    known = {ref: sha for prefix in OURS for ref, sha in list_refs(project, prefix).items()}
    wrong = find_unsound(project, known)
    return torn + [BrokenRef(ref, sha) for ref, sha in known.items() if ref in wrong]


def remove_broken_ref(project: Project, broken: BrokenRef) -> None:
    """Take it away; what its file held is kept in burnish's folder."""
    assert broken.name.startswith(OURS)
    if not broken.commit:
        _move_file(project, broken.name)
        return
    try:
        project.user_git("update-ref", "--no-deref", "-d", "--", broken.name, broken.commit)
    except PhaseFailed:
        _move_file(project, broken.name)
    _remember(project, broken.name, broken.commit.encode())


def _move_file(project: Project, ref: str) -> None:
    path = project.common_dir / ref
    with disk_errors(f"removing the broken ref {ref}"):
        _remember(project, ref, path.read_bytes())
        path.unlink()
        sync_folder(path.parent)


def _remember(project: Project, ref: str, content: bytes) -> None:
    with disk_errors(f"noting the broken ref {ref}"):
        place = project.own / "kept" / "broken-refs"
        place.mkdir(parents=True, exist_ok=True)
        (place / ref.replace("/", "%2F")).write_bytes(content)
