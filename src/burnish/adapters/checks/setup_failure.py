"""The error for a failed set-up."""

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


def setup_failure(exit_code: int | None, output: str, *, credentials: bool, folders: Sequence[Path]) -> PhaseFailed:
    """The error for a failed set-up that wrote into `folders`."""
    if full := full_disk_failure("workspace.setup", folders, last_lines(output)):
        return full
    message = f"workspace.setup failed with exit code {exit_code}: {first_error(output) or 'no output'}"
    if credentials or not withheld_credentials(os.environ, Path.home()):
        hint = "Correct workspace.setup in burnish.yaml, then run `burnish retry`."
        return PhaseFailed(ErrorCode.SETUP_FAILED, message, hint=hint, output=last_lines(output))
    return CredentialsWithheld(
        ErrorCode.SETUP_FAILED,
        f"{message} (without the credentials of your package indexes, which only set-up of the base gets)",
        hint="Check the change. `workspace.setup_credentials: always` in your config.yaml passes the credentials; then "
        "run `burnish retry`.",
        output=last_lines(output),
    )
