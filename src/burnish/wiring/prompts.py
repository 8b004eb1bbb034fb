"""The user's own prompts: the project's win over the user's."""

from __future__ import annotations

from pathlib import Path

from burnish.config.settings import Config
from burnish.errors import BadInput

NAMES = ("review.system", "review.template", "fix.template", "implement.template")


def own_prompts(config: Config, root: Path, user_folder: Path) -> dict[str, str]:
    """Name → text of every prompt that is not the shipped one; reviewers' files as `reviewer:<path>`."""
    found: dict[str, str] = {}
    for name in NAMES:
        if name in config.prompts and not config.prompts[name].enabled:
            continue
        for place in (root / ".burnish" / "prompts", user_folder / "prompts"):
            file = place / f"{name}.md"
            if file.is_file():
                found[name] = file.read_text("utf-8", "replace")
                break
    entries = [*config.review.agents, *(a for step in config.pipeline for a in step.agents)]
    named = [e.prompt for e in entries] + [step.prompt for step in config.pipeline]
    for wanted in (p for p in named if p):
        file = root / wanted
        if not file.is_file():
            raise BadInput(
                f"The reviewer's prompt {wanted} does not exist.", hint="Make the file, or mend review.agents."
            )
        found[f"reviewer:{wanted}"] = file.read_text("utf-8", "replace")
    return found
