"""How a set-up that failed is reported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from burnish.checks.environment import withheld_credentials
from burnish.core.error_lines import first_error, last_lines
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.proc.full_disk import full_disk_failure


class CredentialsWithheld(PhaseFailed):
    """Set-up of a change failed without credentials that it would have on the base."""


def setup_failure(exit_code: int | None, printed: str, *, credentials: bool, folders: Sequence[Path]) -> PhaseFailed:
    """`folders`: where the set-up wrote."""
    if full := full_disk_failure("workspace.setup", folders, last_lines(printed)):
        return full
    what = f"workspace.setup failed with exit code {exit_code}: {first_error(printed) or 'it printed nothing'}"
    if credentials or not withheld_credentials(os.environ, Path.home()):
        hint = "Correct workspace.setup in burnish.yaml, then `burnish retry`."
        return PhaseFailed(ErrorCode.SETUP_FAILED, what, hint=hint, output=last_lines(printed))
    return CredentialsWithheld(
        ErrorCode.SETUP_FAILED,
        f"{what} (without the credentials of your package indexes, which only set-up of the base has)",
        hint="Look at the change. `workspace.setup_credentials: always` in your config.yaml gives them; then "
        "`burnish retry`.",
        output=last_lines(printed),
    )
