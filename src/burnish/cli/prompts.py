"""burnish prompts"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from burnish.cli.output import clean, coloured, fitted, one_line, paint, say, say_json, tell
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, open_app
from burnish.core.task import task_id
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.features.prompts.approval_cost import ApprovalCost
    from burnish.runtime import App
    from burnish.runtime.prompts import Prompt

ACTIONS = ("list", "show", "edit", "reset", "on", "off", "render")


def prompts(
    action: Annotated[
        str, Argument(metavar="[list|show|edit|reset|on|off|render]", help="The action; list if omitted.")
    ] = "list",
    what: Annotated[
        str | None, Argument(metavar="NAME|TASK", help="The prompt; with render: the task.", show_default=False)
    ] = None,
    name: Annotated[str | None, Argument(metavar="NAME", help="With render: the prompt.", show_default=False)] = None,
    everywhere: Annotated[bool, Option("--global", help="Change your user prompts, for all projects.")] = False,
    everything: Annotated[bool, Option("--all", help="With reset: reset every prompt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show, replace or preview the prompts sent to agents.

    edit opens a prompt in your editor. reset restores the built-in text. on and off switch your text on and off
    without deleting it. render TASK prints the prompts that agents would get for TASK.
    """
    from burnish.runtime import refuse_inside_phase

    if action not in ACTIONS:
        raise BadInput(f"Unknown action {action!r}.", hint=f"Choose from: {', '.join(ACTIONS)}.")
    if name is not None and action != "render":
        raise BadInput(
            f"Unexpected argument {name!r}: prompts {action} takes one name.", hint="See `burnish prompts --help`."
        )
    if action == "list":
        _list(as_json)
    elif action == "render":
        _render(what, name, as_json)
    elif action == "show":
        _show(_named(what, action), as_json)
    elif action == "edit":
        refuse_inside_phase()
        _edit(_named(what, action), everywhere, as_json)
    elif action in ("on", "off"):
        refuse_inside_phase()
        _switch(_named(what, action), action == "on", everywhere, as_json)
    else:
        refuse_inside_phase()
        _reset(None if everything else _named(what, action), everywhere, as_json)


def _named(name: str | None, action: str) -> str:
    from burnish.runtime.prompts import NAMES, require_name

    if name is None:
        raise BadInput("Missing argument 'NAME'.", hint=f"Choose from: {', '.join(NAMES)}.")
    return require_name(name)


def _list(as_json: bool) -> None:
    from burnish.runtime.prompts import NAMES, reviewers_own

    app = open_app()
    found = [_in_force(app, name) for name in NAMES] + reviewers_own(
        app.config, app.repo.root, trusted=app.trust.is_trusted, accepted_files=app.trust.accepted_files
    )
    if as_json:
        say_json({"prompts": [_plain(one) for one in found]})
        return
    on = coloured(sys.stdout)
    long = max(len(one_line(one.name)) for one in found)
    for one in found:
        where = str(one.path) if one.path else "built in"
        note = " (your text is switched off by prompts." + one.name + ".enabled)" if one.switched_off else ""
        origin = paint(f"{one.origin:<8}", "cyan" if one.path else "dim", on=on)
        say(f"{one_line(one.name):<{long}}  {origin}  {clean(where)}{note}")


def _show(name: str, as_json: bool) -> None:
    from burnish.runtime.prompts import refuse_unknown, variables

    one = _in_force(open_app(), name)
    refuse_unknown(one)
    if as_json:
        say_json({**_plain(one), "text": one.text, "variables": sorted(variables(name))})
        return
    say(clean(one.text).rstrip("\n"))
    where = f"{one.origin}: {one.path}" if one.path else "built in"
    tell(fitted(f"({clean(where)}; variables: {', '.join(sorted(variables(name)))})", sys.stderr, 1))


def _edit(name: str, everywhere: bool, as_json: bool) -> None:
    from burnish.features.prompts.approval_cost import cost_of_edit
    from burnish.features.prompts.edit import PromptScope, recording_trust
    from burnish.runtime import refuse_inside_phase
    from burnish.runtime.prompts import refuse_unknown

    refuse_inside_phase()
    app = open_app()
    file = _file(app, name, everywhere)
    new = not file.exists()
    cost = cost_of_edit(app, name, PromptScope.GLOBAL if everywhere else PromptScope.PROJECT)
    _say_cost(cost, f"A new text of {name}")
    with recording_trust(app, file, "prompts edit"):
        has_changed = _edited(file, name, new=new)
    if not has_changed:
        say(f"Nothing was changed: {name} keeps its built-in text.")
        return
    say_json({"name": name, "path": str(file), "created": new, **cost.as_json()}) if as_json else say(str(file))
    refuse_unknown(_in_force(app, name))


def _edited(file: Path, name: str, *, new: bool) -> bool:
    """Open the file in the user's editor, a new one with the built-in text; False if that text was not changed."""
    from burnish.features.tasks.editor import editor, open_in
    from burnish.review.templates import shipped

    if new:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shipped(name), "utf-8")
    words = editor() if sys.stdin.isatty() and sys.stdout.isatty() else []
    if words:
        open_in(words, file)
        if new and file.read_text("utf-8", "replace") == shipped(name):
            file.unlink()
            return False
    return True


def _reset(name: str | None, everywhere: bool, as_json: bool) -> None:
    from burnish.features.prompts.approval_cost import cost_of_reset
    from burnish.features.prompts.edit import PromptScope, reset
    from burnish.runtime.prompts import NAMES

    app = open_app()
    names, where = [name] if name else NAMES, PromptScope.GLOBAL if everywhere else PromptScope.PROJECT
    cost = cost_of_reset(app, names, where)
    _say_cost(cost, "This reset")
    removals = reset(app, names, where)
    if as_json:
        say_json({"removed": [{"name": one, "path": str(file)} for one, file in removals], **cost.as_json()})
        return
    for one, file in removals:
        now = _in_force(app, one)
        say(f"{one}: removed {clean(str(file))}; now used: {clean(str(now.path or 'built in'))}")
    if not removals:
        which = "user prompt" if everywhere else "prompt of this project"
        other = "" if everywhere else " (`--global` removes your user prompts)"
        say(f"Nothing to reset: no {which} is set{other}.")


def _switch(name: str, on: bool, everywhere: bool, as_json: bool) -> None:
    from burnish.features.prompts.approval_cost import cost_of_switch
    from burnish.features.prompts.edit import PromptScope, switch

    app = open_app()
    where = PromptScope.GLOBAL if everywhere else PromptScope.PROJECT
    cost = cost_of_switch(app, name, on=on, where=where)
    _say_cost(cost, f"Switching {name} {'on' if on else 'off'}")
    file = switch(app, name, on, where)
    now = _in_force(open_app(), name)
    if as_json:
        say_json({**_plain(now), "settings": str(file), **cost.as_json()})
        return
    say(f"{name}: prompts.{name}.enabled is {str(on).lower()} in {clean(str(file))}")
    say(f"Now used: {clean(str(now.path or 'built in'))}")


def _say_cost(cost: ApprovalCost, change: str) -> None:
    """Print the cost before anything is written."""
    for line in cost.words(change):
        tell(line)


def _render(task: str | None, name: str | None, as_json: bool) -> None:
    if task is None:
        raise BadInput("Missing argument 'TASK'.", hint="Usage: burnish prompts render TASK [NAME]")
    from burnish.features.prompts.preview import render_prompts

    found = render_prompts(open_app(), task_id(task), name)
    if as_json:
        say_json({"id": str(task_id(task)), "prompts": [{"to": one.to, "text": one.text} for one in found]})
        return
    for one in found:
        if len(found) > 1:
            say(f"═══ to {one_line(one.to)} ═══")
        say(clean(one.text).rstrip("\n"))


def _file(app: App, name: str, everywhere: bool) -> Path:
    from burnish import config
    from burnish.runtime.prompts import file_of

    return file_of(name, app.repo.root, config.user_folder(), everywhere=everywhere)


def _in_force(app: App, name: str) -> Prompt:
    from burnish import config
    from burnish.runtime.prompts import in_force

    return in_force(
        name,
        app.config,
        app.repo.root,
        config.user_folder(),
        trusted=app.trust.is_trusted,
        accepted_files=app.trust.accepted_files,
    )


def _plain(one: Prompt) -> dict[str, Any]:
    path = str(one.path) if one.path else None
    return {"name": one.name, "origin": one.origin, "path": path, "switched_off": one.switched_off}
