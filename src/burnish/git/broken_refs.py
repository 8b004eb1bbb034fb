"""burnish's own refs that point to no readable commit: they make the user's `git gc` and `git log --all` fail."""

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
    """`commit` is empty where the ref's file contains no commit hash."""

    name: str
    commit: str = ""

    @property
    def words(self) -> str:
        return (
            f"points to {self.commit[:12]}, which cannot be read completely"
            if self.commit
            else "does not contain a commit hash"
        )


def find_broken_refs(project: Project, files: OwnRefFiles, *, thorough: bool) -> list[BrokenRef]:
    """Refs whose files contain no hash; `thorough`: also refs whose objects cannot all be read."""
    empty = [BrokenRef(ref) for ref in files.torn]
    if not thorough:
        return empty
    tips = {ref: sha for prefix in OURS for ref, sha in list_refs(project, prefix).items()}
    unsound = find_unsound(project, tips)
    return empty + [BrokenRef(ref, sha) for ref, sha in tips.items() if ref in unsound]


def remove_broken_ref(project: Project, ref: BrokenRef) -> None:
    """Delete the ref; a copy of its file is kept in burnish's own git dir."""
    assert ref.name.startswith(OURS)
    if not ref.commit:
        _move_file(project, ref.name)
        return
    try:
        project.user_git("update-ref", "--no-deref", "-d", "--", ref.name, ref.commit)
    except PhaseFailed:
        _move_file(project, ref.name)
    _save_copy(project, ref.name, ref.commit.encode())


def _move_file(project: Project, ref: str) -> None:
    path = project.common_dir / ref
    with disk_errors(f"removing the broken ref {ref}"):
        _save_copy(project, ref, path.read_bytes())
        path.unlink()
        sync_folder(path.parent)


def _save_copy(project: Project, ref: str, content: bytes) -> None:
    with disk_errors(f"saving a copy of the broken ref {ref}"):
        place = project.own / "kept" / "broken-refs"
        place.mkdir(parents=True, exist_ok=True)
        (place / ref.replace("/", "%2F")).write_bytes(content)
