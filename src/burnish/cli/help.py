"""burnish help"""

from __future__ import annotations

from typing import Annotated

from burnish.cli.output import say
from burnish.cli.parameters import Argument
from burnish.errors import NotFound

EXIT_CODES = """\
0    approved, or the command succeeded
1    the command ran, but something is not approved or waits for a person
2    wrong usage or wrong settings
3    the command could not run (agent, git, environment)
4    refused in the current state, for example because a branch has moved
130  interrupted by a signal

Several tasks: the highest of 3, 1 and 0. --exit-zero turns 1 into 0."""
ENVIRONMENT = """\
BURNISH_HOME         the folder with all state (default: the user's data folder)
BURNISH__A__B=VALUE  the setting a.b, for example BURNISH__REVIEW__MAX_CYCLES=5
BURNISH_PLAIN=1      plain text: no colour, spinner, symbols or pager
BURNISH_PAGER, PAGER the pager for long output; empty: none
NO_COLOR             no colour
EDITOR, VISUAL       the editor for `burnish review TASK --edit` and `burnish open`

Agents and checks get a listed set of variables, not all of them: see docs/sandbox.md."""
FILES = """\
{home}
    the burnish home: database, workspaces, reviews, transcripts, environments
{config}
    your settings and prompts
burnish.yaml, .burnish/ in a repository
    its settings, prompts and context; written by `burnish init` and by you
refs/heads/burnish/*, refs/burnish/* in a repository
    branches of tasks, reviews, rescued work
settings of agent programs, git hooks
    only if you ran `burnish hook install`
a systemd user unit or a launchd plist
    only if you ran `burnish service --install`

To see what is there: burnish uninstall
To remove all of it:  burnish uninstall --yes"""
SUMMARIES = {
    "exit-codes": "what the exit codes mean",
    "environment": "variables that burnish reads",
    "files": "what is stored where, and how to remove it",
}


def help_about(
    topic: Annotated[str | None, Argument(metavar="[COMMAND|TOPIC]", help="The command or topic.")] = None,
) -> int:
    """Explain a command or a topic.

    Without an argument, list the commands and the topics. `burnish COMMAND --help` shows the same for a command.
    """
    from burnish.cli.main import VERBS, main

    if topic is None:
        code = main(["--help"])
        say("\nTopics (burnish help TOPIC):")
        for name, summary in SUMMARIES.items():
            say(f"  {name:<12} {summary}")
        return code
    if topic in VERBS:
        return main([topic, "--help"])
    texts = {"exit-codes": EXIT_CODES, "environment": ENVIRONMENT, "files": _files()}
    if topic not in texts:
        raise NotFound(f"There is no command or topic {topic!r}.", hint=f"Topics: {', '.join(texts)}.")
    say(texts[topic])
    return 0


def _files() -> str:
    from burnish.runtime.reader import home_of
    from burnish.user_settings import user_folder

    return FILES.format(home=home_of(), config=user_folder())
