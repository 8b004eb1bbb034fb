"""What a project's own test command adds to the bare test runner: variables, options and further commands."""

from burnish.checks.own_commands.additions import with_own_commands

__all__ = ["with_own_commands"]
