"""What a cut attempt left: given back to the next one, in its prompt or in its files."""

from __future__ import annotations

from burnish.core.commit import Commit
from burnish.core.flow import WorkStep
from burnish.core.history import History
from burnish.engine.ports import Deps
from burnish.engine.review_input import plans_of
from burnish.engine.task_setup import TaskSetup
from burnish.review import prompt_sections as sections
from burnish.review.fence import cut_text, fenced
from burnish.review.finding_list import ALL_FINDINGS, WHOLE_TASK, all_findings_text

# of the prompt: a third of what a review may show of a diff
_DIFF_SHARE = 3


def rescue_refs(history: History, cycle: int) -> list[str]:
    """Where attempts at this cycle's work that were cut left their files, oldest first."""
    refs = (p.result.rescue for p in history.failures() if p.cycle == cycle)
    return list(dict.fromkeys(ref for ref in refs if ref))


def give_back(setup: TaskSetup, history: History, step: WorkStep) -> bool:
    """`workspace.rescued: apply`: begin with the files of the newest cut attempt, if it began at the same commit."""
    rescue_commit = _newest(setup, history, step.cycle)
    if setup.policy.rescued != "apply" or rescue_commit is None or not _of_head(setup, rescue_commit):
        return False
    setup.workspace.restore_files(rescue_commit)
    return True


def brief_author(deps: Deps, setup: TaskSetup, history: History, step: WorkStep) -> None:
    """Lay the refs that the prompt names into the agent's repository, and what it has no room for beside them."""
    refs = rescue_refs(history, step.cycle)
    files: dict[str, str] = {}
    if step.phase == "improve":
        open_findings = [finding for finding in history.findings if finding.alive]
        files = {WHOLE_TASK: _whole_task(deps, history), ALL_FINDINGS: all_findings_text(open_findings)}
    if refs or files:
        setup.workspace.brief(files, refs)


def _whole_task(deps: Deps, history: History) -> str:
    task = history.task
    spec = task.spec
    plan = "\n\n".join(text for text in (spec.plan, plans_of(deps, task)) if text.strip())
    parts = {
        f"# {sections.task_title(spec)}": sections.task_order(spec),
        "## Scope": spec.scope,
        "## Acceptance Criteria": sections.criteria_text(spec) if spec.criteria else "",
        "## Task Checklist": sections.checklist_text(spec) if spec.checklist else "",
        "## Plan": plan,
    }
    return "".join(f"{head}\n\n{text.rstrip()}\n\n" for head, text in parts.items() if text.strip())


def unfinished_text(setup: TaskSetup, history: History, cycle: int, tag: str) -> str:
    """For the next attempt's prompt: where the work of cut attempts is, and the diff of the newest."""
    refs = rescue_refs(history, cycle)
    rescue_commit = _newest(setup, history, cycle)
    if not refs or rescue_commit is None:
        return ""
    intro = f"Unfinished work of {'a stopped attempt' if len(refs) == 1 else 'stopped attempts'}"
    where = f"{intro} is kept under {', '.join(f'`{ref}`' for ref in refs)} (in this repository)."
    if setup.policy.rescued == "apply" and _of_head(setup, rescue_commit):
        return f"{where} The files here begin with the newest: `git diff` shows it. Go on from there.\n"
    change = setup.workspace.changes(rescue_commit.parents[0], rescue_commit.sha)
    limit = setup.policy.limits.diff_kb * 1024 // _DIFF_SHARE
    diff = cut_text(change.text(), limit)
    show = f"git diff {refs[-1]}^ {refs[-1]}"
    rest = f" (cut here; `{show}` shows all)" if diff != change.text() else ""
    take = f"Use what is right in it: `{show} | git apply --3way` brings all of it back."
    return f"{where} {take}\n\nIts diff{rest}:\n\n{fenced(diff, tag=tag)}"


def _newest(setup: TaskSetup, history: History, cycle: int) -> Commit | None:
    refs = rescue_refs(history, cycle)
    return setup.workspace.rescued(refs[-1]) if refs else None


def _of_head(setup: TaskSetup, rescue_commit: Commit) -> bool:
    """Did the cut attempt begin where the next one begins? Then its files can be taken as they are."""
    return rescue_commit.parents == (setup.workspace.plain(setup.head().sha),)
