"""Builds the review prompt."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Finding
from burnish.core.policy import Limits
from burnish.core.task import Spec
from burnish.review import prompt_sections as sections
from burnish.review.contract import Expect, ask, preface
from burnish.review.packing import Packed, find_redacted_paths, pack
from burnish.review.prompt_sections import FindingList, list_earlier
from burnish.review.quoting import cut_text, quoted, unquoted
from burnish.review.target_text import TargetChanges, merge_text
from burnish.review.templates import render

SWITCHES = frozenset(
    {"task_definition", "checklist", "plan", "git_diff", "delta", "test_results", "baseline", "lint_results"}
    | {"last_error", "prior_findings", "project_context"}
)
OFF = "Not given.\n"
MERGE_TITLE = "Merge with the Target"
# of the limit of the diff, for what the target changed
_TARGET_SHARE = 3


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Input of a review prompt."""

    task: Spec
    number: str
    change: Change
    cycle: int = 1
    max_cycles: int = 3
    # since the last review; None in cycle 1
    delta: Change | None = None
    # all earlier findings, in any state
    findings: tuple[Finding, ...] = ()
    checks: tuple[Comparison, ...] = ()
    auto_fixed: int | None = None
    # plan text of dependencies; the task's own is in `task.plan`
    plan: str = ""
    project_context: tuple[tuple[str, str], ...] = ()
    previous_error: str = ""
    session_log: str = ""
    # the target's side of a merge whose conflicts the author resolved
    target_changes: TargetChanges | None = None
    limits: Limits = field(default_factory=Limits)
    switches: frozenset[str] = SWITCHES
    # the user's own templates; a reviewer's `prompt` replaces `review.system`
    system: str | None = None
    template: str | None = None
    reviewer_prompt: str | None = None
    # restrict the review to these, if any
    categories: tuple[str, ...] = ()
    reads_files: bool = True
    # part n of m of a long change
    part: tuple[int, int] = (1, 1)
    # review.may_fix: fixes are committed, checked and reviewed again
    may_edit: bool = False
    # the text of a slash command that wraps the prompt
    command: str | None = None
    # random; marks untrusted text
    tag: str = ""

    @property
    def open_ids(self) -> tuple[str, ...]:
        """Earlier findings that this review must rule on."""
        if "prior_findings" not in self.switches:
            return ()
        listed_ids = set(self.listed_findings("").ids)
        return tuple(f.id for f in self.findings if f.alive and f.id in listed_ids)

    def listed_findings(self, tag: str) -> FindingList:
        """Earlier findings within the size limit: open ones in full, others by title."""
        return list_earlier(self.findings, self.limits.findings_kb * 1024, tag)

    @property
    def judged(self) -> tuple[str, ...]:
        """Criteria and checklist items, in one list."""
        return (*self.task.criteria, *(item.text for item in self.task.checklist))

    def expect(self, source: str = "") -> Expect:
        """Expectations for the reader of the reply."""
        closed_ids = tuple(finding.id for finding in self.findings if finding.id not in self.open_ids)
        return Expect(self.cycle, self.open_ids, self.judged, source, closed_ids)


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """The prompt, and which paths it shows."""

    text: str
    shown: tuple[str, ...]
    not_shown: tuple[str, ...]
    covered_by_summary: tuple[str, ...]
    # those of `not_shown` whose text is redacted
    redacted: tuple[str, ...] = ()


def build_review_prompt(context: ReviewContext) -> ReviewPrompt:
    """Build the prompt. Text that redaction will remove before sending does not count as shown."""
    prompt = _build(context, ())
    redacted_paths = find_redacted_paths(context.change, prompt.shown, prompt.text)
    return _build(context, redacted_paths) if redacted_paths else prompt


def _build(context: ReviewContext, redacted_paths: Sequence[str]) -> ReviewPrompt:
    tag = context.tag or hashlib.sha256(context.number.encode()).hexdigest()[:8]
    packed_change = _pack_change(context, tag, redacted_paths)
    output = ask(context.number, prior_ids=context.open_ids, criteria=context.judged)
    variables = _variables(context, packed_change, tag) | {"output": output}
    own = context.reviewer_prompt if context.reviewer_prompt is not None else context.system
    system = render("review.system", variables, own)
    body = render("review.template", variables, context.template)
    parts = [preface(context.number), system, _focus(context), body]
    body_text = "\n".join(parts)
    parts += [f"## {title}\n\n{part}" for title, part in _needed(context, variables) if part not in body_text]
    if output not in body_text:
        parts.append(output)
    text = "\n".join(part.rstrip("\n") + "\n" for part in parts if part)
    if context.command is not None:
        text = wrap_in_command(context.command, text, last=output)
    return ReviewPrompt(
        text, packed_change.shown, packed_change.not_shown, packed_change.covered_by_summary, tuple(redacted_paths)
    )


def _needed(context: ReviewContext, variables: Mapping[str, object]) -> list[tuple[str, str]]:
    """Sections that the reply must cover; they are added if the user's template lacks them."""
    names = {
        "Acceptance Criteria": "acceptance_criteria" if context.task.criteria else "",
        "Task Checklist": "task_checklist" if context.task.checklist else "",
        "Earlier Findings": "earlier_findings" if context.open_ids else "",
        "Code Changes (git diff)": "code_changes",
        MERGE_TITLE: "target_changes" if context.target_changes else "",
    }
    return [(title, str(variables[name])) for title, name in names.items() if name]


def _pack_change(context: ReviewContext, tag: str, redacted_paths: Sequence[str] = ()) -> Packed:
    limit = context.limits.diff_kb * 1024 if "git_diff" in context.switches else 0
    return pack(context.change, limit, tag=tag, reads_files=context.reads_files, redacted_paths=redacted_paths)


def _focus(context: ReviewContext) -> str:
    lines = []
    if context.categories:
        lines.append(f"You are asked about these only: {', '.join(context.categories)}. Others judge the rest.")
    if context.may_edit:
        lines.append(
            "You may fix what you find, in the files here: small, certain fixes only. Do not commit; what you leave"
            " is committed for you, checked, and reviewed by a reviewer who only reads. List each problem as a"
            " finding, also those you fixed, and say in your summary what you changed. Approve only if you fixed all"
            " that must be fixed."
        )
    if context.part[1] > 1:
        lines.append(
            f"This is part {context.part[0]} of {context.part[1]} of a long change."
            " Judge the files listed here; the other parts are reviewed separately. In `compliance`, `met` is null for"
            " a criterion that these files cannot show, and false only if they violate it."
        )
    return "\n".join(lines)


def _variables(context: ReviewContext, packed_change: Packed, tag: str) -> dict[str, object]:
    task = context.task
    plan = "\n\n".join(text for text in (task.plan, context.plan) if text.strip())
    found = {name: text if on else OFF for name, (on, text) in _parts(context, plan, tag).items()}
    return {
        **found,
        "may_edit": context.may_edit,
        "cycle": context.cycle,
        "max_cycles": context.max_cycles,
        "title": sections.task_title(task) if task.follows else task.title,
        "description": task.description,
        "acceptance_criteria": sections.criteria_text(task),
        "code_changes": packed_change.text,
        "target_changes": _target_changes(context, tag),
        "git_diff": packed_change.text,
        "featureTitle": sections.task_title(task) if task.follows else task.title,
        "featureDescription": task.description,
        "gitDiff": packed_change.text,
        "featureSpec": plan or task.description,
    }


def _target_changes(context: ReviewContext, tag: str) -> str:
    if context.target_changes is None:
        return ""
    return merge_text(context.target_changes, context.limits.diff_kb * 1024 // _TARGET_SHARE, tag)


def variable_names() -> frozenset[str]:
    """Variables of `review.system`, `review.template` and a reviewer's own prompt."""
    nothing = ReviewContext(task=Spec(title=""), number="0", change=Change("", "", ()))
    return frozenset({*_variables(nothing, _pack_change(nothing, ""), ""), "output"})


def _parts(context: ReviewContext, plan: str, tag: str) -> dict[str, tuple[bool, str]]:
    """Each section that has a switch: whether it is on, and its text."""
    task, limits, checks, on = context.task, context.limits, context.checks, context.switches
    files, test_bytes = context.project_context, limits.test_kb * 1024
    error = cut_text(context.previous_error, limits.error_kb * 1024)
    log = cut_text(context.session_log, 8192, keep="tail")
    return {
        "task": ("task_definition" in on, sections.task_text(task, tag)),
        "scope": ("task_definition" in on, sections.scope_text(task, tag)),
        "task_checklist": ("checklist" in on, sections.checklist_text(task)),
        "plan": ("plan" in on, sections.data_text(plan, tag)),
        "project_context": (
            "project_context" in on,
            sections.project_context_text(files, limits.context_chars, tag),
        ),
        "earlier_findings": ("prior_findings" in on, context.listed_findings(tag).text or sections.NONE),
        "changes_since_last_review": ("delta" in on, _delta(context, tag)),
        "test_results": ("test_results" in on, sections.test_results_text(checks, test_bytes, tag)),
        "baseline_context": ("baseline" in on, sections.baseline_text(checks, test_bytes, tag)),
        "lint_status": (
            "lint_results" in on,
            sections.lint_text(checks, context.auto_fixed, limits.lint_chars, tag),
        ),
        "previous_errors": ("last_error" in on, sections.data_text(error, tag)),
        "session_log": ("session_log" in on, sections.data_text(log, tag)),
    }


def _delta(context: ReviewContext, tag: str) -> str:
    if context.delta is None:
        return "None: this is the first review.\n"
    return pack(context.delta, context.limits.diff_kb * 1024, tag=tag, reads_files=context.reads_files).text


def merge_prompts(prompts: Sequence[ReviewPrompt]) -> ReviewPrompt:
    """Merge the prompts of one review's passes or batches; a path counts as shown if all of them show it."""
    not_shown = {path for prompt in prompts for path in prompt.not_shown}
    shown_paths = dict.fromkeys(path for prompt in prompts for path in prompt.shown if path not in not_shown)
    summarised_paths = dict.fromkeys(path for prompt in prompts for path in prompt.covered_by_summary)
    text = "\n".join(prompt.text for prompt in prompts)
    redacted_paths = dict.fromkeys(path for prompt in prompts for path in prompt.redacted)
    return ReviewPrompt(
        text, tuple(shown_paths), tuple(sorted(not_shown)), tuple(summarised_paths), tuple(redacted_paths)
    )


def coverage(
    change: Change, prompt: ReviewPrompt, inspected_paths: Sequence[str], *, reads_files: bool = True
) -> tuple[str, ...]:
    """Changed paths that were not shown in full and that the reviewer did not read itself.

    `inspected_paths` is ignored for a reviewer that cannot read files. Content that cannot be shown at all
    (`ChangedFile.hidden`) is handled elsewhere: it always needs a person.
    """
    covered_paths = {*prompt.shown, *prompt.covered_by_summary}
    if reads_files:
        covered_paths |= set(_resolve_paths(change.paths, inspected_paths))
    return tuple(path for path in change.paths if path not in covered_paths)


def _resolve_paths(paths: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The path for each name. A file whose name contains quotes must not be confused with a quoted path."""
    # the spelling in the prompt takes precedence over a file with such a name
    path_by_name = {path: path for path in paths} | {quoted(path): path for path in paths}
    return (path_by_name.get(name, unquoted(name)) for name in names)


_HEAD = re.compile(r"\A---\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
PLACE = "$ARGUMENTS"


def wrap_in_command(command: str, request: str, *, last: str) -> str:
    """The command's text with the request in place of `$ARGUMENTS`; the answer format (`last`) comes last.

    Other placeholders, which would run a command or include a file, are not replaced.
    """
    text = _HEAD.sub("", command).strip("\n")
    before, place, after = text.partition(PLACE)
    if not place:
        return f"{text}\n\n{request}" if text else request
    after = after.replace(PLACE, "the request above").strip("\n")
    whole = f"{before}{request.strip(chr(10))}\n\n{after}".rstrip("\n") + "\n"
    # repeated at the end, because the command may describe another answer format
    return f"{whole}\n{last}" if after else whole
