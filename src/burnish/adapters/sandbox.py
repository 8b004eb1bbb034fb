"""`sandbox:` of the settings, on this machine: confined, not confined, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.config.settings import Config
from burnish.core.status import ErrorCode
from burnish.errors import BadInput, PhaseFailed
from burnish.git.object_links import borrowed_objects
from burnish.git.project import Project
from burnish.git.worktrees import list_checkouts
from burnish.proc.mounts import Mount
from burnish.proc.sandbox import Sandbox, available
from burnish.store import Store
from burnish.store.rows import ProjectRow

REMEDY = "Install bubblewrap (`bwrap`) and let it make namespaces, or set `sandbox.mode: auto`; see `burnish doctor`."
# Each is a mount around every call.
MOST_BYSTANDERS = 200


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What agents and checks of one project run in. `why` says why there is no sandbox."""

    sandbox: Sandbox | None
    why: str = ""
    required: bool = False

    @property
    def name(self) -> str:
        """For the event log and `show`."""
        return "bubblewrap" if self.sandbox else "none"

    @property
    def words(self) -> str:
        if self.sandbox:
            return "Agents and checks run confined by bubblewrap."
        if self.required:
            return f"Nothing is run: sandbox.mode is `require`, and {self.why}."
        return f"Agents and checks run with your own rights: {self.why}."

    def require(self) -> Sandbox | None:
        """The sandbox, or none where that is allowed."""
        if self.required and not self.sandbox:
            what = f"sandbox.mode is `require`, but programs cannot be confined here: {self.why}."
            raise PhaseFailed(ErrorCode.CONFIG_ERROR, what, hint=REMEDY)
        return self.sandbox


OPEN = SandboxPolicy(None, "nobody asked for a sandbox")


def resolve_sandbox_policy(
    config: Config,
    *,
    checkout: Path,
    burnish_home: Path,
    readable: tuple[Path, ...] = (),
    untouched: tuple[Path, ...] = (),
    project: Project | None = None,
) -> SandboxPolicy:
    """`readable`: the repository's git folder where it does not lie in the checkout, and the objects that are lent.

    `untouched`: what of the user's is to stay as it is, where programs would see it at all.
    `project`: its objects and its checkout are shown under names that a tree at the checkout's path does not hide.
    """
    mode, network = config.sandbox.mode, config.sandbox.network
    if mode == "off":
        return SandboxPolicy(None, "sandbox.mode is off")
    why = available(network=network)
    if why:
        return SandboxPolicy(None, why, required=mode == "require")
    box = Sandbox(
        Path.home(),
        checkout,
        burnish_home,
        network=network,
        readable=readable,
        untouched=untouched,
        read=_listed(config.sandbox.read, burnish_home, "read"),
        write=_listed(config.sandbox.write, burnish_home, "write"),
        mounts=_project_mounts(project) if project else (),
    )
    return SandboxPolicy(box)


def missing_paths(config: Config) -> str:
    """One line on paths of `sandbox.read` and `sandbox.write` that do not exist and are left out; empty if all do."""
    listed = (("read", config.sandbox.read), ("write", config.sandbox.write))
    missing = [f"{path} (sandbox.{key})" for key, paths in listed for path in paths if not _exists(path)]
    return f"not shown to agents and checks, because there is no such path: {', '.join(missing)}" if missing else ""


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError:
        return False  # a folder on the way may not be searched


def _listed(paths: Iterable[str], burnish_home: Path, key: str) -> tuple[Path, ...]:
    """Paths of the settings. The burnish home stays hidden, whatever they list."""
    places = tuple(Path(path).expanduser() for path in paths)
    for place in places:
        if place.resolve().is_relative_to(burnish_home.resolve()):
            raise BadInput(
                f"sandbox.{key} lists {place}, which is part of the burnish home.",
                hint=f"Take it out of sandbox.{key}: the decisions of people are recorded there.",
            )
    return places


def _project_mounts(project: Project) -> tuple[Mount, ...]:
    lent = (Mount(link, "read", store) for link, store in borrowed_objects(project))
    return (*lent, Mount(checkout_link(project), "read", project.root))


def checkout_link(project: Project) -> Path:
    """A second name for the user's checkout, below burnish's own git dir: another tree may stand at its path."""
    link = project.own / "checkout"
    if not link.is_symlink() or link.readlink() != project.root:
        link.unlink(missing_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(project.root)
    return link


def other_checkouts(common_dir: Path, projects: Iterable[ProjectRow]) -> tuple[Path, ...]:
    """Every checkout of the repository, and of the other projects that burnish knows, with their git folders."""
    found = dict.fromkeys(list_checkouts(common_dir))
    for row in projects:
        found |= dict.fromkeys((row.root, row.common_dir, *list_checkouts(row.common_dir)))
        if len(found) >= MOST_BYSTANDERS:
            break
    # a git folder in its checkout is shut with it
    apart = [place for place in found if place.name != ".git" or place.parent not in found]
    return tuple(place for place in apart[:MOST_BYSTANDERS] if place.is_dir())


def known_projects(home: Path) -> list[ProjectRow]:
    """The projects, for those who have no store at hand."""
    if not (home / "burnish.db").exists():
        return []
    with Store.open(home, create=False) as store:
        return store.projects()
