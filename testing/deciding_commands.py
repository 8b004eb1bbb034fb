"""Every command that decides, that runs a task, or that loosens what decides. From inside a phase each is refused."""

from __future__ import annotations

# In a project where task 1 waits for approval, 2 is verified and 3 is blocked.
DECISIONS = [
    *[["decide", "1", *words] for words in (["approve"], ["reject"], ["fix", "-m", "x"], ["skip"])],
    ["decide", "3", "fix", "-m", "x"],
    *[["override", number, "--explain", "x"] for number in "13"],
    ["edit", "3", "--verdict", "APPROVED", "--reason", "x"],
    *[["done", number, "--reason", "x"] for number in "23"],
    ["improve", "2", "-m", "x"],
    ["waive", "3", "F1", "--reason", "x"],
    ["merge", "2"],
    ["merge", "--all-verified"],
    ["merge", "2", "--resolve"],
    ["rebase", "2"],
    # a run brings its settings along, and with them the reviewers
    ["run", "3"],
    ["retry", "3", "--later"],
    ["review", "3"],
    # a trusted checkout decides what runs
    ["trust"],
    ["untrust"],
]
# These are refused in any repository.
OTHER_COMMANDS = [
    # a run takes what is ready, also what was added while it works
    ["add", "Another"],
    ["apply", "1", "F1"],
    ["cancel", "1"],
    ["clean", "1"],
    ["comment", "1", "x"],
    ["clean", "--environments"],
    ["config", "set", "review.max_cycles", "1"],
    ["config", "unset", "review.max_cycles"],
    ["edit", "1", "--title", "x"],
    ["handoff", "1"],
    ["hook", "install", "git"],
    ["hook", "uninstall", "git"],
    ["import", "tasks.md"],
    ["init"],
    ["store", "move", "--to", "sqlite"],
    ["uninstall"],
    ["uninstall", "--yes", "--unmerged"],
    # a wait that ends, or never ends, is a decision of the person who pays
    ["limits", "--clear", "claude"],
    ["pause", "1"],
    ["attest", "1"],
    # who may use the server, and from where it was used
    ["audit"],
    *[
        ["people", *words]
        for words in (["add", "eve"], ["link", "eve"], ["revoke", "eve"], ["role", "eve", "maintainer"])
    ],
    ["pr", "1"],
    ["pr", "sync"],
    ["pr", "watch"],
    ["projects", "add", "."],
    ["projects", "forget", "1"],
    ["prompts", "edit", "review.system"],
    ["prompts", "on", "review.system"],
    ["prompts", "off", "review.system"],
    ["prompts", "reset", "review.system"],
    ["prompts", "reset", "--all"],
    ["rebuild"],
    ["reopen", "1", "F1"],
    ["resolve", "1", "F1"],
    ["review", "1", "--edit"],
    ["review", "--pr", "1"],
    ["review", "1", "--from", "review.md"],
    ["rm", "1"],
    ["run", "--all"],
    ["run", "--all", "--detach"],
    ["run", "--watch"],
    ["serve", "--port", "0"],
    ["service"],
    ["service", "--install"],
    ["service", "--remove"],
    ["stop"],
    ["stop", "1"],
    ["sync"],
    ["sync", "--fetch"],
    # its keys decide
    ["tui"],
    ["unpause", "1"],
    ["work"],
    ["worker"],
    ["worker", "--drain"],
]
# These only look.
HARMLESS_VERBS = {
    *("demo", "diff", "doctor", "events", "findings", "inbox", "list", "log", "open", "path", "show"),
    *("help", "status", "version"),
    *("cost", "eval", "export", "mcp", "stats", "verify"),
}
