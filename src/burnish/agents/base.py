"""What burnish needs to know about an agent program: facts, and two pure methods."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from burnish.agents.jsonlines import Json
from burnish.core.agent import AgentReply, AgentRequest, Use

# The id of a call to the model ("" if the event has none), and what that call has used so far.
# Several events may report the same call, each with a higher figure.
CallUsage = tuple[str, Use]

# For programs that take a list of the MCP servers to start: no server of a user has this name.
NO_SERVER = "no-server-in-burnish"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One entry under `agents:`."""

    name: str
    kind: str
    # `command` only
    argv: tuple[str, ...] = ()
    # names of variables it may see, beside the listed ones and its own keys
    env: tuple[str, ...] = ()
    model: str | None = None
    max_parallel: int = 4
    fallback: str | None = None
    reads_files: bool = True
    resume: bool = False
    budget_usd: float | None = None
    # `scripted` only: the file to replay
    script: str | None = None
    # how hard its model should think, by role
    efforts: Mapping[str, str] = field(default_factory=dict)
    # files and folders of its user that a confined call gets a copy of, besides those that its adapter states
    login: tuple[str, ...] = ()

    def effort(self, request: AgentRequest) -> str:
        """How hard the model should think in this call; "" if no effort is set."""
        return request.effort or self.efforts.get(request.role, "")

    def effort_option(self, request: AgentRequest, *words: str) -> tuple[str, ...]:
        """The option of a program for reasoning effort, `{}` in it filled in; nothing if no effort is set."""
        effort = self.effort(request)
        return tuple(word.replace("{}", effort) for word in words) if effort else ()

    def placed(self, checkout: Path) -> AgentSettings:
        """With relative paths taken from the project's checkout; a bare program name stays for PATH.

        So is the script that an interpreter is given (`[python3, tools/judge.py]`): in a reviewer's working directory,
        that name is the author's file.
        """
        argv = self.argv
        if argv and "/" in argv[0]:
            argv = (str(checkout / argv[0]), *argv[1:])
        script = _script(argv)
        if script and (checkout / argv[script]).is_file():
            argv = (*argv[:script], str(checkout / argv[script]), *argv[script + 1 :])
        return replace(self, argv=argv, script=str(checkout / self.script) if self.script else None)


_INTERPRETER = re.compile(r"(?:python|node|ruby|perl|bash|zsh|sh|deno|bun|php|Rscript)[\d.]*")


def _script(argv: tuple[str, ...]) -> int | None:
    """Where the name of a script stands behind an interpreter; options without a value may come before it."""
    if not argv or not _INTERPRETER.fullmatch(Path(argv[0]).name):
        return None
    number = next((n for n, word in enumerate(argv) if n and not word.startswith("-")), None)
    return number if number and argv[number - 1] not in ("-m", "-c", "-e") else None


@dataclass(frozen=True, slots=True)
class Call:
    """What to start. `{prompt_file}` and the like are already filled in."""

    argv: tuple[str, ...]
    # None = nothing; the prompt goes here, never into argv (Linux refuses one argument over 128 KiB)
    stdin: str | None = None
    # set as they are, beside the listed environment
    env: Mapping[str, str] = field(default_factory=dict)
    # name → text, written into the request's call_dir first: schemas and settings for the program to read
    files: Mapping[str, str] = field(default_factory=dict)
    # lines of its output that begin like this are not stored: they repeat what comes later. `*` is up to 40 characters
    # without a quotation mark.
    without_lines: tuple[str, ...] = ()
    # the program reads its stdin only from a pipe, and not from a file; with `without_lines` only
    stdin_by_pipe: bool = False


# of a shell whose command was killed
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call that has ended: exit code and output. Of a very long output, only the head and the tail."""

    exit_code: int | None
    signal: int | None
    ended: str
    stdout: str
    stderr: str
    role: str = ""
    seconds: float = 0.0
    # the model that was asked for, or that the user's own settings of the program name
    model: str | None = None
    # the session that was resumed, and what its earlier calls had used
    resumed: str | None = None
    session_usage: Mapping[str, int] | None = None
    # what the program left in call_dir under the names in `output_files`
    files: Mapping[str, str] = field(default_factory=dict)
    # what `RecordsSession` found in the program's own record of the session
    session_record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def how(self) -> str:
        """`exit code 3`, `signal 9`: for messages."""
        words = f"signal {self.signal}" if self.signal is not None else f"exit code {self.exit_code}"
        was_killed = self.signal == signal.SIGKILL or self.exit_code == _KILLED
        return f"{words} (it was killed, perhaps because memory ran out)" if was_killed else words


@dataclass(frozen=True, slots=True)
class AgentFailure:
    """It did not do its job. `retryable`: the same call may well succeed in a minute."""

    what: str
    retryable: bool = False
    hint: str = ""
    # the end of what it printed
    output: str = ""
    # its plan is used up for a time: what it reported
    limit: str = ""
    # the model had used a tool before: a command could have written that, and made the program fail
    is_limit_unconfirmed: bool = False
    # of a call that may be retried: fewer attempts than usual, because another one is likely to end the same way
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the program reports about its usage. A budget can be counted only as far as it does."""

    has_tokens: bool = True
    # its own figure in USD, for every model
    has_cost: bool = False
    # the model that it used; where no setting names one, the price is known after the first call
    has_model: bool = False
    # how much of each window of its plan is used
    has_windows: bool = False
    # what its figures leave out: always, as an author, and where it is started as an `acp` agent
    omits: str = ""
    omits_as_author: str = ""
    omits_over_acp: str = ""


REPORTS_TOKENS = UsageReport()
REPORTS_NOTHING = UsageReport(has_tokens=False)


class Agent(Protocol):
    """All facts about one agent program. It does nothing itself: the runner owns files, processes and clocks."""

    @property
    def name(self) -> str:
        """The key in the registry, and the `kind` in the settings."""
        ...

    @property
    def program(self) -> str:
        """The program to look for on PATH; "" for agents that are not one program."""
        ...

    @property
    def verified(self) -> bool:
        """Whether it was tried against the real program."""
        ...

    @property
    def tested_version(self) -> str:
        """The version of the program that `make agents` tries; "" if there is none."""
        ...

    @property
    def min_version(self) -> str:
        """The oldest version that was tried: `doctor` warns of an older one. "" if none was tried."""
        ...

    @property
    def update(self) -> str:
        """The command that installs the newest version of the program; "" for agents that are not one program."""
        ...

    @property
    def efforts(self) -> tuple[str, ...] | None:
        """The values of its option for reasoning effort; empty if any word is passed on, None if it has no option."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that hold its own keys and addresses."""
        ...

    @property
    def output_files(self) -> tuple[str, ...]:
        """Files that the program writes into call_dir and that `read` needs."""
        ...

    @property
    def project_files(self) -> tuple[str, ...]:
        """What the program reads from a repository as instructions or settings, at any depth; `*` within a name.

        Reviewers get these files as the base has them, and a change to them is a finding of the guard.
        """
        ...

    @property
    def login(self) -> Login:
        """Where the program keeps its credentials, its user's settings and its sessions."""
        ...

    @property
    def required_settings(self) -> tuple[str, ...]:
        """Keys without which it cannot be started: an agent that has any needs an entry under `agents:`."""
        ...

    @property
    def reads_files(self) -> bool:
        """Whether a reviewer can open files itself, so that the prompt need not hold the whole change."""
        ...

    @property
    def usage(self) -> UsageReport: ...

    @property
    def stop_hook(self) -> StopHook | None:
        """None: the program has no hook that can hold up its stop."""
        ...

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call: ...

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure: ...


@runtime_checkable
class ReplacesMentions(Protocol):
    """A program that replaces `@path` in its prompt by that file."""

    @property
    def mention_names(self) -> tuple[str, ...]:
        """Names of its command and package, by which it is found behind a `command` agent."""
        ...


@runtime_checkable
class CannotReview(Protocol):
    """A program that cannot be limited to reading, so that it is an author only."""

    @property
    def review_problem(self) -> str:
        """Why; the beginning of a sentence."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """An agent whose program reports what it used where a failed call can be read, too: at its end, or in a file."""

    def bill(self, call: FinishedCall) -> AgentReply | None:
        """The usage that was reported, whatever became of the answer; the text is of no account."""
        ...


@runtime_checkable
class ReportsUsageLive(Protocol):
    """An agent whose program reports in its output what it uses while it works."""

    def call_usage(self, event: Json) -> CallUsage | None:
        """What one event of the output reports; None if it reports nothing."""
        ...


@runtime_checkable
class KnowsModel(Protocol):
    """An agent whose program does not print its model: it is in the user's settings of the program."""

    def configured_model(self, env: Mapping[str, str]) -> str | None: ...

    def session_model(self, env: Mapping[str, str], session: str) -> str | None:
        """From what the program itself recorded of a session, if the settings name no model."""
        ...


@runtime_checkable
class StartsServers(Protocol):
    """An agent whose program starts the MCP servers of the user's settings, unless it is told their names."""

    def without_servers(self, call: Call, env: Mapping[str, str]) -> Call:
        """The same call without them: in a reviewer, they could load files of the change."""
        ...


@runtime_checkable
class RecordsSession(Protocol):
    """An agent whose program writes to the file of a session what it does not print."""

    def session_record(self, sessions: Path, stdout: str) -> Mapping[str, Any]:
        """What `read` and `bill` need of it, as JSON; `sessions` is the folder of the call's sessions."""
        ...


# By path in the home: values that replace the user's in a JSON file. None: the file or folder is left out.
HomeSettings = Mapping[str, Mapping[str, Any] | None]


@runtime_checkable
class LoadsProjectCode(Protocol):
    """An agent whose program runs code of the repository when it starts, whatever burnish tells it."""

    @property
    def project_code(self) -> tuple[str, ...]:
        """Those of `project_files` that are such code or name it. Code loads other files, so reviewers get none."""
        ...


@runtime_checkable
class SetsHomeSettings(Protocol):
    """An agent whose program may ignore the settings that burnish passes to it, unless they are the user's own."""

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        """What the copy of the login, or a folder of links to it, has in place of the user's own."""
        ...


@runtime_checkable
class AbortsEarly(Protocol):
    """An agent whose program retries for minutes or without end, and shows it in its output."""

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        """Why the call should be aborted, from the end of its output so far; None if it should go on."""
        ...


# -- login ----------------------------------------------------------------------------------------
# Where a program keeps its login, its user's settings and its sessions: facts that each adapter states.

# Variables of the XDG base directory specification, and the folder below the home that each one replaces.
_XDG = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share"), ("XDG_STATE_HOME", ".local/state"))


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A JSON file that holds tokens. Copies of it have no refresh token; if it cannot be parsed it is not copied."""

    path: str
    # dotted keys that say when the access token expires: a time, or a JSON web token with one. `*` is any key.
    expires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Login:
    """All paths are relative to the home directory and use `/`."""

    # files and folders that are copied for a call: credentials, settings, instructions of the user
    paths: tuple[str, ...] = ()
    # parts of them that are not copied, `*` within a name: sessions, histories, logs, caches
    skipped: tuple[str, ...] = ()
    token_files: tuple[TokenFile, ...] = ()
    # folders with the sessions that the program can resume
    sessions: tuple[str, ...] = ()
    # variables to set where sessions are kept, each with a path: for programs that keep them beside other things
    session_variables: tuple[tuple[str, str], ...] = ()
    # a variable that puts one of the folders elsewhere, and that folder; "" is the home itself
    folder_variables: tuple[tuple[str, str], ...] = ()
    # names of the programs that use this login, besides the adapter's own
    programs: tuple[str, ...] = ()
    # variables with a key or a long-lived token: where one is set, the token files are not used
    key_variables: tuple[str, ...] = ()
    # arguments of the program that renew the access token without asking a model, with what it gets on stdin
    refresh: tuple[str, ...] = ()
    refresh_input: str = ""
    # the program ends only with its stdin, which stays open until this text is in its output
    refresh_until: str = ""
    # how to get a token that lasts
    advice: str = ""
    # the Agent Client Protocol's `authenticate` replaces it by another one
    is_replaced_by_acp: bool = False

    def located(self, path: str, home: Path, env: Mapping[str, str]) -> Path:
        """The absolute path, with the variables that move it."""
        for variable, folder in (*self.folder_variables, *_XDG):
            value = env.get(variable, "")
            if value.startswith("/") and Path(path).is_relative_to(folder):
                return Path(value) / Path(path).relative_to(folder)
        return home / path

    def variable_for(self, path: str, env: Mapping[str, str]) -> tuple[str, str]:
        """The variable to set so that the program finds `path` elsewhere, and the folder that it stands for."""
        moved = [(name, folder) for name, folder in _XDG if env.get(name, "").startswith("/")]
        names = (*self.folder_variables, *moved, ("HOME", ""))
        return next((name, folder) for name, folder in names if Path(path).is_relative_to(folder))

    def has_key(self, env: Mapping[str, str]) -> bool:
        return any(env.get(name) for name in self.key_variables)


NO_LOGIN = Login()


# -- stop hook ------------------------------------------------------------------------------------
# The hook that a program runs when its agent is about to stop: facts that each adapter states.


@dataclass(frozen=True, slots=True)
class StopHook:
    """The settings file that holds the program's hooks, the form of an entry, and the answer that rejects a stop."""

    name: str
    event: str
    # below the user's home directory, or below the folder that `home_variable` names
    user_file: str
    # in the checkout; "": the program has no such file
    local_file: str = ""
    home_variable: str = ""
    home_folder: str = ""
    refusal: str = "block"
    timeout_key: str = "timeout"
    # units of the time limit in one second: 1000 for milliseconds
    per_second: int = 1
    # an entry is the hook itself; with other programs, each entry has a list of hooks
    flat: bool = False
    # printed after installation
    note: str = ""
    # the program removes API keys from the environment of its hooks
    strips_keys: bool = False
    # the variable in which the program tells its hooks the folder that the session began in
    project_variable: str = ""
    # the hook is a file of its own, with this text; `{command}` and `{seconds}` are filled in
    script: str = ""

    def file(self, root: Path | None, env: Mapping[str, str] = os.environ) -> Path:
        """The settings file in the checkout `root`, or the user's own."""
        if root is not None and self.local_file:
            return root / self.local_file
        folder = env.get(self.home_variable, "") if self.home_variable else ""
        return (Path(folder) if folder else Path.home() / self.home_folder) / self.user_file

    def entry(self, command: str, seconds: int) -> dict[str, Any]:
        """What to add to the settings so that the program runs `command` for at most `seconds`."""
        key = "bash" if self.flat else "command"
        hook = {"type": "command", key: command, self.timeout_key: seconds * self.per_second}
        return hook if self.flat else {"hooks": [hook]}

    def script_with(self, command: str, seconds: int) -> str:
        return self.script.replace("{command}", json.dumps(command)).replace("{seconds}", str(seconds))

    def is_our_script(self, text: str) -> bool:
        return "burnish" in text and f"hook run {self.name}" in text

    def is_ours(self, hook: object) -> bool:
        """Whether burnish installed this entry."""
        command = hook.get("bash" if self.flat else "command") if isinstance(hook, dict) else None
        return isinstance(command, str) and "burnish" in command and f"hook run {self.name}" in command
