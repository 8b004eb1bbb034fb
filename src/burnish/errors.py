"""Errors that a user can act on. Any other exception is a bug and keeps its traceback."""


class BurnishError(Exception):
    """An error message (`what`) and a `hint` what to do. Exit code 3."""

    exit_code = 3

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class BadInput(BurnishError):
    """Invalid usage or settings. Exit code 2."""

    exit_code = 2


class NotFound(BadInput):
    """Something with this name does not exist. Exit code 2, HTTP status 404."""


class Refused(BurnishError):
    """The action is not allowed now: a lock, an illegal move, a stale decision. Exit code 4."""

    exit_code = 4


class Untrusted(Refused):
    """The checkout is not trusted, so nothing in it was run. `root` is its path."""

    def __init__(self, what: str, *, hint: str, root: str) -> None:
        super().__init__(what, hint=hint)
        self.root = root


class PhaseFailed(BurnishError):
    """A phase failed; `code` is one of `core.status.ErrorCode`.

    `output` is the end of a command's output, to find the cause.
    """

    # name of the agent that failed, if any, in the settings
    agent: str = ""
    # usage of all attempts of the agent; `cost_source` is a `core.agent.CostSource`, None if no agent was started
    cost_usd: float | None = None
    cost_source: str | None = None
    tokens: int = 0
    # a reviewer wrote to the files that the others read
    breached: bool = False

    def __init__(self, code: str, what: str, *, hint: str = "", retryable: bool = False, output: str = "") -> None:
        super().__init__(what, hint=hint)
        self.code = code
        self.retryable = retryable
        self.output = output


class NotCommitted(PhaseFailed):
    """Part of the work must not be committed, so nothing was; the work stays in the workspace."""


class SecretFound(NotCommitted):
    """The work contains a secret."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("SECRET", what, hint=hint)


class FileTooLarge(NotCommitted):
    """The work contains a file over `commit.max_file_mb`."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("FILE_TOO_LARGE", what, hint=hint)


class ConflictsLeft(PhaseFailed):
    """The author of a merge did not resolve it, or undid changes of the target, so it was not committed."""

    def __init__(self, unresolved: list[str], undone: list[str]) -> None:
        parts = [f"left conflicts unresolved in {_names(unresolved)}"] if unresolved else []
        parts += [f"undid changes of the target that do not conflict, in {_names(undone)}"] if undone else []
        super().__init__(
            "CONFLICTS",
            f"The agent {' and '.join(parts)}.",
            hint="`burnish retry` asks it again; or merge the target into the branch by hand, then `burnish retry`.",
        )


def _names(paths: list[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if paths[5:] else "")


class OverBudget(PhaseFailed):
    """An agent was stopped because it reached a budget."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("BUDGET", what, hint=hint)
