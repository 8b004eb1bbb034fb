"""A wrong setting in words: what, where, and what to write instead."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Collection, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from burnish.config.settings import Config
from burnish.config.sources import Layer, Where
from burnish.config.values import CheckEntry, Section
from burnish.errors import BadInput


def validate(merged: dict[str, Any], layers: Sequence[Layer]) -> Config:
    """The settings, or `BadInput` for the first thing that is wrong with them."""
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    # Unknown keys first: a misspelt key is often why something else is missing. Then as they stand in the file.
    problems.sort(key=lambda one: (one["type"] != "extra_forbidden", _line(_place(_loc(one), layers))))
    raise _words(problems[0], layers, more=len(problems) - 1)


def _loc(problem: Any) -> Where:
    return tuple(part for part in problem["loc"] if part != "[key]")


def _place(loc: Where, layers: Sequence[Layer]) -> str:
    """The topmost layer that has the key, or the one above it if it is missing."""
    for key in (loc, loc[:-1]):
        for layer in reversed(layers):
            if key and layer.has(key):
                return layer.place(key)
    return "settings"


def _line(place: str) -> int:
    number = place.rpartition(":")[2]
    return int(number) if number.isdigit() else 0


def _words(problem: Any, layers: Sequence[Layer], *, more: int) -> BadInput:
    loc = _loc(problem)
    key, place = ".".join(map(str, loc)), _place(loc, layers)
    tail = f" ({more} more after this one.)" if more else ""
    of_ours = problem["type"] in ("extra_forbidden", "literal_error")
    if "[key]" in problem["loc"] and not of_ours:
        hint = "Use letters, digits, dots, dashes and underscores." + tail
        return BadInput(f"{place}: {loc[-1]!r} is not a name for {'.'.join(map(str, loc[:-1]))}.", hint=hint)
    if problem["type"] == "extra_forbidden" or "[key]" in problem["loc"]:
        return BadInput(f"{place}: unknown setting {key}.", hint=_suggest(loc) + tail)
    return BadInput(f"{place}: {key} {_fault(problem)}.", hint=_remedy(problem, key) + tail)


def _suggest(loc: Where) -> str:
    names = known_keys(loc[:-1])
    if spelling := next((name for name in names if _letters(name) == _letters(loc[-1])), ""):
        return f"Did you mean {'.'.join([*map(str, loc[:-1]), spelling])}?"
    if hint := hint_for(".".join(map(str, loc)), names):
        return hint
    if full_name := _with_section_name(loc, names):
        return f"Did you mean {full_name}?"
    parent = ".".join(map(str, loc[:-1]))
    close = difflib.get_close_matches(str(loc[-1]).lower(), names, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {f'{parent}.' if parent else ''}{close[0]}?"
    elsewhere = [path for path, _, _ in Config().items() if path.split(".")[-1] == loc[-1]]
    if elsewhere:
        return f"Did you mean {min(elsewhere, key=lambda path: path.count('.'))}?"
    return f"Known here: {', '.join(names)}." if names else "`burnish config show` lists the settings."


def _with_section_name(loc: Where, names: Sequence[str]) -> str:
    """`review.review_model` and `review_model` are `review.model`; "" for other keys."""
    key, parents = _letters(loc[-1]), [*map(str, loc[:-1])]
    if parents:
        found = next((name for name in names if _letters(parents[-1] + name) == key), "")
        return ".".join([*parents, found]) if found else ""
    return next((path for path, _, _ in Config().items() if _letters(path) == key), "")


def _letters(key: object) -> str:
    return str(key).replace("_", "").replace("-", "").replace(".", "").lower()


def _fault(problem: Any) -> str:
    kind, value = problem["type"], _short(problem["input"])
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return f"is wrong: {problem['ctx']['error']}"
    return f"cannot be {value}"


def _remedy(problem: Any, key: str) -> str:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    match kind:
        case "missing" if key.endswith(".kind"):
            return "Only known agents need no kind; add e.g. `kind: command` and `argv`."
        case "missing":
            return f"Add {key}."
        case "value_error":
            return f"Correct {key}."
        case "literal_error":
            expected = context["expected"].replace("False", "false").replace("True", "true")
            literals = _literals(expected)
            yaml_word = _YAML_WORDS.get(str(value).lower())
            close = [yaml_word] if yaml_word in literals else difflib.get_close_matches(str(value), literals, n=1)
            return f"Write {expected}." + (f" Did you mean {close[0]}?" if close else "")
        case "string_type" if isinstance(value, int | float):
            return f'Put it in quotes: "{str(value).lower()}".'
        case "model_type" | "dict_type":
            return f"Write keys below it: {', '.join(known_keys(problem['loc'])) or 'name: value'}."
        case "too_short" | "string_too_short":
            return "It may not be empty: write something, or remove the line."
        case "greater_than_equal":
            return f"Write {context['ge']:g} or more."
        case "greater_than":
            return f"Write more than {context['gt']:g}."
        case "less_than_equal":
            return f"Write {context['le']:g} or less."
        case "less_than":
            return f"Write less than {context['lt']:g}."
    return _IN_OUR_WORDS.get(kind) or f"See `burnish config show` for what {key} may be."


# other YAML parsers read these as booleans
_YAML_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_IN_OUR_WORDS = {
    "bool_type": "Write true or false.",
    "bool_parsing": "Write true or false.",
    "int_type": "Write a whole number.",
    "int_parsing": "Write a whole number.",
    "int_from_float": "Write a whole number.",
    "float_type": "Write a number.",
    "float_parsing": "Write a number.",
    "finite_number": "Write a number.",
    "string_type": "Write text.",
    "tuple_type": "Write a list, e.g. [one, two].",
    "string_pattern_mismatch": "Use letters, digits, dots, dashes and underscores.",
}


def _literals(expected: str) -> list[str]:
    return [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]


def _short(value: Any) -> str:
    if value is None:
        return "empty"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def known_keys(loc: Where) -> list[str]:
    """The keys that may stand below a place."""
    models: list[Any] = [Config]
    for part in loc:
        models = [below for model in models for below in _step(model, part)]
    names: list[str] = []
    for model in models:
        if isinstance(model, type) and issubclass(model, BaseModel):
            names += [field.alias or name for name, field in model.model_fields.items()]
        elif typing.get_origin(model) is dict:
            (key,) = unwrapped(typing.get_args(model)[0])
            names += typing.get_args(key) if typing.get_origin(key) is typing.Literal else ()
    return names


def _step(model: Any, part: str | int) -> list[Any]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            if part == (field.alias or name):
                return unwrapped(field.annotation)
        return []
    arguments = typing.get_args(model)
    if typing.get_origin(model) is dict:
        return unwrapped(arguments[1])
    return unwrapped(arguments[0]) if typing.get_origin(model) is tuple else []


def unwrapped(annotation: Any) -> list[Any]:
    """The types behind Annotated and unions."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return unwrapped(typing.get_args(annotation)[0])
    if origin in (types.UnionType, typing.Union):
        return [one for arm in typing.get_args(annotation) for one in unwrapped(arm)]
    return [annotation]


def is_section(loc: Where) -> bool:
    """Is this a fixed group of settings, so that leaving it empty says nothing?"""
    models: list[Any] = [Config]
    for part in loc:
        if any(typing.get_origin(model) is dict for model in models):
            return False
        models = [below for model in models for below in _step(model, part)]
    return any(
        typing.get_origin(model) is dict or (isinstance(model, type) and issubclass(model, Section))
        for model in models
        if model is not CheckEntry
    )


# -- other tools ----------------------------------------------------------------------------------
# Settings of spec-runner, spec-kitty, automaker, gza and the review service, and what they are called here.

# By the last part of the key, in lower case without underscores, so that automaker's spelling is found as well.
_SAME_MEANING = {
    "approval": ("hitl", "humanapproval", "requireapproval"),
    "agent": ("provider", "defaultagent", "aiprovider", "claudecommand"),
    "hitl_review": ("humanreview", "holdforreview"),
    "review.max_cycles": (
        "maxrevisions", "maxreviewcycles", "maxiterations", "maxreviewiterations", "reviewcycles", "maxretries",
        "maxattempts", "maxreviewattempts",
    ),
    "review.enabled": ("runreview", "codereviewenabled", "reviewenabled", "enablereview"),
    "review.required": ("requirereview", "requirereviewbeforemerge", "reviewrequired"),
    "review.agents": ("reviewcommand", "reviewagent", "reviewprovider", "reviewers", "reviewroles", "reviewparallel"),
    "review.model": ("reviewermodel", "codereviewmodel"),
    "review.trigger": ("scriptcompletion", "sessionidle", "reviewtrigger"),
    "review.context.task_definition": ("includetaskdefinition",),
    "review.context.git_diff": ("includegitdiff",),
    "review.context.test_results": ("includetestresults",),
    "review.context.lint_results": ("includelintresults",),
    "review.context.session_log": ("includesessionlog",),
    "review.slash_command": ("slashcommand", "reviewslashcommand"),
    "checks.test": (
        "testcommand", "verifycommand", "runtestsondone", "testcmd", "baselinetestcommand", "pretestcommand",
    ),
    "checks.lint": ("lintcommand", "runlintondone", "lintcmd"),
    "checks.lint_fix": ("lintfixcommand", "lintfixcmd"),
    "checks.timeout_minutes": ("testtimeout", "testtimeoutminutes"),
    "task_types.implement.timeout_minutes": ("tasktimeoutminutes", "tasktimeout", "timeoutminutes", "agenttimeout"),
    "task_types.implement.review_timeout_minutes": ("reviewtimeoutminutes", "reviewtimeout"),
    "task_types.implement.improve_timeout_minutes": ("improvetimeoutminutes", "improvetimeout"),
    "defaults.auto_review": ("autoreview", "reviewafterimplement"),
    "workspace.base": ("mainbranch", "defaultbranch", "basebranch", "targetbranch"),
    "workspace.setup": ("setupcommand", "inithook", "worktreeinitscript", "setupscript"),
    "isolation.strategy": ("concurrentisolation", "isolationstrategy"),
    "budget.task_usd": ("taskbudgetusd", "maxcostusd"),
    "budget.session_usd": ("budgetusd", "sessionbudgetusd"),
    "sandbox.mode": ("usedocker", "nodocker", "dockerimage", "skippermissions"),
    "notify.desktop": ("notifications", "soundenabled", "notificationsound"),
    "commit.message": ("committemplate", "commitmessage", "commitprefix"),
}  # fmt: skip
_MODEL = "A model is set for an agent (agents.NAME.model), a role (roles.review.model) or a task (burnish add --model)."
# What is given on the command line or with the task.
_NO_SETTING = {
    # spec-runner's section: everything stands below it there, and at the top here
    "executor": "Its settings are top-level keys here: hitl_review, review.max_cycles, checks.test, agent and so on.",
    "model": _MODEL,
    "claudemodel": _MODEL,
    "defaultmodel": _MODEL,
    "aimodel": _MODEL,
    "maxconcurrency": "Set the number of parallel tasks on the command line: burnish run --all -j N.",
    "maxparallel": "Set the number of parallel tasks on the command line: burnish run --all -j N.",
    "workcount": "Set the number of parallel tasks on the command line: burnish run --all -j N.",
    "skiptests": "Set it for each task: burnish add --skip-tests.",
    "defaultskiptests": "Set it for each task: burnish add --skip-tests.",
    "useworktrees": "Each task has a workspace of its own; there is nothing to set.",
    "branchmode": "Each task has a branch of its own; there is nothing to set.",
    "createbranch": "Each task has a branch of its own; there is nothing to set.",
    "creategitbranch": "Each task has a branch of its own; there is nothing to set.",
    "automerge": "Merging is a command of its own: burnish merge --all-verified.",
    "autocommit": "Each phase is committed on the task's branch; there is nothing to set.",
}
NAMES_HERE = {old: new for new, names in _SAME_MEANING.items() for old in names}


def hint_for(path: str, beside: Collection[str] = ()) -> str:
    """What to write instead of another tool's setting; "" for a key that none of them has.

    `beside` are the keys of the same section: one of the same name as the setting here is the nearer one.
    """
    name = path.rpartition(".")[2].replace("_", "").replace("-", "").lower()
    if name in _NO_SETTING:
        return _NO_SETTING[name]
    here = NAMES_HERE.get(name, "")
    section, last = path.rpartition(".")[0], here.rpartition(".")[2]
    if section and last in beside:
        here = f"{section}.{last}"
    return f"That is {here} here." if here and here != path else ""
