"""Every setting, its type, its default and a sentence: `docs/settings.md` is made from this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from burnish.config import values as v
from burnish.config.kinds import KINDS, NEED_ARGV, effort_problem

if TYPE_CHECKING:
    AgentKind = str
else:
    AgentKind = Literal[KINDS]


class AgentSection(v.Section):
    """One agent that can be named elsewhere."""

    kind: AgentKind = Field(description="what it is; may be left out where the name is a known agent")
    argv: tuple[v.Text, ...] = Field(
        default=(), description="program and arguments; `{prompt_file}` and the like are filled in"
    )
    env: tuple[v.Text, ...] = Field(
        default=(), description="names of the variables it is given besides the listed ones"
    )
    model: v.Text | None = Field(default=None, description="its model where nothing else names one")
    max_parallel: v.Count = Field(default=4, description="calls at the same time")
    fallback: v.Name | None = Field(default=None, description="agent to ask when this one cannot be reached")
    resume: v.Flag = Field(default=False, description="improve in the session of the implementation")
    effort: v.Effort | None = Field(default=None, description="how hard its model thinks, in its program's words")
    budget_usd: v.Amount | None = Field(default=None, description="most that this agent may cost in one `burnish run`")
    reads_files: v.Flag | None = Field(
        default=None, description="can it read files itself? empty = as its kind usually can"
    )
    script: v.Text | None = Field(default=None, description="file that a `scripted` agent replays")
    login: tuple[v.AbsolutePath, ...] = Field(
        default=(), description="files and folders of yours that it gets a copy of in the sandbox, e.g. `[~/.pi]`"
    )

    @model_validator(mode="after")
    def _startable(self) -> AgentSection:
        if self.kind in NEED_ARGV and not self.argv:
            raise ValueError(f"an agent of kind {self.kind} needs argv: [program, …]")
        if self.effort and (problem := effort_problem(self.kind, self.argv, self.effort)):
            raise ValueError(problem)
        return self


class Defaults(v.Section):
    auto_review: v.Flag | None = Field(default=None, description="for every type that does not say it itself")


class TaskKind(v.Section):
    auto_review: v.Flag | None = Field(default=None, description="review when the work is done")
    model: v.Text | None = Field(default=None, description="model of tasks of this type")
    review_model: v.Text | None = Field(default=None, description="model that reviews them")
    max_cycles: v.Count | None = Field(default=None, description="instead of `review.max_cycles`")
    timeout_minutes: v.Amount = Field(default=60, description="for implement")
    review_timeout_minutes: v.Amount = Field(default=10, description="for one reviewer")
    improve_timeout_minutes: v.Amount = Field(default=30, description="for improve")


class TaskTypes(v.Section):
    implement: TaskKind = Field(default_factory=lambda: TaskKind(auto_review=True))
    plan: TaskKind = Field(default_factory=lambda: TaskKind(auto_review=False))
    review: TaskKind = Field(default_factory=lambda: TaskKind(auto_review=False))
    improve: TaskKind = Field(default_factory=lambda: TaskKind(auto_review=False))


class Context(v.Section):
    """What the reviewer is shown."""

    task_definition: v.Flag = Field(default=True, description="title, description, scope, criteria")
    checklist: v.Flag = Field(default=True, description="the task's checklist")
    plan: v.Flag = Field(default=True, description="plan or specification")
    git_diff: v.Flag = Field(default=True, description="the whole change")
    delta: v.Flag = Field(default=True, description="what changed since the last review")
    test_results: v.Flag = Field(default=True, description="output of the tests")
    baseline: v.Flag = Field(default=True, description="what failed before the task")
    lint_results: v.Flag = Field(default=True, description="output of the linter")
    last_error: v.Flag = Field(default=True, description="errors of earlier attempts")
    prior_findings: v.Flag = Field(default=True, description="findings of earlier reviews")
    project_context: v.Flag = Field(default=True, description="`AGENTS.md`, `REVIEW.md` and the like, from the base")
    session_log: v.Flag = Field(default=False, description="the agent's own output")


class ReviewLimits(v.Section):
    diff_kb: v.Count = Field(default=30, description="diff shown at once; the rest is named and read or passed on")
    test_kb: v.Count = Field(default=2, description="test output")
    lint_chars: v.Count = Field(default=200, description="lint output")
    error_kb: v.Count = Field(default=1, description="earlier errors")
    context_chars: v.Count = Field(default=5000, description="each file of project context")
    findings_kb: v.Count = Field(default=16, description="findings in full; the next are named, the rest counted")


class Unseen(v.Section):
    """Content that no reviewer can be shown. Read from the user's own settings, never from a repository."""

    allow: tuple[v.Text, ...] = Field(
        default=(), description="globs of binary files that need no person, e.g. `[assets/*.png]`; user's settings only"
    )


class ReviewSettings(v.Section):
    required: v.Flag = Field(default=True, description="nothing skips the review")
    enabled: v.Flag = Field(default=True, description="has an effect only with `required: false`")
    agents: Annotated[tuple[v.ReviewerEntry, ...], Field(min_length=1)] = Field(
        default_factory=lambda: (v.ReviewerEntry(agent="auto"),),
        description="names or `{agent, model, …}`; two or more are a panel; `[static]` needs no AI",
    )
    quorum: Literal["all", "majority", "any"] = Field(
        default="all", description="how many of the configured reviewers must approve"
    )
    model: v.Text | None = Field(default=None, description="reviewers' model")
    max_cycles: v.Count = Field(default=3, description="rounds of work and review before a person is asked")
    block_on: Literal["error", "warning"] = Field(default="error", description="mildest severity that blocks approval")
    trigger: v.Trigger = Field(default="completion", description="`explicit`: stop in `code_review` after the checks")
    may_fix: v.Flag = Field(default=False, description="the reviewer may repair; checked and reviewed again")
    accept_unsigned: v.Flag = Field(
        default=False, description="read old markers such as `[APPROVED]`; a person still confirms"
    )
    followups: v.Flag = Field(default=False, description="make tasks of findings that did not block")
    slash_command: v.Text | None = Field(
        default=None, description="command of `.claude/commands` that the review prompt is put into"
    )
    unseen: Unseen = Field(default_factory=Unseen, description="content that no reviewer can be shown")
    context: Context = Field(default_factory=Context, description="what the reviewer is shown")
    limits: ReviewLimits = Field(default_factory=ReviewLimits, description="how much of it")


class Fix(v.Section):
    history: Literal["focused", "full"] = Field(
        default="focused", description="`full` adds the first prompt, every review and the last output"
    )


class Step(v.Section):
    """A review of its own after approval."""

    name: v.Name = Field(description="e.g. security")
    agents: Annotated[tuple[v.ReviewerEntry, ...], Field(min_length=1)] = Field(
        default_factory=lambda: (v.ReviewerEntry(agent="auto"),), description="as in `review.agents`"
    )
    prompt: v.Text | None = Field(default=None, description="file with the prompt, from the project's checkout")
    quorum: Literal["all", "majority", "any"] = Field(default="all", description="as in `review.quorum`")


class GuardSettings(v.Section):
    thinning: v.Guard = Field(
        default="error", description="fewer tests, an unknown number of tests, new skips, deleted assertions"
    )
    judge: v.Guard = Field(
        default="error",
        description="burnish settings, prompts, context files changed; a new file that shadows the test runner, "
        "the standard library or an installed package",
    )
    tooling: v.Guard = Field(
        default="warning",
        description="test, lint, coverage or CI settings, `conftest.py` or what the commands of checks run changed",
    )
    expectations: v.Guard = Field(
        default="warning",
        description="tests of the base fail with the change, which edits them; `off` does not run them",
    )


def _no_clash(value: Any) -> Any:
    if isinstance(value, dict) and (clashes := sorted({"test", "lint"} & value.keys())):
        raise ValueError(f"{clashes[0]} is a check of its own: write it under checks, not under checks.extra")
    return value


class ChecksSection(v.Section):
    test: v.Check = Field(
        default_factory=lambda: v.CheckEntry(command="auto"),
        description="command, `{command, blocking, …}`, `auto` (what `burnish init` would find) or `off`",
    )
    lint: v.Check = Field(
        default_factory=lambda: v.CheckEntry(command="auto"),
        description="the same; with `auto`, a linter that is not installed is left out",
    )
    lint_fix: v.Command | None = Field(
        default=None, description="runs after the agent; its edits are part of the commit"
    )
    on_failure: Literal["fix", "review"] = Field(
        default="fix", description="`fix` goes straight to improve, `review` reviews all the same"
    )
    where: Literal["workspace", "clean"] = Field(
        default="clean",
        description="`clean`: a clean checkout of the commit; `workspace`: where the author worked, ignored files too",
    )
    uncountable: Literal["wait", "accept"] = Field(
        default="wait",
        description="new failures cannot be distinguished from old ones, or no test of a changed file was run: `wait`"
        " for a person before approval, or `accept`",
    )
    build: v.Command | None = Field(default=None, description="runs on each tree before its checks, after set-up")
    guard: GuardSettings = Field(default_factory=GuardSettings)
    timeout_minutes: v.Amount = Field(default=20, description="for each check")
    extra: Annotated[dict[v.Name, v.Extra], BeforeValidator(_no_clash)] = Field(
        default={}, description="more checks, by name"
    )


class Isolation(v.Section):
    strategy: Literal["none", "serialized", "env_var"] = Field(
        default="none", description="`serialized`: one task of the project runs checks at a time"
    )
    env: v.Variables = Field(
        default={}, description='for agents, checks and the set-up, e.g. `{TEST_DB: "test_{task}_{agent}_{cycle}"}`'
    )


class SandboxSection(v.Section):
    mode: v.SandboxMode = Field(default="auto", description="bubblewrap; `require` refuses rather than do without")
    network: v.Flag = Field(default=True, description="may what runs inside reach the network?")
    read: tuple[v.AbsolutePath, ...] = Field(
        default=(), description="more files, folders or sockets to show, e.g. `[~/.cache/ms-playwright]`"
    )
    write: tuple[v.AbsolutePath, ...] = Field(
        default=(), description="more files, folders or devices that may be written, e.g. `[/dev/kvm]`"
    )


class WorkspaceSection(v.Section):
    setup: v.Command | None = Field(
        default=None, description="runs once in a new workspace, again when lock files change"
    )
    setup_credentials: Literal["base", "always"] = Field(
        default="base",
        description="which set-up has the credentials of package indexes: that of the `base` alone, or `always`",
    )
    copies: tuple[v.Text, ...] = Field(
        default=(), alias="copy", description="ignored files of yours that tests need, e.g. `[.env.test]`"
    )
    artifacts: Literal["ref", "branch", "home"] = Field(default="ref", description="where the reviews are committed")
    rescued: Literal["prompt", "apply"] = Field(
        default="prompt", description="work of a cut attempt: its diff in the next prompt, or applied to the files"
    )
    base: v.Text | None = Field(default=None, description="where tasks start from; empty = the branch checked out")


class CommitSection(v.Section):
    message: v.Text | None = Field(
        default=None, description="subject of commits; variables as in prompts, e.g. `{{ title }}`"
    )
    max_file_mb: v.Amount = Field(default=50, description="larger files are not committed; the task is blocked")


class MergeSection(v.Section):
    on_moved: Literal["recheck", "review", "refuse"] = Field(
        default="recheck", description="when the base has moved since the review"
    )
    on_conflict: Literal["person", "agent"] = Field(
        default="person", description="who resolves conflicts with the target, before `merge` merges the result"
    )


class PromptSwitch(v.Section):
    enabled: v.Flag = Field(default=True, description="use your own text; off = the one that comes with burnish")


class BudgetSection(v.Section):
    task_usd: v.Amount | None = Field(default=None, description="most that one task may cost")
    session_usd: v.Amount | None = Field(default=None, description="most that one `burnish run` may cost")
    task_tokens: v.Count | None = Field(default=None, description="most tokens for one task")
    session_tokens: v.Count | None = Field(default=None, description="most tokens for one `burnish run`")
    uncounted: Literal["warn", "refuse"] = Field(
        default="warn", description="when an agent does not tell what a budget counts: say it, or do not run"
    )
    reserve: v.Reserve = Field(
        default=None,
        description="part of `session_usd` that runs with `--watch` leave unspent: an amount, or a share such as "
        "`20%`, which counts for `session_tokens`, too; `--budget` counts as it is given",
    )

    def without_reserve(self) -> tuple[float | None, int | None]:
        """The budgets of a run that leaves the reserve: USD and tokens."""
        usd, tokens = self.session_usd, self.session_tokens
        if isinstance(self.reserve, str):
            share = 1 - float(self.reserve.removesuffix("%")) / 100
            return usd if usd is None else usd * share, tokens if tokens is None else int(tokens * share)
        return usd if usd is None else max(0.0, usd - (self.reserve or 0.0)), tokens


class Hook(v.Section):
    max_rounds: v.Count = Field(default=3, description="times that a session's stop is held up")


class CleanSection(v.Section):
    """What runs remove, at most once a day. Read from the user's own settings, never from a repository."""

    after_days: v.AmountOrOff = Field(
        default=90,
        description="files of tasks completed or cancelled for so long, and environments of checks unused for so long, "
        "are removed; 0 = never; user's settings only",
    )
    max_gb: v.AmountOrOff = Field(
        default=20,
        description="a project that takes more in the burnish home loses the oldest of these; 0 = no limit; "
        "user's settings only",
    )
    release_over_files: v.AmountOrOff = Field(
        default=10_000,
        description="a verified task of a repository with more files than this keeps no copy of them; `path`, `open` "
        "and `improve` write them again; 0 = every task keeps its workspace; user's settings only",
    )


class LimitsSection(v.Section):
    """Usage limits of plans. Read from the user's own settings, never from a repository."""

    quiet_hours: v.ResumeHours = Field(
        default=None,
        description='tasks that wait for a usage limit do not continue in these hours, e.g. `"08:00-18:00"`; '
        "user's settings only",
    )
    window_percent: v.Percent | None = Field(
        default=None,
        description="start no phase of a login of which so many percent of a window of its plan are used; it waits for "
        "the reset (claude); user's settings only",
    )
    agents: dict[v.Name, v.Count] = Field(
        default={},
        description="most tasks of an agent that the workers of all machines run at the same time, e.g. `{claude: 8}`; "
        "user's settings only",
    )


class MachineSection(v.Section):
    """How runs use this machine. Read from the user's own settings, never from a repository."""

    keep_awake: v.Flag = Field(
        default=True,
        description="the machine does not go to sleep while tasks run (systemd-inhibit, caffeinate); "
        "user's settings only",
    )
    memory_gb: v.Amount | None = Field(
        default=None,
        description="most memory of one agent or check, with all that it starts (needs the user's systemd); another "
        "task starts only while so much is free; user's settings only",
    )
    remote: v.Name = Field(
        default="origin",
        description="the git remote through which machines that share a `database` exchange branches; user's settings "
        "only",
    )

    @property
    def memory_bytes(self) -> int | None:
        return None if self.memory_gb is None else int(self.memory_gb * 1024**3)


class ServeSection(v.Section):
    """`burnish serve` behind a reverse proxy. Read from the user's own settings, never from a repository."""

    url: v.Text | None = Field(
        default=None,
        description="the address that browsers use, e.g. `https://burnish.example.org`; user's settings only",
    )
    proxies: tuple[v.Text, ...] = Field(
        default=(), description="addresses or networks of the proxies that are believed; user's settings only"
    )
    proxy_header: v.Text | None = Field(
        default=None,
        description="the header in which a proxy names the person, e.g. `X-Forwarded-User`; user's settings only",
    )
    proxy_role: Literal["none", "viewer", "reviewer", "maintainer"] = Field(
        default="none", description="the role of names that are not in `burnish people`; user's settings only"
    )


class Notify(v.Section):
    urls: tuple[v.Text, ...] = Field(default=(), description="Apprise URLs")
    desktop: v.Flag = Field(default=True, description="desktop notification")
    bell: v.Flag = Field(default=True, description="terminal bell")
    sound: v.Text | None = Field(default=None, description="sound file or name")
    quiet_hours: v.QuietHours = Field(default=None, description='e.g. `"22:00-07:00"`')
    on: tuple[Literal["blocked", "approved", "waiting_approval", "failed", "run_finished"], ...] = Field(
        default=("blocked", "waiting_approval", "failed", "run_finished"), description="what is worth a notification"
    )
    answer_url: v.WebAddress | None = Field(
        default=None,
        description="address at which your phone reaches `burnish serve`; notifications of your own ntfy server then"
        " have buttons that approve a task or send it back",
    )
    answer_hours: v.Amount = Field(default=12.0, description="how long such a button works")
