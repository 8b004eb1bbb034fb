"""The settings that the engine uses, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from burnish.core.approval import ApprovalCriteria
from burnish.core.finding import Severity
from burnish.core.path_patterns import any_matches


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check, as the user wrote it (or as it was found)."""

    name: str
    # a string goes to the shell, a list is run as it is
    command: str | tuple[str, ...]
    blocking: bool = True
    timeout_seconds: float = 1200.0
    # a key of FILE_FORMATS (checks/report_formats.py), or None; the report's path is relative to {report_dir}
    report: str | None = None
    report_file: str | None = None
    # a regular expression with a group `name`: each line that matches names a failure
    pattern: str | None = None
    # detected in the repository, not configured
    found: bool = False
    # patterns: it runs only if the change touches one; none = always
    paths: tuple[str, ...] = ()
    # folder that it runs in, from the root
    cwd: str = ""
    # patterns of files that it leaves to be looked at, below the tree or `{report_dir}/`
    evidence: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The command, with the folder it runs in: the same command in two folders is two checks."""
        command = self.command if isinstance(self.command, str) else " ".join(self.command)
        return f"cd {self.cwd} && {command}" if self.cwd else command

    def concerns(self, changed: Collection[str]) -> bool:
        """True if it runs for a change of these files. `paths` are from the root; those from `cwd` count as well."""
        start = f"{self.cwd.strip('/')}/" if self.cwd.strip("./") else ""
        below = [path.removeprefix(start) for path in changed if start and path.startswith(start)]
        return not self.paths or any_matches(changed, self.paths) or any_matches(below, self.paths)


def fill_isolation_env(values: Iterable[tuple[str, str]], *, task: str, agent: str, cycle: int) -> dict[str, str]:
    """`isolation.env` for one place: `{task}`, `{agent}` and `{cycle}` keep tasks out of each other's databases."""
    words = {"task": task, "agent": agent, "cycle": str(cycle)}
    env = {}
    for name, value in values:
        for key, word in words.items():
            value = value.replace("{" + key + "}", word)
        env[name] = value
    return env


def is_test(name: str) -> bool:
    """`test`, and `web-test` as `burnish init` calls the tests of a part."""
    return name == "test" or name.endswith("-test")


def setting_of(name: str) -> str:
    """The setting that holds the check of this name."""
    return f"checks.{name}" if name in ("test", "lint") else f"checks.extra.{name}"


@dataclass(frozen=True, slots=True)
class ReviewerSpec:
    """One member of the panel."""

    agent: str
    model: str | None = None
    prompt: str | None = None
    categories: tuple[str, ...] = ()
    # how hard its model should think; None: as its program decides
    effort: str | None = None
    timeout_seconds: float = 600.0
    reads_files: bool = True
    # kind and argv of an agent that the settings define: another program under the same name is another reviewer
    program: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step of the pipeline: a separate review after approval."""

    name: str
    reviewers: tuple[ReviewerSpec, ...]
    prompt: str | None = None
    quorum: str = "all"


def needed_approvals(quorum: str, reviewer_count: int) -> int:
    """How many of the configured reviewers must approve."""
    return {"any": 1, "majority": reviewer_count // 2 + 1}.get(quorum, max(reviewer_count, 1))


@dataclass(frozen=True, slots=True)
class Limits:
    diff_kb: int = 30
    test_kb: int = 2
    lint_chars: int = 200
    error_kb: int = 1
    context_chars: int = 5000
    findings_kb: int = 16


@dataclass(frozen=True, slots=True)
class Policy:
    """How one task of one project is to be run."""

    agent: str
    model: str | None
    reviewers: tuple[ReviewerSpec, ...]
    checks: tuple[CheckSpec, ...] = ()
    lint_fix: str | tuple[str, ...] | None = None
    on_failure: str = "fix"
    checks_where: str = "clean"
    # wait or accept: an approval while a check is red as before, and new failures cannot be distinguished from old ones
    uncountable: str = "wait"
    max_cycles: int = 3
    auto_review: bool = True
    review_required: bool = True
    review_enabled: bool = True
    block_on: Severity = Severity.ERROR
    quorum: str = "all"
    trigger: str = "completion"
    may_fix: bool = False
    followups: bool = False
    accept_unsigned: bool = False
    # globs of files that may have content which no reviewer sees; from the user's own settings alone
    unseen_allow: tuple[str, ...] = ()
    parse_agent: str | None = None
    parse_model: str | None = None
    context: frozenset[str] = frozenset()
    limits: Limits = Limits()
    fix_history: str = "focused"
    approval: str = "auto"
    hitl: str = "off"  # off, every, final
    implement_timeout: float = 3600.0
    improve_timeout: float = 1800.0
    setup: str | tuple[str, ...] | None = None
    copy: tuple[str, ...] = ()
    artifacts: str = "ref"
    # prompt or apply: how the work of an interrupted attempt is restored
    rescued: str = "prompt"
    base_ref: str | None = None
    commit_message: str | None = None
    isolation: str = "none"
    isolation_env: tuple[tuple[str, str], ...] = ()
    task_usd: float | None = None
    task_tokens: int | None = None
    # `warn` or `refuse`: when an agent does not tell what a budget counts
    uncounted: str = "warn"
    # hash of the criteria: check commands, reviewers, block_on, quorum, pipeline, own prompts
    judge: str = ""
    # the same criteria as earlier versions of burnish hashed them
    judge_before: tuple[str, ...] = ()
    # the criteria in parts
    criteria: ApprovalCriteria | None = None
    # who improves; None = who implements
    improve_agent: str | None = None
    improve_model: str | None = None
    pipeline: tuple[StepSpec, ...] = ()
    # thinning, judge, tooling, expectations → error, warning, off
    guard: tuple[tuple[str, str], ...] = ()
    # warnings about these settings
    notes: tuple[str, ...] = ()
    # test files that no check runs, each with the reason
    unrun_files: tuple[tuple[str, str], ...] = ()
    # the same for test files of which some tests are run
    partly_unrun_files: tuple[tuple[str, str], ...] = ()

    def judges_as(self, judge_hash: str) -> bool:
        """Whether these settings have the criteria with this stored hash, in its current or an earlier form."""
        return judge_hash == self.judge or judge_hash in self.judge_before
