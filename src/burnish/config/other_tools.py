"""Settings of spec-runner, spec-kitty, automaker, gza and the review service, and what they are called here."""

from __future__ import annotations

from collections.abc import Collection

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
    "skiptests": "Set it for each task: burnish add --skip-tests, or burnish edit ID --skip-tests.",
    "defaultskiptests": "Set it for each task: burnish add --skip-tests, or burnish edit ID --skip-tests.",
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
