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
SETTINGS = """\
burnish.yaml in the repository     what the project needs: checks, reviewers, agents
{config}/config.yaml
    your own; values under `projects: {{PATH: ...}}` count for one checkout
BURNISH__A__B=VALUE, then flags    for one command

Later ones override earlier ones. burnish.yaml counts once you have trusted the checkout.

burnish init            write burnish.yaml
burnish config show     print each value and where it came from
burnish config set      change a value in your own file

Every setting: docs/settings.md"""
CHECKS = """\
checks:
  test: pytest -q
  lint: ruff check
  extra:
    types: {command: mypy src}

Each check runs on the base of a task and on each change. Only new failures count against the change.
Without settings, it runs the tests that it finds. A check without a readable list of failures is reported as such.

burnish show TASK       results of the checks
burnish log TASK        their output
burnish doctor          whether their programs are installed

More: docs/checks.md, docs/guard.md"""
REVIEW = """\
review:
  agents: [claude, static]     two or more are a panel; static needs no AI
  max_cycles: 3

A task is implemented, checked and reviewed, then improved and reviewed again, until it is approved or needs a person.
A verdict counts only in one form: a reply without it is not an approval. A finding keeps its id (F1, F2 ...) until a
review or a person closes it. An approval belongs to one commit, one base and one task text.

burnish findings TASK   findings with their state
burnish waive, resolve, reopen, comment
burnish decide, override

More: docs/verdicts.md, docs/review.md, docs/decide.md"""
AGENTS = """\
agent: claude                  implements and improves; auto: the first that is installed
agents:
  judge: {kind: codex, model: gpt-5}
review:
  agents: [judge]

The agent programs that you have installed are started with their own logins.

burnish doctor          agent programs on your PATH, with their versions
burnish doctor --probe  send each of them a one-word prompt
burnish limits          logins whose plan is used up

More: docs/agents.md, docs/llm.md"""
BUDGETS = """\
budget: {task_usd: 2, session_usd: 20}
agents:
  claude: {budget_usd: 5}

No budget is set by default. A task that reaches one stops, and its work is kept.

burnish run --budget 20 at most 20 USD for this run
burnish cost            cost, tokens and time by agent, phase and task
burnish limits          logins whose plan is used up, and when tasks continue

More: docs/budgets.md"""
NIGHT = """\
burnish run --watch -j 4 --until 07:00 --budget 20
burnish inbox                     in the morning: what needs you, with the command that answers it
burnish merge --all-verified

burnish run --watch --detach      in the background, also after you log out
burnish run --watch --pulls 60    also bring back comments and failed CI runs of pull requests
burnish stop                      stop it; the work is kept
burnish service --install         write a service that starts it with your login

More: docs/overnight.md"""
BOARD = """\
burnish serve --open    start the server and open the board of all projects
burnish tui             the same in a terminal

The server listens on this machine only, and each browser needs the URL that it prints once. It needs the extra
`serve`: pip install "burnish[serve]"

More: docs/board.md, docs/api.md, docs/tui.md"""
TRUST = """\
A repository can name programs: checks, agents, settings of test runners. burnish starts none of them before you trust
the checkout. Reading commands and `burnish review --no-tests` work without trust.

burnish trust --show    what the checkout would run
burnish trust           trust it
burnish untrust         revoke the trust

More: docs/trust.md"""
SANDBOX = """\
Agents and checks run in bubblewrap where it is installed, on a copy of the repository. Your checkout is not changed.

sandbox: {mode: auto, network: true}     auto, require or off; in your own config.yaml only

burnish doctor          tries bubblewrap and names what is missing
burnish show TASK       whether a task ran in the sandbox

More, also what is not promised: docs/sandbox.md, docs/security.md"""
SUMMARIES = {
    "agents": "which programs do the work, and how to choose them",
    "board": "the web board and the terminal screen",
    "budgets": "limits of cost, and what was spent",
    "checks": "tests, linters and other commands that judge a change",
    "environment": "variables that burnish reads",
    "exit-codes": "what the exit codes mean",
    "files": "what is stored where, and how to remove it",
    "night": "run many tasks unattended",
    "review": "how a change is reviewed and approved",
    "sandbox": "what agents and checks can reach",
    "settings": "where settings are, and which one counts",
    "trust": "repositories that you did not write",
}


def _offer_topics(incomplete: str) -> list[tuple[str, str]]:
    from burnish.cli.main import VERBS

    offers = {**dict.fromkeys(sorted(VERBS), ""), **SUMMARIES}
    return [offer for offer in offers.items() if offer[0].startswith(incomplete)]


def help_about(
    topic: Annotated[
        str | None,
        Argument(metavar="[COMMAND|TOPIC]", help="The command or topic.", autocompletion=_offer_topics),
    ] = None,
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
    if topic not in VERBS and topic not in SUMMARIES:
        raise NotFound(f"There is no command or topic {topic!r}.", hint=f"Topics: {', '.join(SUMMARIES)}.")
    code = main([topic, "--help"]) if topic in VERBS else 0
    if topic in SUMMARIES:
        say(("\n" if topic in VERBS else "") + _topic_text(topic))
    return code


def _topic_text(topic: str) -> str:
    from burnish.runtime.reader import home_of
    from burnish.user_settings import user_folder

    texts = {
        "agents": AGENTS,
        "board": BOARD,
        "budgets": BUDGETS,
        "checks": CHECKS,
        "environment": ENVIRONMENT,
        "exit-codes": EXIT_CODES,
        "files": FILES.format(home=home_of(), config=user_folder()),
        "night": NIGHT,
        "review": REVIEW,
        "sandbox": SANDBOX,
        "settings": SETTINGS.format(config=user_folder()),
        "trust": TRUST,
    }
    return texts[topic]
