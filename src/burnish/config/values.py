"""The kinds of value a setting may have, and the short forms that a person may write."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from burnish.config.kinds import REPORTS
from burnish.core.error_lines import pattern_problem
from burnish.user_settings import DATABASE_SCHEMES

Text = Annotated[StrictStr, Field(min_length=1)]
Flag = StrictBool
Count = Annotated[StrictInt, Field(ge=1)]
Amount = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
Percent = Annotated[float, Strict(), Field(gt=0, le=100, allow_inf_nan=False)]
AmountOrOff = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]
Effort = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=32)]
CategoryName = Literal["compliance", "code", "test", "architecture", "performance", "security", "guard"]


class Section(BaseModel):
    """A group of settings: immutable, and unknown keys are errors."""

    # Built when first used: loading settings uses `Config` alone, which has all the others inside.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        # `review:` with nothing below it is what is left when a person comments out the rest.
        return {} if value is None else value


def _command(value: Any) -> Any:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(word, str) and word for word in value):
        return tuple(value)
    raise ValueError("a command is a string for the shell, or a list of words")


def _usable_pattern(value: str | None) -> str | None:
    if value is not None and (problem := pattern_problem(value)):
        raise ValueError(problem)
    return value


def _off(value: Any) -> Any:
    return "off" if value is False else value


def _check_or_none(value: Any) -> Any:
    # `off` is text in YAML 1.2. As a command it could never be started.
    if value is False or (isinstance(value, str) and value.strip().lower() in ("off", "none")):
        return None
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is empty: write a command, or `off` to run none")
    return value


def _every(value: Any) -> Any:
    return {True: "every", "off": False, None: False}.get(value, value) if _plain(value) else value


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool)


def _trigger(value: Any) -> Any:
    aliases = {"script_completion": "completion", "session_idle": "idle"}
    return aliases.get(value, value) if isinstance(value, str) else value


def _words(value: Any) -> Any:
    """`PORT: 5432` is what people write; an environment has only text."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(one) if isinstance(one, int | float) and not isinstance(one, bool) else one
        for key, one in value.items()
    }


def _database(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value.startswith(DATABASE_SCHEMES)):
        return value
    raise ValueError("a database is written like postgresql://user@host/name")


def _printed(value: Any) -> Any:
    return {True: "-", False: None}.get(value, value) if isinstance(value, bool) else value


def _quiet(value: Any) -> Any:
    if value is None or (
        isinstance(value, str) and re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", value)
    ):
        return value
    raise ValueError('quiet hours are written like "22:00-07:00"')


def _end_some_time(value: str | None) -> str | None:
    if value is not None and value[:5] == value[6:]:
        raise ValueError("these quiet hours never end")
    return value


def _share(value: Any) -> Any:
    """An amount of USD, or a share in percent."""
    is_share = isinstance(value, str) and re.fullmatch(r"\d{1,2}(\.\d+)?%", value) and float(value[:-1]) > 0
    is_amount = isinstance(value, float | int) and not isinstance(value, bool) and 0 < value < math.inf
    if value is None or is_share or is_amount:
        return value
    raise ValueError('a reserve is an amount above 0, or a share such as "20%"')


def _projects(value: Any) -> Any:
    """A path with nothing below it says nothing."""
    if not isinstance(value, dict):
        return value
    for path in value:
        if isinstance(path, str) and not path.startswith(("/", "~")):
            raise ValueError(f"{path!r} is not an absolute path of a checkout")
    return {path: {} if settings is None else settings for path, settings in value.items()}


def _inside(value: Any) -> Any:
    if isinstance(value, str) and (value.startswith(("/", "~")) or ".." in value.split("/")):
        raise ValueError("a folder of the repository, written from its root, e.g. services/api")
    return value.strip("/").removeprefix("./") if isinstance(value, str) else value


Projects = Annotated[dict[Text, dict[str, Any]], BeforeValidator(_projects)]


def _absolute_path(value: Any) -> Any:
    """A path that is the same in every directory. `/` would open everything."""
    if not isinstance(value, str) or not value.startswith(("/", "~/")):
        raise ValueError("a path is absolute or begins with ~/")
    if not value.strip("/"):
        raise ValueError("/ would open the whole system; list single folders")
    if "\0" in value or ".." in value.split("/"):
        raise ValueError("a path has no `..` in it")
    return value


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    # `port` raises ValueError for a wrong one
    if (
        not parts.hostname
        or parts.port == 0
        or parts.query
        or parts.fragment
        or parts.username
        or parts.path not in ("", "/")
    ):
        raise ValueError("an address is a scheme and a host, e.g. https://burnish.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise ValueError("an address begins with https://; others could read the codes on their way")
    return value


def _below_tree(value: str) -> str:
    if value.startswith(("/", "~")) or ".." in value.split("/"):
        raise ValueError("a pattern is relative to the repository, or begins with {report_dir}/")
    return value


AbsolutePath = Annotated[StrictStr, BeforeValidator(_absolute_path)]
Folder = Annotated[StrictStr, BeforeValidator(_inside)]
Database = Annotated[StrictStr | None, BeforeValidator(_database)]
Command = Annotated[StrictStr | tuple[StrictStr, ...], BeforeValidator(_command)]
Guard = Annotated[Literal["error", "warning", "off"], BeforeValidator(_off)]
SandboxMode = Annotated[Literal["auto", "require", "off"], BeforeValidator(_off)]
Hitl = Annotated[Literal[False, True, "every", "final"], BeforeValidator(_every)]
Trigger = Annotated[Literal["completion", "idle", "explicit"], BeforeValidator(_trigger)]
Variables = Annotated[dict[Text, StrictStr], BeforeValidator(_words)]
Pattern = Annotated[Text | None, AfterValidator(_usable_pattern)]
ReportFile = Annotated[Text | None, BeforeValidator(_printed)]
WebAddress = Annotated[StrictStr, AfterValidator(_web_address)]
EvidencePattern = Annotated[Text, AfterValidator(_below_tree)]
Reserve = Annotated[float | StrictStr | None, BeforeValidator(_share)]
QuietHours = Annotated[StrictStr | None, BeforeValidator(_quiet)]
ResumeHours = Annotated[QuietHours, AfterValidator(_end_some_time)]


class CheckEntry(Section):
    """One check. A string or a list stands for its command."""

    command: Command = Field(
        default="auto",
        description="a string for the shell, or a list of words; `auto` is what `burnish init` would find",
    )
    blocking: Flag = Field(default=True, description="whether new failures block approval")
    timeout_minutes: Amount | None = Field(default=None, description="instead of `checks.timeout_minutes`")
    paths: tuple[Text, ...] = Field(
        default=(), description='patterns, e.g. `[api/**, "*.sql"]`: it runs only if the change touches one'
    )
    cwd: Folder | None = Field(default=None, description="folder that it runs in, from the root of the repository")
    junit: ReportFile = Field(default=None, description="JUnit file in `{report_dir}`")
    sarif: ReportFile = Field(default=None, description="SARIF file in `{report_dir}`, or `-`: what it prints")
    rdjson: ReportFile = Field(default=None, description="reviewdog's rdjson file in `{report_dir}`, or `-`")
    rdjsonl: ReportFile = Field(default=None, description="reviewdog's rdjsonl file in `{report_dir}`, or `-`")
    tap: ReportFile = Field(default=None, description="TAP file in `{report_dir}`, or `-`: what it prints")
    jest: ReportFile = Field(
        default=None, description="JSON of jest or vitest, file in `{report_dir}`, or `-`: what it prints"
    )
    mocha: ReportFile = Field(default=None, description="JSON of mocha, file in `{report_dir}`, or `-`: what it prints")
    go: ReportFile = Field(
        default=None, description="output of `go test -json`, file in `{report_dir}`, or `-`: what it prints"
    )
    pattern: Pattern = Field(
        default=None,
        description="regular expression with a group `name`; each line of the output that matches is a failed test",
    )

    evidence: tuple[EvidencePattern, ...] = Field(
        default=(),
        description="patterns of screenshots, videos and HTML files that it writes, below the repository or"
        " `{report_dir}/`; they are stored and shown with the task",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, dict) and "run" in value:
            if "command" in value:
                raise ValueError("run and command are two names of one setting: write one of them")
            return {"command" if key == "run" else key: one for key, one in value.items()}
        return {"command": value} if isinstance(value, str | list | tuple) else value

    @model_validator(mode="after")
    def _one_report(self) -> CheckEntry:
        if len([name for name in (*REPORTS, "pattern") if getattr(self, name) is not None]) > 1:
            raise ValueError(f"a check has one report: {', '.join(REPORTS)} or pattern")
        return self


class ExtraCheck(CheckEntry):
    """A check under a name of your own. A string or a list stands for its command."""

    command: Command = Field(description="a string for the shell, or a list of words")

    @model_validator(mode="after")
    def _nothing_to_find(self) -> ExtraCheck:
        if self.command == "auto":
            raise ValueError("only test and lint can be auto")
        return self


Check = Annotated[CheckEntry | None, BeforeValidator(_check_or_none)]
Extra = Annotated[ExtraCheck | None, BeforeValidator(_check_or_none)]


class ReviewerEntry(Section):
    """One reviewer. A string stands for the agent's name."""

    agent: Name = Field(description="name under `agents`, or `auto`")
    model: Text | None = Field(default=None, description="instead of `review.model`")
    effort: Effort | None = Field(default=None, description="instead of the effort of its agent and of `roles.review`")
    prompt: Text | None = Field(default=None, description="file with its own prompt, from the project's checkout")
    categories: tuple[CategoryName, ...] = Field(default=(), description="what it looks at; empty = everything")
    timeout_minutes: Amount | None = Field(default=None, description="instead of the task type's own")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value


class RoleEntry(Section):
    """Who plays a role. A string stands for the agent's name."""

    agent: Name | None = Field(default=None, description="name under `agents`")
    model: Text | None = Field(default=None, description="its model in this role")
    effort: Effort | None = Field(default=None, description="its reasoning effort in this role")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"agent": value} if isinstance(value, str) else value
