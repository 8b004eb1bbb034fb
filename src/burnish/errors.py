"""The failures a user can do something about. Anything else is our bug and keeps its traceback."""


class BurnishError(Exception):
    """One line that says what went wrong, one that says what to do. It could not run: exit code 3."""

    exit_code = 3

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class BadInput(BurnishError):
    """Usage or settings: exit code 2."""

    exit_code = 2


class NotFound(BadInput):
    """Nothing has that name: exit code 2, and 404 over HTTP."""


class Refused(BurnishError):
    """A lock, an illegal move, a stale decision: exit code 4."""

    exit_code = 4


class Untrusted(Refused):
    """A checkout would have to be trusted first: nothing of it was run. `root` is its path."""

    def __init__(self, what: str, *, hint: str, root: str) -> None:
        super().__init__(what, hint=hint)
        self.root = root


class PhaseFailed(BurnishError):
    """A phase could not be carried out; `code` is one of `core.status.ErrorCode`.

    `output` is the end of what a command printed, for people who look for the cause.
    """

    # the agent that failed, by its name in the settings, where it was one
    agent: str = ""
    # what all attempts of the agent have used; `cost_source` is a `core.agent.CostSource`, None if none was started
    cost_usd: float | None = None
    cost_source: str | None = None
    tokens: int = 0

    def __init__(self, code: str, what: str, *, hint: str = "", retryable: bool = False, output: str = "") -> None:
        super().__init__(what, hint=hint)
        self.code = code
        self.retryable = retryable
        self.output = output


class NotCommitted(PhaseFailed):
    """Part of the work may not go into git, so nothing was committed; the work stays in the workspace."""


class SecretFound(NotCommitted):
    """The work holds a secret."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("SECRET", what, hint=hint)


class FileTooLarge(NotCommitted):
    """The work holds a file over `commit.max_file_mb`."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("FILE_TOO_LARGE", what, hint=hint)


class OverBudget(PhaseFailed):
    """An agent was ended because a budget was reached while it worked."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__("BUDGET", what, hint=hint)
