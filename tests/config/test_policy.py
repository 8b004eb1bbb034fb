from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnish.config import load
from burnish.config.policy import policy_for
from burnish.config.settings import Config
from burnish.core.finding import Severity
from burnish.core.policy import CheckSpec, Limits, Policy
from burnish.core.task import Spec, TaskType
from burnish.errors import BadInput

PYTEST = CheckSpec("test", ("python", "-m", "pytest", "-q"), found=True)
RUFF = CheckSpec("lint", ("ruff", "check", "--output-format=concise"), found=True)


@pytest.fixture
def config(tmp_path: Path) -> Any:
    def make(text: str = "", **flags: Any) -> Config:
        (tmp_path / "burnish.yaml").write_text(text)
        return load(tmp_path, env={"XDG_CONFIG_HOME": str(tmp_path / "none")}, flags=flags)

    return make


def policy(config: Config, *installed: str, prompts: dict[str, str] | None = None, **spec: Any) -> Policy:
    return policy_for(
        config,
        Spec("A task", **spec),
        installed=lambda name: name in installed,
        detected=(PYTEST, RUFF),
        prompts=prompts,
    )


def test_auto_is_the_first_installed_in_the_known_order(config: Any) -> None:
    assert policy(config(), "gemini", "codex").agent == "codex"
    assert policy(config(), "gemini", "codex", agent="gemini").agent == "gemini"
    assert policy(config("agent: gemini"), "gemini", "codex").agent == "gemini"


def test_without_any_agent_nobody_works_and_static_reviews(config: Any) -> None:
    made = policy(config())
    assert made.agent == ""
    assert [(one.agent, one.model) for one in made.reviewers] == [("static", None)]


@pytest.mark.parametrize(
    ("text", "spec"),
    [("agent: robto", {}), ("", {"agent": "robto"}), ("review: {agents: [robto]}", {}), ("roles: {review: robto}", {})],
)
def test_an_agent_that_nobody_knows_is_refused_with_a_better_name(config: Any, text: str, spec: dict[str, str]) -> None:
    robot = "\nagents: {robot: {kind: command, argv: [r]}}"
    with pytest.raises(BadInput, match="no agent called robto") as caught:
        policy(config(text + robot), "claude", **spec)
    assert caught.value.hint == "Did you mean robot?"


@pytest.mark.parametrize("name", ["command", "acp", "scripted"])
def test_a_kind_that_does_not_say_what_to_start_needs_an_entry(config: Any, name: str) -> None:
    with pytest.raises(BadInput, match=f"no agent called {name}"):
        policy(config(f"agent: {name}"))


def test_the_reviewer_is_the_agent_that_works_if_it_can_talk(config: Any) -> None:
    def reviewer(text: str, *installed: str, **spec: Any) -> str:
        robot = "\nagents: {robot: {kind: command, argv: [r]}}"
        return policy(config(text + robot), *installed, **spec).reviewers[0].agent

    assert reviewer("agent: codex", "claude", "codex") == "codex"
    assert reviewer("", "claude", "codex", agent="codex") == "codex"
    assert reviewer("agent: robot", "claude", "robot") == "claude"
    assert reviewer("agent: robot", "robot") == "static"
    assert reviewer("agent: codex", "claude") == "claude"
    assert reviewer("roles: {review: {agent: robot}}", "claude") == "robot"


MODELS = """
agents: {claude: {model: own}, codex: {model: codex-own}}
task_types: {implement: {review_model: of-type}}
review: {model: of-review, agents: [{agent: claude, model: of-entry}]}
"""


@pytest.mark.parametrize(
    ("without", "model"),
    [
        ((), "of-entry"),
        ((", model: of-entry",), "of-review"),
        ((", model: of-entry", "model: of-review, "), "of-type"),
        ((", model: of-entry", "model: of-review, ", "{review_model: of-type}"), "of-task"),
    ],
)
def test_the_reviewers_model_follows_the_order_of_the_contract(
    config: Any, without: tuple[str, ...], model: str
) -> None:
    text = MODELS
    for piece in without:
        text = text.replace(piece, "{}" if piece.startswith("{") else "")
    assert policy(config(text), "claude", agent="claude", model="of-task").reviewers[0].model == model


def test_the_tasks_model_is_not_given_to_another_agent(config: Any) -> None:
    made = policy(
        config("agents: {codex: {model: codex-own}}\nreview: {agents: [codex, gemini]}"), "claude", model="opus"
    )
    assert (made.agent, made.model) == ("claude", "opus")
    assert [one.model for one in made.reviewers] == ["codex-own", None]


def test_the_workers_model_is_the_tasks_the_roles_the_types_or_the_agents_own(config: Any) -> None:
    text = "agents: {claude: {model: own}}\ntask_types: {implement: {model: typed}}\nroles: {implement: {model: role}}"
    lines = text.splitlines()
    assert policy(config(text), "claude", model="task").model == "task"
    assert policy(config(text), "claude").model == "role"
    assert policy(config("\n".join(lines[:2])), "claude").model == "typed"
    assert policy(config(lines[0]), "claude").model == "own"


def test_another_agent_may_improve(config: Any) -> None:
    made = policy(config("roles: {improve: {agent: codex, model: m}}"), "claude")
    assert (made.agent, made.improve_agent, made.improve_model) == ("claude", "codex", "m")
    same = policy(config(), "claude", model="opus")
    assert (same.improve_agent, same.improve_model) == ("claude", "opus")


def test_cycles_are_the_tasks_the_types_or_everybodys(config: Any) -> None:
    text = "review: {max_cycles: 4}\ntask_types: {implement: {max_cycles: 5}}"
    assert policy(config(text), max_cycles=6).max_cycles == 6
    assert policy(config(text)).max_cycles == 5
    assert policy(config(text), type=TaskType.PLAN).max_cycles == 4


@pytest.mark.parametrize(
    ("text", "type_", "said", "answer"),
    [
        ("", "implement", None, True),
        ("", "plan", None, False),
        ("", "implement", False, False),
        ("", "review", True, True),
        ("defaults: {auto_review: true}", "plan", None, True),
        ("defaults: {auto_review: false}", "implement", None, False),
        ("defaults: {auto_review: true}\ntask_types: {plan: {auto_review: false}}", "plan", None, False),
        ("task_types: {implement: {auto_review: null}}", "implement", None, True),
        ("task_types: {improve: {auto_review: true}}", "improve", None, True),
    ],
)
def test_who_is_reviewed_without_being_asked(
    config: Any, text: str, type_: str, said: bool | None, answer: bool
) -> None:
    assert policy(config(text), type=TaskType(type_), auto_review=said).auto_review is answer


def test_a_required_review_cannot_be_switched_off(config: Any) -> None:
    made = policy(config("review: {enabled: false}"))
    assert made.review_enabled
    assert made.notes == ("review.enabled: false (burnish.yaml:1) has no effect while review.required is true.",)
    made = policy(config("review: {enabled: false, required: false}"))
    assert not made.review_enabled and not made.notes


def test_checks_are_those_that_were_found_or_written(config: Any) -> None:
    def checks(text: str, **spec: Any) -> list[CheckSpec]:
        return list(policy(config(text), **spec).checks)

    assert checks("") == [PYTEST, RUFF]
    assert checks("checks: {lint: null}") == [PYTEST]
    assert checks("checks: {test: make test, lint: false}") == [CheckSpec("test", "make test")]
    for word in ("off", "Off", "none", "null"):
        assert checks(f"checks: {{test: make test, lint: {word}, extra: {{scan: {word}}}}}") == [
            CheckSpec("test", "make test")
        ]
    assert checks("checks: {test: {blocking: false}, lint: [flake8], timeout_minutes: 2}") == [
        CheckSpec("test", PYTEST.command, blocking=False, timeout_seconds=120, found=True),
        CheckSpec("lint", ("flake8",), timeout_seconds=120),
    ]
    assert checks("", skip_tests=True) == [RUFF]
    extra = "checks: {test: null, lint: null, extra: {scan: {command: x, sarif: s, timeout_minutes: 1}, off: null}}"
    assert checks(extra) == [CheckSpec("scan", "x", True, 60, "sarif", "s")]
    assert checks("checks: {test: {command: t, tap: true}, lint: null}") == [
        CheckSpec("test", "t", report="tap", report_file="-")
    ]


def test_nothing_found_is_no_check(config: Any) -> None:
    assert policy_for(config(), Spec("x"), installed=lambda _: False, detected=()).checks == ()


def test_a_task_without_tests_needs_a_person(config: Any) -> None:
    assert policy(config()).approval == "auto"
    assert policy(config(), skip_tests=True).approval == "required"


def test_the_rest_is_handed_on_as_it_is_written(config: Any) -> None:
    made = policy(
        config(
            "hitl_review: true\nfix: {history: full}\n"
            "workspace: {setup: [make, deps], copy: [.env.test], artifacts: home, base: dev}\n"
            "review: {block_on: warning, quorum: any, trigger: explicit,"
            " context: {plan: false}, limits: {diff_kb: 9}}\n"
            "isolation: {strategy: env_var, env: {PORT: 1}}\nbudget: {task_usd: 2, task_tokens: 5}\n"
            "task_types: {implement: {timeout_minutes: 1, improve_timeout_minutes: 2, review_timeout_minutes: 3}}\n"
            "roles: {parse: {agent: llm, model: m}}\nchecks: {guard: {tooling: off}, lint_fix: x, where: clean}\n"
            "pipeline: [{name: security, agents: [static], prompt: p.md, quorum: any}]\n"
        ),
        "claude",
    )
    assert (made.hitl, made.fix_history, made.setup, made.copy) == ("every", "full", ("make", "deps"), (".env.test",))
    assert (made.artifacts, made.base_ref, made.lint_fix, made.checks_where) == ("home", "dev", "x", "clean")
    assert (made.block_on, made.quorum, made.trigger) == (Severity.WARNING, "any", "explicit")
    assert "plan" not in made.context and "git_diff" in made.context and "session_log" not in made.context
    assert made.limits == Limits(diff_kb=9)
    assert (made.isolation, made.isolation_env) == ("env_var", (("PORT", "1"),))
    assert (made.task_usd, made.task_tokens, made.parse_agent, made.parse_model) == (2, 5, "llm", "m")
    assert (made.implement_timeout, made.improve_timeout, made.reviewers[0].timeout_seconds) == (60, 120, 180)
    assert dict(made.guard) == {"thinning": "error", "judge": "error", "tooling": "off", "expectations": "warning"}
    (step,) = made.pipeline
    assert (step.name, step.prompt, step.quorum, step.reviewers[0].agent) == ("security", "p.md", "any", "static")


def test_an_agent_says_whether_it_reads_files(config: Any) -> None:
    text = "agents: {robot: {kind: command, argv: [r], reads_files: false}}\nreview: {agents: [robot, llm, claude]}"
    assert [one.reads_files for one in policy(config(text), "claude").reviewers] == [False, False, True]


BASE = "agents: {claude: {model: a}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "agents: {claude: {model: b}}",
        BASE + "checks: {test: make test}",
        BASE + "checks: {test: {blocking: false}}",
        BASE + "checks: {lint: null}",
        BASE + "checks: {extra: {types: mypy}}",
        BASE + "review: {agents: [claude, codex]}",
        BASE + "review: {agents: [{agent: claude, prompt: p.md}]}",
        BASE + "review: {agents: [{agent: claude, categories: [code]}]}",
        BASE + "review: {block_on: warning}",
        BASE + "review: {quorum: any}",
        BASE + "pipeline: [{name: security}]",
    ],
)
def test_whatever_judges_changes_the_name_of_the_judge(config: Any, text: str) -> None:
    assert policy(config(text), "claude").judge != policy(config(BASE), "claude").judge


@pytest.mark.parametrize(
    "text",
    [
        "notify: {bell: false}",
        "review: {max_cycles: 9}",
        "budget: {task_usd: 1}",
        "checks: {timeout_minutes: 3}",
        "review: {agents: [claude]}",
    ],
)
def test_whatever_does_not_judge_leaves_it_alone(config: Any, text: str) -> None:
    assert policy(config(text), "claude").judge == policy(config(), "claude").judge


def test_ones_own_prompts_judge_too(config: Any) -> None:
    plain = policy(config(), "claude").judge
    own = policy(config(), "claude", prompts={"review.system": "Be strict."}).judge
    assert len({plain, own, policy(config(), "claude", prompts={"review.system": "Be kind."}).judge}) == 3


# Hashes that version 0.1.0 stored, by settings and by what its `auto` had found.
FIRST_FORM = {
    "": [
        "411179276a38a86d74422e01a3a2d393aa4c75cf03810c6342532eaf9bd6a7c2",  # nothing
        "3f39d0129a7e2303aaf57dbb4e4c565f5909f4dda57d854d728f0a63ca6d6b24",  # pytest
        "3b40fb9883d2640b691754ae76371e010df2c8ebadf5e3bc6510f7c2e3bd992d",  # ruff
        "f730c54c015126852245d9906c162206cbe5a62d9ac5bc9e6ba7d5544c9355f3",  # both
    ],
    "checks: {extra: {types: mypy}, lint: {blocking: false}}": [
        "8e2c37ce791f385dcca859db81d4c30e55ab4f2cd546f55f8bb473d8f57a2711",
        "a4d22ed52a24dea758b670520d63c51829b7807037988fe603d3eded26ba96a1",
    ],
    "checks: {test: make, lint: null}": ["dc582c2b5554698251bd26c4c53796c1052dad29428b24eab30c67d4e43729f4"],
}


@pytest.mark.parametrize(("text", "stored"), FIRST_FORM.items())
def test_an_upgrade_alone_changes_no_criteria(config: Any, text: str, stored: list[str]) -> None:
    made = policy(config(text))
    assert all(made.judges_as(one) for one in stored)
    assert not any(policy(config("review: {block_on: warning}\n" + text)).judges_as(one) for one in stored)


def test_what_auto_stands_for_is_no_part_of_the_criteria(config: Any) -> None:
    def judge(*detected: CheckSpec) -> str:
        return policy_for(config(), Spec("x"), installed=lambda _: False, detected=detected).judge

    assert judge() == judge(PYTEST) == judge(CheckSpec("test", "go test ./..."), CheckSpec("web-test", "npm test"))


def test_auto_stands_for_the_checks_of_every_part(config: Any) -> None:
    def names(text: str, **spec: Any) -> list[str]:
        parts = (PYTEST, RUFF, CheckSpec("web-test", "npm test", found=True), CheckSpec("web-lint", "x", found=True))
        made = policy_for(config(text), Spec("x", **spec), installed=lambda _: False, detected=parts)
        return sorted(check.name for check in made.checks)

    assert names("") == ["lint", "test", "web-lint", "web-test"]
    assert names("checks: {test: make}") == ["lint", "test", "web-lint"]
    assert names("checks: {lint: null}") == ["test", "web-test"]
    assert names("", skip_tests=True) == ["lint", "web-lint"]
    assert names("checks: {test: null, lint: null, extra: {web-test: null}}") == []


def test_another_program_under_the_name_of_a_reviewer_is_another_reviewer(config: Any) -> None:
    def judged_by(argv: str) -> Policy:
        text = f"agents: {{judge: {{kind: command, argv: {argv}}}}}\nreview: {{agents: [judge]}}\n"
        return policy(config(text), "judge")

    strict, lenient = judged_by("[tools/judge, --strict]"), judged_by("[tools/judge]")
    assert strict.judge != lenient.judge
    assert strict.judge not in lenient.judge_before and lenient.judge not in strict.judge_before
    # an approval from before programs were part of the hash stays valid
    assert set(strict.judge_before) & set(lenient.judge_before)


def test_the_hash_of_an_agent_that_the_settings_do_not_define_is_the_same_as_before(config: Any) -> None:
    plain = policy(config("review: {agents: [claude]}\n"), "claude")
    assert plain.reviewers[0].program == () and plain.judge not in plain.judge_before
