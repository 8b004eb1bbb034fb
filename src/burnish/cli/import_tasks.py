"""burnish import"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import count, one_line, say, say_json, tell, titled
from burnish.cli.parameters import Argument, Option
from burnish.cli.session import AsJson, open_app, start_dir

if TYPE_CHECKING:
    from burnish.features.import_tasks.import_tasks import ImportedTask, ImportReport


def import_tasks(
    source: Annotated[
        str,
        Argument(metavar="FILE | DIR | gh:OWNER/REPO", help="The tasks to import.", show_default=False),
    ],
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be imported; write nothing.")] = False,
    format: Annotated[
        str | None, Option("--format", metavar="FORMAT", help="Read the source as FORMAT instead of detecting it.")
    ] = None,
    again: Annotated[bool, Option("--again", help="Also add tasks that you removed after an earlier import.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import tasks of other tools, or several tasks from a file.

    Reads spec-runner, spec-kitty, automaker, gza, PLAN.md, spec-kit, OpenSpec, Markdown checklists, issues of GitHub
    and burnish's own YAML. A second import adds only what is new, and names tasks whose source changed. Finished
    tasks are left out.
    """
    from burnish.features.import_tasks.import_tasks import import_tasks as import_all
    from burnish.runtime import refuse_inside_phase

    refuse_inside_phase()
    report = import_all(open_app(), source, start_dir(), format=format, dry_run=dry_run, again=again)
    say_import(report, as_json=as_json)


def say_import(report: ImportReport, *, as_json: bool) -> None:
    if as_json:
        say_json(report.as_json())
        return
    for line in _lines(report):
        say(line)
    if report.added_count and not report.dry_run:
        tell("Run them: burnish run --all")
    if any(task.outcome == "differs" for task in report.tasks):
        tell("Tasks that differ from their source are not changed. Take it over with `burnish edit`;")
        tell("if the other tool has finished a task, take it out with `burnish cancel`.")
    if any(task.outcome == "removed" for task in report.tasks):
        tell("Removed tasks are not added again; --again does so.")


_OTHERS = {
    "present": "imported before",
    "differs": "imported before and different now",
    "removed": "removed before",
    "finished": "finished",
    "refused": "refused",
}


def _lines(report: ImportReport) -> Iterator[str]:
    for task in report.tasks:
        yield _task_line(task, report.dry_run)
    yield ""
    outcomes = {word: sum(task.outcome == word for task in report.tasks) for word in _OTHERS}
    rest = "".join(f", {number} {_OTHERS[word]}" for word, number in outcomes.items() if number)
    verb = "would be added" if report.dry_run else "added"
    yield f"{count(report.added_count, 'task')} of {report.format} {verb}{rest}."
    if report.notes:
        yield f"Fields: {len(report.notes)} found, {sum(report.taken_fields.values())} taken, " + (
            f"{sum(report.left_fields.values())} left."
        )
    for (name, reason), number in report.left_fields.items():
        yield f"  left: {one_line(name)} ({number}): {one_line(reason)}"


def _task_line(task: ImportedTask, dry_run: bool) -> str:
    words = {
        "present": f"imported before as task {task.id}",
        "differs": f"imported before as task {task.id}; differs from the source now: {task.reason}",
        "removed": f"removed before, as task {task.id}",
        "finished": "finished",
        "refused": f"refused: {task.reason}",
    }
    words["added"] = "would be added" if dry_run else f"added as task {task.id}"
    words["added"] += f"; {task.reason}" if task.reason else ""
    # items of a checklist are named by their title
    key = "" if task.key == task.title else f"{one_line(task.key)[:60]}  "
    return titled(f"  {key}", task.title, f"  ({one_line(words[task.outcome])})")
