"""`sandbox:` of the settings, on this machine: confined, not confined, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.config.settings import Config
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.proc.sandbox import Sandbox, available

REMEDY = "Install bubblewrap (`bwrap`) and let it make namespaces, or set `sandbox.mode: auto`; see `burnish doctor`."


@dataclass(frozen=True, slots=True)
class Confinement:
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
        return f"Agents and checks run with your own rights: {self.why}."

    def insist(self) -> Sandbox | None:
        """The sandbox, or none where that is allowed."""
        if self.required and not self.sandbox:
            what = f"sandbox.mode is `require`, but programs cannot be confined here: {self.why}."
            raise PhaseFailed(ErrorCode.CONFIG_ERROR, what, hint=REMEDY)
        return self.sandbox


OPEN = Confinement(None, "nobody asked for a sandbox")


def confinement(config: Config, *, checkout: Path, burnish_home: Path, readable: tuple[Path, ...] = ()) -> Confinement:
    """`readable`: the repository's git folder where it does not lie in the checkout, and the objects that are lent."""
    mode = config.sandbox.mode
    if mode == "off":
        return Confinement(None, "sandbox.mode is off")
    why = available(network=config.sandbox.network)
    if why:
        return Confinement(None, why, required=mode == "require")
    return Confinement(Sandbox(Path.home(), checkout, burnish_home, network=config.sandbox.network, readable=readable))
