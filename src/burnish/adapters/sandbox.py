"""Resolves `sandbox:` of the settings on this machine: confined, not confined, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.stores import has_store, open_store
from burnish.config.settings import Config
from burnish.core.status import ErrorCode
from burnish.errors import BadInput, PhaseFailed
from burnish.git.discovery import list_checkouts
from burnish.git.objects import borrowed_objects
from burnish.git.project import Project
from burnish.proc.mounts import Mount
from burnish.proc.sandbox import Sandbox, available, is_redirected
from burnish.store.rows import ProjectRow

REMEDY = "Install bubblewrap (`bwrap`) and let it create namespaces, or set `sandbox.mode: auto`; see `burnish doctor`."
# Each is a mount around every call.
MAX_BYSTANDERS = 200


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """The sandbox for agents and checks of one project. `why` says why there is none."""

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
            return f"Nothing runs: sandbox.mode is `require`, and {self.why}."
        return f"Agents and checks run with your own permissions: {self.why}."

    def require(self) -> Sandbox | None:
        """The sandbox, or None if that is allowed; raises otherwise."""
        if self.required and not self.sandbox:
            what = f"sandbox.mode is `require`, but programs cannot be confined here: {self.why}."
            raise PhaseFailed(ErrorCode.CONFIG_ERROR, what, hint=REMEDY)
        return self.sandbox


OPEN = SandboxPolicy(None, "no sandbox was requested")


def resolve_sandbox_policy(
    config: Config,
    *,
    checkout: Path,
    burnish_home: Path,
    readable: tuple[Path, ...] = (),
    read_only: tuple[Path, ...] = (),
    project: Project | None = None,
) -> SandboxPolicy:
    """The policy for this machine.

    `readable`: the repository's git folder if it is not in the checkout, and shared objects.

    `read_only`: other places of the user that programs may see but not change.
    `project`: its objects and its checkout are also mounted at paths that a tree at the checkout's path does not hide.
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
        untouched=read_only,
        read=_listed(config.sandbox.read, burnish_home, "read"),
        write=_listed(config.sandbox.write, burnish_home, "write"),
        mounts=_project_mounts(project) if project else (),
    )
    return SandboxPolicy(box)


def missing_paths(config: Config) -> str:
    """One line about paths in `sandbox.read` and `sandbox.write` that are not shown; "" if all are."""
    settings = (("read", config.sandbox.read), ("write", config.sandbox.write))
    entries = [(f"{path} (sandbox.{key})", path) for key, paths in settings for path in paths]
    missing = [name for name, path in entries if not _exists(path)]
    writable = [Path(path).expanduser() for path in config.sandbox.write]
    redirects = [name for name, path in entries if is_redirected(Path(path).expanduser(), writable)]
    why = {
        "because the path does not exist": [name for name in missing if name not in redirects],
        "because a link below a folder of sandbox.write leads there; list the target of the link": redirects,
    }
    return "; ".join(
        f"not shown to agents and checks, {cause}: {', '.join(names)}" for cause, names in why.items() if names
    )


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError:
        return False  # a parent folder is not searchable


def _listed(paths: Iterable[str], burnish_home: Path, key: str) -> tuple[Path, ...]:
    """Paths of the settings. The burnish home always stays hidden."""
    places = tuple(Path(path).expanduser() for path in paths)
    for place in places:
        if place.resolve().is_relative_to(burnish_home.resolve()):
            raise BadInput(
                f"sandbox.{key} lists {place}, which is part of the burnish home.",
                hint=f"Remove it from sandbox.{key}: the burnish home contains recorded decisions.",
            )
    return places


def _project_mounts(project: Project) -> tuple[Mount, ...]:
    object_mounts = (Mount(link, "read", store) for link, store in borrowed_objects(project))
    return (*object_mounts, Mount(checkout_link(project), "read", project.root))


def checkout_link(project: Project) -> Path:
    """A link to the user's checkout below burnish's own git dir, since another tree may be mounted at its path."""
    link = project.own / "checkout"
    if not link.is_symlink() or link.readlink() != project.root:
        link.unlink(missing_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(project.root)
    return link


def other_checkouts(common_dir: Path, projects: Iterable[ProjectRow]) -> tuple[Path, ...]:
    """All checkouts of the repository and of the other known projects, with their git folders."""
    found = dict.fromkeys(list_checkouts(common_dir))
    for row in (one for one in projects if not one.is_elsewhere):
        found |= dict.fromkeys((row.root, row.common_dir, *list_checkouts(row.common_dir)))
        if len(found) >= MAX_BYSTANDERS:
            break
    # A git folder inside its checkout is covered by it.
    apart = [place for place in found if place.name != ".git" or place.parent not in found]
    return tuple(place for place in apart[:MAX_BYSTANDERS] if place.is_dir())


def known_projects(home: Path) -> list[ProjectRow]:
    """All projects, for callers without an open store."""
    if not has_store(home):
        return []
    with open_store(home, create=False) as store:
        return store.projects()
