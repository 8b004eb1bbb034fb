"""How one task is to be run: the settings and the task's own wishes, resolved to plain values."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from burnish.config.kinds import CLI_KINDS, NO_REVIEWERS, READ_NO_FILES, READY_KINDS, REPORTS, effort_problem
from burnish.core.approval import ApprovalCriteria, StepCriteria
from burnish.core.finding import Severity
from burnish.core.policy import CheckSpec, Limits, Policy, ReviewerSpec, StepSpec
from burnish.core.task import Spec
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.config.sections import TaskKind
    from burnish.config.settings import Config
    from burnish.config.values import CheckEntry, ReviewerEntry, RoleEntry

# the names in `prompts` of texts that one reviewer or step names
REVIEWER_PROMPT = "reviewer:"


def policy_for(
    config: Config,
    spec: Spec,
    *,
    installed: Callable[[str], bool],
    detected: tuple[CheckSpec, ...],
    prompts: Mapping[str, str] | None = None,
) -> Policy:
    """The policy of one task; `detected` is what the repository has, `prompts` the user's own texts."""
    cast = RoleResolver(config, spec, installed)
    kind: TaskKind = getattr(config.task_types, spec.type.value)
    agent, model = cast.worker("implement")
    improver, improver_model = cast.worker("improve")
    policy = Policy(
        agent=agent,
        model=model,
        improve_agent=improver,
        improve_model=improver_model,
        reviewers=cast.panel(config.review.agents),
        checks=checks_for(config, detected, skip_tests=spec.skip_tests),
        pipeline=_pipeline(config, cast),
        max_cycles=spec.max_cycles or kind.max_cycles or config.review.max_cycles,
        auto_review=auto_review(config, spec),
        implement_timeout=kind.timeout_minutes * 60,
        improve_timeout=kind.improve_timeout_minutes * 60,
        base_ref=spec.base_ref or config.workspace.base,
        # without tests only a person can vouch for it
        approval="required" if spec.skip_tests else config.approval,
        **_review_values(config),
        **_other_values(config),
        # a person may have raised them for this task
        task_usd=spec.budget_usd or config.budget.task_usd,
        task_tokens=spec.budget_tokens or config.budget.task_tokens,
    )
    forms = _criteria_forms(config, spec, policy, prompts or {})
    return replace(
        policy, judge=forms[0].hash, judge_before=tuple(one.hash for one in forms[1:]), criteria=forms[0].parts
    )


def _pipeline(config: Config, cast: RoleResolver) -> tuple[StepSpec, ...]:
    names = [step.name for step in config.pipeline]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise BadInput(f"Two steps of the pipeline are called {twice}.", hint="Give each a name of its own.")
    return tuple(
        StepSpec(step.name, cast.panel(step.agents, f"pipeline.{step.name}.agents"), step.prompt, step.quorum)
        for step in config.pipeline
    )


def _review_values(config: Config) -> dict[str, Any]:
    review = config.review
    parse = config.roles.get("parse")
    return {
        "review_required": review.required,
        "review_enabled": review.enabled or review.required,
        "block_on": Severity(review.block_on),
        "quorum": review.quorum,
        "trigger": review.trigger,
        "may_fix": review.may_fix,
        "followups": review.followups,
        "accept_unsigned": review.accept_unsigned,
        "unseen_allow": review.unseen.allow,
        "parse_agent": parse.agent if parse else None,
        "parse_model": parse.model if parse else None,
        "context": frozenset(name for name in type(review.context).model_fields if getattr(review.context, name)),
        "limits": Limits(**review.limits.model_dump()),
        "notes": _notes(config),
    }


def _other_values(config: Config) -> dict[str, Any]:
    return {
        "lint_fix": config.checks.lint_fix,
        "on_failure": config.checks.on_failure,
        "checks_where": config.checks.where,
        "uncountable": config.checks.uncountable,
        "guard": tuple(config.checks.guard.model_dump().items()),
        "fix_history": config.fix.history,
        "hitl": config.hitl_review or "off",
        "setup": config.workspace.setup,
        "copy": config.workspace.copies,
        "artifacts": config.workspace.artifacts,
        "rescued": config.workspace.rescued,
        "commit_message": config.commit.message,
        "isolation": config.isolation.strategy,
        "isolation_env": tuple(config.isolation.env.items()),
        "uncounted": config.budget.uncounted,
    }


def _notes(config: Config) -> tuple[str, ...]:
    notes = []
    if config.review.required and not config.review.enabled:
        where = config.origin("review.enabled")
        notes.append(f"review.enabled: false ({where}) has no effect while review.required is true.")
    if config.review.trigger == "idle":
        where = config.origin("review.trigger")
        notes.append(
            f"review.trigger: idle ({where}) acts as completion in a run: the review follows the work."
            " For sessions of your own, `burnish hook install AGENT` reviews when the agent stops."
        )
    return tuple(notes)


def auto_review(config: Config, spec: Spec) -> bool:
    """The task's own word > its type's, where somebody wrote it > `defaults.auto_review` > the type's."""
    name = spec.type.value
    of_type: bool | None = getattr(config.task_types, name).auto_review
    is_set = config.origin(f"task_types.{name}.auto_review") != "default"
    order = (of_type, config.defaults.auto_review) if is_set else (config.defaults.auto_review, of_type)
    answers = (spec.auto_review, *order, name == "implement")
    return next(answer for answer in answers if answer is not None)


def checks_for(config: Config, detected: tuple[CheckSpec, ...], *, skip_tests: bool) -> tuple[CheckSpec, ...]:
    """Test, lint and extra checks, as configured or as found; `auto` stands for those of every part of the project."""
    found = {spec.name: spec for spec in detected}
    entries: dict[str, CheckEntry | None] = {"test": config.checks.test, "lint": config.checks.lint}
    for name in found.keys() - entries.keys():
        entry = entries[_kind(name)]
        if entry is not None and entry.command == AUTO and name not in config.checks.extra:
            entries[name] = entry
    entries |= config.checks.extra
    specs = [
        check_spec(name, entry, found.get(name), config.checks.timeout_minutes)
        for name, entry in entries.items()
        if entry is not None and not (skip_tests and _is_test(name, config))
    ]
    return tuple(spec for spec in specs if spec)


def _kind(name: str) -> str:
    """What a found check is: `web-lint` → lint."""
    return "lint" if name.endswith("lint") else "test"


def _is_test(name: str, config: Config) -> bool:
    return name == "test" or (name not in config.checks.extra and _kind(name) == "test")


def check_spec(name: str, entry: CheckEntry, found: CheckSpec | None, minutes: float) -> CheckSpec | None:
    """One check; None where it is to be looked for and nothing was found."""
    command = entry.command
    seconds = (entry.timeout_minutes or minutes) * 60
    if command == AUTO:
        if found is None:
            return None
        found = replace(found, blocking=entry.blocking, timeout_seconds=seconds, found=True)
        return replace(found, paths=entry.paths, cwd=entry.cwd or found.cwd, evidence=entry.evidence)
    files = ((kind, getattr(entry, kind)) for kind in REPORTS)
    report, file = next(((kind, file) for kind, file in files if file), (None, None))
    spec = CheckSpec(name, command, entry.blocking, seconds, report, file, entry.pattern)
    return replace(spec, paths=entry.paths, cwd=entry.cwd or "", evidence=entry.evidence)


@dataclass(frozen=True, slots=True)
class _Form:
    hash: str
    parts: ApprovalCriteria


def _criteria_forms(config: Config, spec: Spec, policy: Policy, prompts: Mapping[str, str]) -> tuple[_Form, ...]:
    """The hash of what judges, and the same criteria as earlier versions hashed them: an upgrade voids nothing.

    A check that is looked for is hashed as `auto`: what it stands for depends on the base, to which an approval is
    bound anyway, and on what this version can find. Earlier versions hashed the command, which was pytest or ruff.
    """
    own_checks = [_check(check) for check in policy.checks if not check.found]
    entries = {"test": config.checks.test, "lint": config.checks.lint}
    automatic = {
        name: entry.blocking
        for name, entry in entries.items()
        if entry is not None and entry.command == AUTO and not (spec.skip_tests and name == "test")
    }
    now = [[name, AUTO, blocking, None, None] for name, blocking in automatic.items()]
    forms = [now, *_first_form(automatic)] if automatic else [[]]
    in_order = [sorted([*own_checks, *form], key=lambda check: _place(check[0], config)) for form in forms]
    policies = dict.fromkeys((policy, _without_programs(policy)))
    return tuple(
        _Form(criteria_hash(one, checks, prompts), criteria_parts(one, checks, prompts))
        for one in policies
        for checks in in_order
    )


def _without_programs(policy: Policy) -> Policy:
    """As earlier versions saw it: they did not hash the programs of reviewers. They had no efforts, which stay."""

    def plain(reviewers: tuple[ReviewerSpec, ...]) -> tuple[ReviewerSpec, ...]:
        return tuple(replace(reviewer, program=()) for reviewer in reviewers)

    pipeline = tuple(replace(step, reviewers=plain(step.reviewers)) for step in policy.pipeline)
    return replace(policy, reviewers=plain(policy.reviewers), pipeline=pipeline)


def _first_form(automatic: Mapping[str, bool]) -> list[list[list[Any]]]:
    """Each way in which the first version may have resolved `auto`."""
    commands = {"test": ["python", "-m", "pytest", "-q"], "lint": ["ruff", "check", "--output-format=concise"]}
    each = [[[], [[name, commands[name], blocking, None, None]]] for name, blocking in automatic.items()]
    return [[check for choice in ways for check in choice] for ways in itertools.product(*each)]


def _place(name: str, config: Config) -> int:
    names = ["test", "lint", *config.checks.extra]
    return names.index(name) if name in names else len(names)


def _check(check: CheckSpec) -> list[Any]:
    where = [[check.cwd, check.paths]] if check.cwd or check.paths else []
    fields = [check.name, check.command, check.blocking, check.report, check.report_file]
    return [*fields, *_if_set(check.pattern), *where]


def criteria_hash(policy: Policy, checks: Sequence[Sequence[Any]], prompts: Mapping[str, str]) -> str:
    """Names everything that judges, so that an approval cannot outlive a change of it."""
    what = {
        "checks": checks,
        "reviewers": [_reviewer(one) for one in policy.reviewers],
        "block_on": policy.block_on.value,
        "quorum": policy.quorum,
        "pipeline": [
            [step.name, step.prompt, step.quorum, [_reviewer(one) for one in step.reviewers]]
            for step in policy.pipeline
        ],
        "prompts": dict(prompts),
    }
    return _hash(what)


def criteria_parts(policy: Policy, checks: Sequence[Sequence[Any]], prompts: Mapping[str, str]) -> ApprovalCriteria:
    """What `criteria_hash` hashes, in parts. The prompt that a reviewer names belongs to that reviewer."""
    shared_prompts = {name: text for name, text in prompts.items() if not name.startswith(REVIEWER_PROMPT)}

    def own(prompt: str | None) -> str:
        return prompts.get(f"{REVIEWER_PROMPT}{prompt}", "") if prompt else ""

    def step(name: str, prompt: str | None, quorum: str, reviewers: tuple[ReviewerSpec, ...]) -> StepCriteria:
        hashes = tuple(_hash([*_reviewer(one), own(one.prompt)]) for one in reviewers)
        return StepCriteria(name, _hash([quorum, prompt, own(prompt)]), hashes)

    pipeline = (step(one.name, one.prompt, one.quorum, one.reviewers) for one in policy.pipeline)
    return ApprovalCriteria(
        _hash([checks, policy.block_on.value, shared_prompts]),
        (step("", None, policy.quorum, policy.reviewers), *pipeline),
    )


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _if_set(value: str | None) -> list[str]:
    """A setting that is newer than stored approvals: where it is not used, their hash stays the same."""
    return [value] if value else []


def _reviewer(one: ReviewerSpec) -> list[Any]:
    # a reviewer that thinks less is another reviewer
    program = [*one.program, *([f"effort {one.effort}"] if one.effort else ())]
    return [one.agent, one.model, one.prompt, one.categories, *([program] if program else ())]


# -- roles ----------------------------------------------------------------------------------------
# Who does what, and with which model.

AUTO = "auto"


def effort_of(config: Config, agent: str, role: str) -> str | None:
    """The reasoning effort of an agent in a role; a role without an agent's name means all that have the option."""
    entry = config.agents.get(agent)
    part = next((one for name, one in config.roles.items() if name == role), None)
    own = entry.effort if entry else None
    if part is None or not part.effort or part.agent not in (None, agent):
        return own
    kind, argv = (entry.kind, entry.argv) if entry else (agent, ())
    return own if effort_problem(kind, argv, part.effort) else part.effort


def author_of(config: Config, spec: Spec, installed: Callable[[str], bool]) -> str:
    """The agent that implements a task; "" if none is installed."""
    return RoleResolver(config, spec, installed).worker("implement")[0]


@dataclass(frozen=True)
class RoleResolver:
    """The parts of one task, given out by the settings and the task."""

    config: Config
    spec: Spec
    installed: Callable[[str], bool]

    def worker(self, role: str) -> tuple[str, str | None]:
        """Agent and model that implement or improve; the agent is "" where none is installed."""
        part = self._role(role)
        name = self.spec.agent or (part.agent if part else None) or self.config.agent
        agent = self._first_installed() if name == AUTO else self._known(name)
        self._insist_on_effort(agent, role)
        if self.spec.model:
            return agent, self.spec.model
        of_role = part.model if part and not self.spec.agent else None
        return agent, of_role or self._kind.model or self._own_model(agent)

    def panel(self, entries: Iterable[ReviewerEntry], setting: str = "review.agents") -> tuple[ReviewerSpec, ...]:
        return tuple(self._reviewer(entry, f"{setting}[{index}]") for index, entry in enumerate(entries))

    def _reviewer(self, entry: ReviewerEntry, setting: str) -> ReviewerSpec:
        agent = self._reviewing() if entry.agent == AUTO else self._known(entry.agent)
        if problem := NO_REVIEWERS.get(self.kind_of(agent)):
            raise BadInput(f"{setting}: {agent} cannot review. {problem}.", hint="Name another agent as the reviewer.")
        if entry.effort:
            self._refuse_effort(agent, entry.effort, f"{setting}.effort", f"Remove {setting}.effort")
        else:
            self._insist_on_effort(agent, "review")
        minutes = entry.timeout_minutes or self._kind.review_timeout_minutes
        return ReviewerSpec(
            agent=agent,
            model=None if self.kind_of(agent) == "static" else entry.model or self._review_model(agent),
            prompt=entry.prompt,
            categories=entry.categories,
            effort=entry.effort or effort_of(self.config, agent, "review"),
            timeout_seconds=minutes * 60,
            reads_files=self._reads_files(agent),
            program=self._program(agent),
        )

    def _program(self, agent: str) -> tuple[str, ...]:
        entry = self.config.agents.get(agent)
        return () if entry is None or (entry.kind == agent and not entry.argv) else (entry.kind, *entry.argv)

    def _reviewing(self) -> str:
        """`auto`: who plays the role, else the agent CLI that does the work, else the first installed."""
        role = self._role("review")
        if role and role.agent:
            return self._known(role.agent)
        worker, _ = self.worker("implement")
        # Any other command does one job; nothing says that it knows how to review.
        kind = self.kind_of(worker)
        if kind in CLI_KINDS and kind not in NO_REVIEWERS and self.installed(worker):
            return worker
        return self._first_installed(without=NO_REVIEWERS) or "static"

    def _review_model(self, agent: str) -> str | None:
        worker, model = self.worker("implement")
        role = self._role("review")
        return (
            self.config.review.model
            or self._kind.review_model
            or (role.model if role and role.agent in (None, agent) else None)
            or (model if worker == agent else None)
            or self._own_model(agent)
        )

    def kind_of(self, agent: str) -> str:
        entry = self.config.agents.get(agent)
        return entry.kind if entry else agent

    def _insist_on_effort(self, agent: str, role: str) -> None:
        """Refuse an effort of the role that its agent cannot be given, before anything is paid for."""
        part = self._role(role)
        if not agent or part is None or not part.effort or part.agent not in (None, agent):
            return
        if self.kind_of(agent) != "static":
            hint = f"Remove roles.{role}.effort, or name an agent that has one in roles.{role}.agent"
            self._refuse_effort(agent, part.effort, f"roles.{role}.effort", hint)

    def _refuse_effort(self, agent: str, effort: str, setting: str, hint: str) -> None:
        entry = self.config.agents.get(agent)
        if problem := effort_problem(self.kind_of(agent), entry.argv if entry else (), effort):
            raise BadInput(f"{setting} cannot be used: {problem}.", hint=f"{hint}.")

    def _reads_files(self, agent: str) -> bool:
        entry = self.config.agents.get(agent)
        if entry and entry.reads_files is not None:
            return entry.reads_files
        return self.kind_of(agent) not in READ_NO_FILES

    def _own_model(self, agent: str) -> str | None:
        entry = self.config.agents.get(agent)
        return entry.model if entry else None

    @property
    def _kind(self) -> TaskKind:
        kind: TaskKind = getattr(self.config.task_types, self.spec.type.value)
        return kind

    def _role(self, role: str) -> RoleEntry | None:
        return next((entry for name, entry in self.config.roles.items() if name == role), None)

    def _first_installed(self, without: Container[str] = ()) -> str:
        return next((name for name in CLI_KINDS if name not in without and self.installed(name)), "")

    def _known(self, name: str) -> str:
        if name in self.config.agents or name in READY_KINDS:
            return name
        close = difflib.get_close_matches(name, [*self.config.agents, *READY_KINDS], n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Describe it in burnish.yaml under agents: {name}."
        raise BadInput(f"There is no agent called {name}.", hint=hint)
