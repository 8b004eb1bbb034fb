"""The prompts of a project: defaults, own texts, previews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from burnish.core.task import Task
from burnish.errors import BadInput
from burnish.features.prompts.approval_cost import cost_of_edit
from burnish.features.prompts.edit import PromptOverride, PromptScope, SavedPrompt, all_kept, fits, kept
from burnish.runtime.app import App
from burnish.runtime.prompts import Prompt, require_name, reviewers_own
from burnish.web.deps import AppDep, ProjectDep
from burnish.web.pages.rendering import fragment, page

router = APIRouter(prefix="/p/{project}/prompts", include_in_schema=False)

MAX_TASKS = 200
# title and description of each prompt
FOR = {
    "review.system": ("Reviewer: role", "What a reviewer looks for, in which order, and how strict it is."),
    "review.template": ("Reviewer: input", "The task, the change, test results and earlier findings."),
    "fix.template": ("Author: fix", "What the agent gets after a review or a check requested changes."),
    "implement.template": ("Author: implement", "What the agent gets in the first cycle."),
}


@dataclass(frozen=True, slots=True)
class PromptCard:
    """One prompt, as shown for one scope."""

    prompt: SavedPrompt
    where: PromptScope
    tasks: tuple[Task, ...]
    # approvals that a change would void
    cost: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return FOR[self.prompt.name][0]

    @property
    def about(self) -> str:
        return FOR[self.prompt.name][1]

    @property
    def own(self) -> PromptOverride:
        return self.prompt.own(self.where)

    @property
    def on(self) -> bool:
        return self.own.text is not None and self.prompt.enabled

    @property
    def text(self) -> str:
        return self.prompt.default if self.own.text is None else self.own.text

    @property
    def overruled(self) -> bool:
        """True if this text for all projects is replaced by the project's own."""
        return self.where.everywhere and self.prompt.project.text is not None

    @property
    def beside(self) -> PromptOverride | None:
        """The text for all projects, if there is one besides this project's."""
        other = self.prompt.everywhere
        return other if not self.where.everywhere and other.text is not None else None


@router.get("")
def show(request: Request, app: AppDep, project: ProjectDep, where: PromptScope = PromptScope.PROJECT) -> Response:
    tasks = app.store.tasks(app.key, brief=True)
    cards = [_card(app, one, where, tasks) for one in all_kept(app)]
    others, trouble = _reviewers(app)
    return page(
        request,
        "prompts.html.j2",
        title=f"Prompts · {project.name}",
        here="prompts",
        project=project,
        where=where,
        cards=cards,
        others=others,
        trouble=trouble,
    )


@router.get("/part/{name}")
def part(app: AppDep, project: ProjectDep, name: str, where: PromptScope = PromptScope.PROJECT) -> Response:
    card = _card(app, kept(app, require_name(name)), where, app.store.tasks(app.key, brief=True))
    return fragment("prompts_part.html.j2", card=card, project=project)


def _card(app: App, prompt: SavedPrompt, where: PromptScope, tasks: Sequence[Task]) -> PromptCard:
    """With the tasks for a preview, newest first."""
    fitting = [task for task in reversed(tasks) if fits(prompt.name, task)]
    cost = cost_of_edit(app, prompt.name, where).words("Another text")
    return PromptCard(prompt, where, tuple(fitting[:MAX_TASKS]), tuple(cost))


def _reviewers(app: App) -> tuple[list[Prompt], str]:
    try:
        return reviewers_own(
            app.config, app.repo.root, trusted=app.trust.is_trusted, accepted_files=app.trust.accepted_files
        ), ""
    except BadInput as missing:
        return [], f"{missing.what} {missing.hint}"
