"""burnish add"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from burnish.cli.output import say, say_json, tell, titled
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, open_app, start_dir
from burnish.core.task import Item, Spec, TaskType, task_id
from burnish.errors import BadInput


def add(
    title: Annotated[str | None, Argument(metavar="TITLE", help="The title, in one line.", show_default=False)] = None,
    stdin: Annotated[str | None, Argument(metavar="-", help="Read the description from standard input.")] = None,
    description: Annotated[str | None, Option("-d", "--description", metavar="TEXT", help="Describe the task.")] = None,
    file: Annotated[Path | None, Option("--file", metavar="FILE", help="Read the description from FILE.")] = None,
    tasks: Annotated[
        str | None, Option("-f", "--tasks", metavar="FILE", help="Add all tasks of FILE, as `burnish import` does.")
    ] = None,
    kind: Annotated[TaskType, Option("-t", "--type", help="The type of task.")] = TaskType.IMPLEMENT,
    image: Annotated[
        list[Path] | None,
        Option("--image", metavar="FILE", help="Add an image to the description (PNG, JPEG, GIF, WebP); repeatable."),
    ] = None,
    auto_review: Annotated[
        bool | None,
        Option(
            "-a/-A",
            "--auto-review/--no-auto-review",
            help="Review and improve automatically (or do not).",
            show_default=False,
        ),
    ] = None,
    max_cycles: Annotated[
        int | None, Option("--max-cycles", min=1, metavar="N", help="Run at most N review cycles.")
    ] = None,
    scope: Annotated[str, Option("--scope", metavar="TEXT", help="Describe what is in scope and what is not.")] = "",
    accept: Annotated[
        list[str] | None,
        Option("--accept", metavar="TEXT", help="Add an acceptance criterion; repeatable."),
    ] = None,
    item: Annotated[
        list[str] | None, Option("--item", metavar="TEXT", help="Add a checklist item; repeatable.")
    ] = None,
    depends_on: Annotated[
        list[str] | None,
        Option("--depends-on", metavar="ID", help="Run after task ID is finished; repeatable."),
    ] = None,
    priority: Annotated[int, Option("--priority", metavar="N", help="Run tasks with a higher N first.")] = 0,
    tags: Annotated[
        list[str] | None, Option("--tag", metavar="TAG", help="Add a tag to find it by; repeatable.")
    ] = None,
    needs: Annotated[
        list[str] | None,
        Option("--needs", metavar="LABEL", help="Run only on a worker with LABEL, e.g. docker; repeatable."),
    ] = None,
    agent: Annotated[str | None, Option("--agent", metavar="AGENT", help="Have AGENT do the task.")] = None,
    model: Annotated[str | None, Option("--model", metavar="MODEL", help="Use MODEL for this task.")] = None,
    base: Annotated[
        str | None, Option("--base", metavar="REF", help="Start from REF instead of the current branch.")
    ] = None,
    spec: Annotated[
        Path | None, Option("--spec", metavar="FILE", help="Give the agent the plan or specification in FILE.")
    ] = None,
    skip_tests: Annotated[bool, Option("--skip-tests", help="Run no tests; a person must approve.")] = False,
    of: Annotated[str | None, Option("--of", metavar="ID", help="With --type improve: continue task ID.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a task to the backlog.

    `burnish run` starts it. To review a change that you made yourself, use `burnish review`: it needs no task.
    """
    from burnish.git.base import start_problems
    from burnish.runtime import refuse_inside_phase
    from burnish.runtime.tasks import add_task

    # the run that started the agent would take the new task before a person has seen it
    refuse_inside_phase()
    if tasks is not None:
        _add_all(tasks, title, as_json=as_json)
        return
    if title is None:
        raise BadInput("Missing argument 'TITLE'.", hint='Usage: burnish add "TITLE", or burnish add -f FILE')
    new_task = Spec(
        title=title,
        description=_with_images(_description(stdin, description, file), image or ()),
        type=kind,
        scope=scope,
        criteria=tuple(accept or ()),
        checklist=tuple(Item(text) for text in item or ()),
        plan=read_text(spec) if spec else "",
        depends_on=tuple(task_id(text) for text in depends_on or ()),
        priority=priority,
        agent=agent,
        model=model,
        base_ref=base,
        skip_tests=skip_tests,
        tags=tuple(tags or ()),
        needs=tuple(needs or ()),
        of=task_id(of) if of else None,
        auto_review=auto_review,
        max_cycles=max_cycles,
    )
    app = open_app()
    task = add_task(app, new_task)
    from burnish.views.status import has_worker

    if as_json:
        from burnish.views.status import task_json

        say_json(task_json(task))
    else:
        say(titled(f"Added task {task.id}: ", task.spec.title))
        problems = [] if task.spec.base_ref else start_problems(app.repo)
        for problem in problems:
            tell(f"{problem} {problem.hint}")
        by_worker = not problems and has_worker(app.store, task, lambda id: not app.event_log.is_dead(id))
        start = "Then run it" if problems else "A worker runs it. To run it here" if by_worker else "Run it"
        say(f"{start}: burnish run {task.id}")


def _add_all(file: str, title: str | None, *, as_json: bool) -> None:
    """All tasks of a file, or none."""
    from burnish.cli.import_tasks import say_import
    from burnish.features.import_tasks.import_tasks import import_tasks

    if title is not None:
        raise BadInput("TITLE and -f cannot be combined.", hint="A file has the titles of its tasks.")
    say_import(import_tasks(open_app(), file, start_dir(), format=None, dry_run=False), as_json=as_json)


def _with_images(text: str, files: Sequence[Path]) -> str:
    """The description with a reference to each image, which is stored in the burnish home."""
    if not files:
        return text
    from burnish.features.tasks.images import store_image_file
    from burnish.runtime.reader import home_of

    references = [store_image_file(home_of(), file).markdown for file in files]
    return "\n\n".join([*([text.rstrip()] if text.strip() else []), *references])


def _description(stdin: str | None, description: str | None, file: Path | None) -> str:
    if sum(source is not None for source in (stdin, description, file)) > 1:
        raise BadInput("The description is given twice.", hint="Use one of -d TEXT, --file FILE and -.")
    if stdin is not None:
        if stdin != "-":
            raise BadInput(f"Unexpected argument {stdin!r}.", hint='Quote the title: burnish add "Two words"')
        return sys.stdin.buffer.read().decode(errors="replace")
    return read_text(file) if file else description or ""


def read_text(path: Path) -> str:
    try:
        return (start_dir() / path).read_text(errors="replace")
    except OSError as error:
        raise BadInput(f"Cannot read {path}: {error.strerror}.", hint="Name a file that exists.") from error
