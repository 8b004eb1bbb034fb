"""The pages of a task as lines: overview, findings, diff. Made from views; nothing is read here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from burnish.core.cost import known_cost
from burnish.core.finding import Finding, FindingState
from burnish.core.gate import cause_of
from burnish.core.status import Reason, Status
from burnish.proc import clock
from burnish.tui.acts import question_of, with_keys, without_commands
from burnish.tui.lines import ShownLine, plain, prose, styled, verbatim
from burnish.tui.markdown import inline
from burnish.views.status import was_sent_back

if TYPE_CHECKING:
    from rich.syntax import SyntaxTheme

    from burnish.core.gate import GateView
    from burnish.core.task import Task
    from burnish.tui.project import TaskDetails
    from burnish.views.diff import Diff, DiffLine, FileDiff
    from burnish.views.task_page.page import FindingView
    from burnish.views.task_page.story import CycleStory, Moment

TONES = {"good": "green", "bad": "red", "warn": "yellow", "busy": "cyan", "": ""}
SEVERITIES = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
_VERDICTS = {"approved": "green", "changes_requested": "yellow", "rejected": "red", "needs_discussion": "magenta"}
_SIGNS = {"add": ("+", "green"), "del": ("-", "red"), "same": (" ", "")}
# files beyond so many characters are not coloured, and neither is the rest of a very large change
MAX_COLOURED = 200_000
MAX_COLOURED_IN_ALL = 500_000
# so many lines of a diff are shown before the others are made
_FIRST_LINES = 3_000
# on the overview
_MAX_FINDINGS = 8
_BLANK = ShownLine(styled(""))


def heading(text: str) -> ShownLine:
    return ShownLine(styled(text, "bold underline"))


def fact(label: str, text: str, style: str = "") -> ShownLine:
    return ShownLine(styled(plain(text), style), styled(f"{label:<10} ", "dim"))


# -- overview -------------------------------------------------------------------------------------


def overview(details: TaskDetails) -> list[ShownLine]:
    head, task = details.head, details.task
    first = "The review asks a question: answer it (f), or decide." if details.gate and question_of(details) else ""
    first = first or with_keys(head.next, details)
    lines = [ShownLine(styled(plain(first), f"bold {TONES[head.tone]}".strip()))]
    if head.note and not details.gate:
        lines += _noted(head.note) if _is_persons_note(task) else prose(with_keys(head.note, details))
    if details.trouble:
        lines += prose(with_keys(details.trouble, details), "yellow")
    if hint := _key_hint(details):
        lines.append(ShownLine(styled(hint, "dim")))
    if details.gate:
        lines += gate_lines(details.gate.shown, stale=details.gate.stale, again=_why_again(details))
        lines += _open_findings(details.findings)
    if head.output:
        lines += [_BLANK, heading("Output"), *prose(head.output, indent=2, is_verbatim=True)]
    if details.entry and details.entry.conflicts:
        lines += [_BLANK, heading("Conflicts"), *(fact("", path) for path in details.entry.conflicts[:50])]
    if details.plan:
        lines += [heading("Plan"), *prose(details.plan)]
    lines += _request(task)
    lines += [
        fact("waits for", f"T{need.id} {need.title}{' (done)' * need.met}", "" if need.met else "yellow")
        for need in head.needs
    ]
    if head.needed_by:
        lines.append(fact("blocks", ", ".join(f"T{number}" for number in head.needed_by)))
    lines += _history(details)
    return lines


def _is_persons_note(task: Task) -> bool:
    """Whether the note is what a person wrote when the task was rejected or sent back."""
    return task.reason is Reason.HUMAN_REJECTED or was_sent_back(task)


def _noted(note: str) -> Iterator[ShownLine]:
    leads = chain(["Note"], repeat(""))
    return (ShownLine(line.text, styled(f"{lead:<10} ", "dim")) for lead, line in zip(leads, prose(note), strict=False))


def gate_lines(view: GateView, *, stale: bool, again: str = "") -> Iterator[ShownLine]:
    """What a person decides on. `again`: why it is asked once more."""
    if stale:
        yield from prose(
            "The branch has moved since the review. A decision would be refused: run the task again.", "red"
        )
    if view.is_plan:
        yield ShownLine(styled("The plan waits for your approval."))
        return
    if again:
        yield fact("Why again", again, "yellow")
    word = view.verdict.upper().replace("_", " ") or "NONE"
    verdict = styled(word, _VERDICTS.get(view.verdict, "red"))
    summary = plain(view.summary)
    yield ShownLine(verdict + inline(f" {summary}" if summary else ""), styled("Verdict    ", "dim"))
    if view.objection:
        yield fact("but", view.objection, "yellow")
    if view.fixed:
        yield fact("Fixed", f"by the reviewer: {view.fixed}", "yellow")
    yield from (fact("", f"{one.id} {one.remark.title}", "dim") for one in view.fixed_findings)
    yield fact("Commit", view.commit[:12])
    for warning in view.warnings:
        yield fact("Note", warning, "yellow")
    for file in view.unseen_files:
        yield fact("Unseen", f"{file.path}: {file.description}", "yellow")
    if view.against:
        yield fact("", "Approving goes against the review and needs a reason.", "yellow")
    elif view.verdict == "changes_requested":
        yield fact("", "None of its findings is open any more, so approving needs no reason.")


def _key_hint(details: TaskDetails) -> str:
    """The keys for what the state of a stopped task asks for; the bar names them by what they do."""
    task = details.task
    if details.head.running:
        return ""
    if task.reason in (Reason.REJECTED, Reason.HUMAN_REJECTED) and details.may("restart"):
        return "f: say what to do instead · R: start again from the current base; the commits so far are kept"
    if details.entry and details.entry.conflicts:
        return "m: the agent resolves the conflicts, and a review follows"
    is_named = "burnish log" in details.head.note
    return "t: everything it printed" if task.status is Status.FAILED and details.head.output and not is_named else ""


def _why_again(details: TaskDetails) -> str:
    """Why it is asked once more: the approval before is void, or no agent made this commit; "" if it is asked first."""
    if cause := cause_of(details.task.note):
        return cause
    from burnish.views.task_page.story import FROM_BRANCH, VOID_APPROVAL

    cycles = [cycle for run in details.story.runs[:1] for cycle in run.cycles[:2]]
    moments = [moment for cycle in cycles for moment in reversed(cycle.moments)]
    reasons = (moment.detail for title in (VOID_APPROVAL, FROM_BRANCH) for moment in moments if moment.title == title)
    return next(reasons, "") if len(cycles) > 1 else ""


def _open_findings(views: Sequence[FindingView]) -> Iterator[ShownLine]:
    """The first line of each; their page has the rest."""
    alive = [view.finding for view in views if view.finding.alive]
    if alive:
        yield from (_BLANK, heading("Open findings"))
    yield from (next(finding_lines(finding)) for finding in alive[:_MAX_FINDINGS])
    if len(alive) > _MAX_FINDINGS:
        yield ShownLine(styled(f"and {len(alive) - _MAX_FINDINGS} more: i shows all", "dim"))


def _request(task: Task) -> Iterator[ShownLine]:
    spec = task.spec
    if spec.description.strip():
        yield from (_BLANK, heading("Description"), *prose(spec.description))
    if spec.scope.strip():
        yield from (_BLANK, heading("Scope"), *prose(spec.scope))
    if spec.criteria:
        yield from (_BLANK, heading("Acceptance criteria"))
        yield from (ShownLine(styled(plain(one)), styled("- ")) for one in spec.criteria)
    if spec.checklist:
        yield from (_BLANK, heading("Checklist"))
        yield from (
            ShownLine(styled(plain(one.text)), styled("[x] " if one.done else "[ ] ")) for one in spec.checklist
        )
    if spec.depends_on:
        yield _BLANK


def _history(details: TaskDetails) -> Iterator[ShownLine]:
    """The newest cycle first, without what stands above it already."""
    gate = details.gate.shown if details.gate else None
    shown_texts = {*gate.warnings, gate.objection, _why_again(details)} if gate else {details.head.note}
    for run in details.story.runs:
        for cycle in run.cycles:
            yield _BLANK
            name = f"Run {run.number}, cycle {cycle.number}" if run.number > 1 else f"Cycle {cycle.number}"
            yield ShownLine(styled(name, "bold underline") + styled(_day(cycle.moments), "dim"))
            yield from _cycle(cycle, shown_texts, details)
        yield from (_moment(moment, shown_texts, details) for moment in run.moments)


def _day(moments: Sequence[Moment]) -> str:
    """The day on which it began, if that is not today: the moments have only a time."""
    start = _local(moments[0].at) if moments else None
    return f"  {start:%Y-%m-%d}" if start and start.date() != clock.now().date() else ""


def _local(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone()


def _cycle(cycle: CycleStory, shown_texts: Collection[str], details: TaskDetails) -> Iterator[ShownLine]:
    if cycle.verdict or cycle.review:
        outcome = outcome_words(cycle.verdict, cycle.review, cycle.but)
        words = " · ".join(word for word in (cycle.verdict.replace("_", " "), outcome) if word)
        yield ShownLine(styled(words, TONES[cycle.tone]))
    if cycle.summary:
        yield from prose(cycle.summary)
    if cycle.but and cycle.but not in shown_texts:
        yield fact("but", cycle.but, "yellow")
    changes = [f"raised {', '.join(cycle.raised)}"] * bool(cycle.raised)
    changes += [f"resolved {', '.join(cycle.settled)}"] * bool(cycle.settled)
    findings = [view.finding for view in details.findings] if cycle.raised else []
    waived_ids = [one.id for one in findings if one.id in cycle.raised and one.state is FindingState.WAIVED]
    changes += [f"waived {', '.join(waived_ids)}"] * bool(waived_ids)
    if changes:
        yield fact("findings", "; ".join(changes))
    for before, moment in zip([None, *cycle.moments], cycle.moments, strict=False):
        yield _moment(moment, {*shown_texts, before.detail} if before else shown_texts, details)
    yield from (fact("note", warning, "yellow") for warning in cycle.warnings if warning not in shown_texts)


def outcome_words(verdict: str, review: str, but: str = "") -> str:
    """`review` is what became of the work; where that is not what the review said, a person decided it.

    `but`: what keeps an approval of the reviewer from being one.
    """
    if verdict == "approved" and review == "review failed" and not but:
        return "sent back by a person"
    if verdict not in ("", "approved") and review == "review passed":
        return "approved by a person"
    if verdict not in ("", "rejected") and review == "review rejected":
        return "rejected by a person"
    return review


def _moment(moment: Moment, shown_texts: Collection[str], details: TaskDetails) -> ShownLine:
    facts = [moment.who, _duration(moment.seconds), known_cost(moment.cost_usd, moment.cost_source)]
    facts += ["under way"] * moment.live + [f"commit {moment.commit[:12]}"] * bool(moment.commit)
    text = styled(plain(moment.title), TONES.get(moment.tone, ""))
    words = " · ".join(one for one in facts if one)
    text += styled(f"  {plain(words)}" if words else "", "dim")
    detail = moment.detail if moment.detail not in shown_texts else ""
    if detail and moment.kind != "decision":
        # a command of then may do something else now; the top of the page has what can be done
        detail = without_commands(detail, details.task.id)
    text += inline(f"  {plain(detail)}" if detail else "")
    return ShownLine(text, styled(f"{_local(moment.at):%H:%M} ", "dim"))


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02}s"


# -- findings -------------------------------------------------------------------------------------


def findings_page(views: Sequence[FindingView]) -> list[ShownLine]:
    if not views:
        return [ShownLine(styled("No findings.", "dim"))]
    lines: list[ShownLine] = []
    for view in views:
        lines += [*finding_lines(view.finding), *_events_of(view), _BLANK]
    return lines[:-1]


def finding_lines(finding: Finding, *, indent: int = 0, is_brief: bool = False) -> Iterator[ShownLine]:
    """A finding with all of its text. The first line has its key."""
    remark = finding.remark
    style = SEVERITIES.get(remark.severity.value, "bold") if finding.alive else "dim"
    lead = styled(" " * indent)
    place = f"  {verbatim(remark.file)}{f':{remark.line}' if remark.line else ''}" if remark.file else ""
    first = styled(f"{finding.id} {remark.severity.value}", style) + styled(f" {plain(remark.title)}", "bold")
    first += styled("" if is_brief else place, "dim")
    first += styled(
        "" if finding.state.value == "open" else f"  {finding.state.value}", "yellow" if finding.alive else ""
    )
    yield ShownLine(first, lead, key=f"finding:{finding.id}")
    if is_brief and not finding.alive:
        return  # the page of findings has the rest
    if plain(remark.description) != plain(remark.title):
        yield from prose(remark.description, "" if finding.alive else "dim", indent=indent + 3)
    if remark.suggestion.strip():
        first_line, *more = prose(remark.suggestion)
        yield ShownLine(first_line.text, styled(f"{' ' * indent}   → ", "green"))
        yield from (ShownLine(line.text, styled(" " * (indent + 5))) for line in more)
    if finding.waiver:
        waiver = f"Waived by {finding.waiver.by.removeprefix('user:')}: {finding.waiver.reason}"
        yield from prose(waiver, "dim", indent=indent + 3)
    if finding.evidence:
        yield from prose(f"Disputed: {finding.evidence}", "yellow", indent=indent + 3)


def _events_of(view: FindingView) -> Iterator[ShownLine]:
    reviewers = ", ".join(name.removeprefix("user:") for name in view.finding.reviewers)
    words = [f"cycle {event.cycle} {event.words}" for event in view.history]
    facts = ([f"by {reviewers}"] if reviewers else []) + words
    if facts:
        yield ShownLine(styled(plain("; ".join(facts)), "dim"), styled("   "))


# -- diff -----------------------------------------------------------------------------------------


def diff_page(
    diff: Diff,
    read: Callable[[Sequence[str]], Mapping[str, str]],
    about: str = "",
    viewed_numbers: Collection[int] = (),
    unfolded_paths: Collection[str] = (),
    hints: Sequence[str] = (),
    nothing: str = "Nothing was changed.",
    show_first: Callable[[list[ShownLine]], None] = lambda lines: None,
) -> list[ShownLine]:
    """Files with their findings in place; of those that were viewed and not unfolded, the heading and open findings.

    `read` returns the texts of blobs, for the colours; `hints` name keys; `nothing` is said of a change
    without files. `show_first` gets the first lines of a very large change, to be shown meanwhile.
    """
    if not diff.files:
        return [*([ShownLine(styled(about, "yellow"))] if about else []), *prose(nothing, "dim")]
    lines = [_totals(diff, about, len(viewed_numbers), hints)]
    if len(diff.files) > 1:
        lines += [_file_heading(file, key="index", is_viewed=file.number in viewed_numbers) for file in diff.files]
    for finding in diff.apart:
        lines += finding_lines(finding)
    colours = MAX_COLOURED_IN_ALL
    for file in diff.files:
        lines += [_BLANK, _file_heading(file, is_viewed=file.number in viewed_numbers)]
        if file.number in viewed_numbers and file.path not in unfolded_paths:
            alive = [finding for finding in file.findings if finding.alive]
            lines += [line for finding in alive for line in finding_lines(finding, indent=2)]
            continue
        lines += [ShownLine(styled(plain(note), "dim"), styled("  ")) for note in file.notes]
        for finding in file.elsewhere():
            lines += finding_lines(finding, indent=2)
        texts = read([file.file.old_blob, file.file.new_blob]) if file.blocks and colours > 0 else {}
        colours -= sum(map(len, texts.values()))
        for line in _blocks(file, texts):
            lines.append(line)
            if len(lines) == _FIRST_LINES:
                show_first([*lines, _BLANK, ShownLine(styled("Reading the rest…", "dim"))])
    return lines


def _totals(diff: Diff, about: str, viewed_count: int, hints: Sequence[str]) -> ShownLine:
    files = f"{len(diff.files)} file{'s' * (len(diff.files) != 1)}"
    text = styled(f"{files}  ") + styled(f"+{diff.added}", "green") + styled(" ") + styled(f"-{diff.removed}", "red")
    text += styled(f"  {viewed_count} viewed" if viewed_count else "", "dim")
    if not about:
        has_findings = diff.apart or any(file.alive for file in diff.files)
        names = ["[ ] file"] * (len(diff.files) > 1) + [", . finding"] * bool(has_findings) + [*hints]
        text += styled(f"   {' · '.join(names)}", "dim")
    return ShownLine(text + styled(f"  {about}" if about else "", "yellow"))


def _file_heading(file: FileDiff, key: str = "file", *, is_viewed: bool = False) -> ShownLine:
    text = styled(verbatim(file.path), "bold")
    text += styled(f"  {file.word}", "dim") + styled(f"  +{file.added}", "green") + styled(f" -{file.removed}", "red")
    if file.alive:
        text += styled(f"  {file.alive} open", "yellow")
    text += styled("  viewed" if is_viewed else "", "dim")
    lead = styled("── " if key == "file" else "   ", "cyan")
    return ShownLine(text, lead, key=f"{key}:{file.number}")


def _blocks(file: FileDiff, texts: Mapping[str, str]) -> Iterator[ShownLine]:
    change, places = file.file, file.under()
    old = _coloured(change.old_path or change.path, texts.get(change.old_blob))
    new = _coloured(change.path, texts.get(change.new_blob))
    digits = max((len(str(n)) for b in file.blocks for line in b.lines for n in (line.old, line.new) if n), default=1)
    for block in file.blocks:
        if block.skipped:
            about = f"  {verbatim(block.about)}" if block.about else ""
            yield ShownLine(styled(f"{'⋯':>{digits}} {block.skipped} unchanged{about}", "dim cyan"))
        for line in block.lines:
            yield _diff_line(line, digits, old, new)
            for finding in places.get(line.new or 0, ()):
                yield from finding_lines(finding, indent=digits + 3, is_brief=True)


def _diff_line(line: DiffLine, digits: int, old: Sequence[Text], new: Sequence[Text]) -> ShownLine:
    sign, style = _SIGNS[line.kind]
    source, number = (old, line.old) if line.kind == "del" else (new, line.new)
    code = verbatim(line.text)
    text = styled(code, style)
    # the patch is authoritative: a source that differs is not used
    if line.kind != "del" and number and number <= len(source) and source[number - 1].plain == code:
        text = source[number - 1].copy()
        text.style = style
    if line.unended:
        text += styled(" (no line break at the end)", "dim")
    lead = styled(f"{number or '':>{digits}} ", f"{style or 'dim'}") + styled(f"{sign} ", f"bold {style}".strip())
    return ShownLine(text, lead, is_code=True)


@lru_cache(maxsize=1)
def _code_colours() -> SyntaxTheme:
    """Without the bright colours of `ansi_dark`, which cannot be read on white, and the blue that cannot on black."""
    from rich.syntax import ANSI_LIGHT, ANSISyntaxTheme

    blues, cyan = (Style(color="blue"), Style(color="bright_blue")), Style(color="cyan")
    colours = {token: cyan if style in blues else style for token, style in ANSI_LIGHT.items()}
    return ANSISyntaxTheme({**colours, ("Keyword",): Style(color="magenta")})


# a file that is marked as viewed changes the page, and not the others
@lru_cache(maxsize=32)
def _coloured(path: str, text: str | None) -> Sequence[Text]:
    """The lines of a file with colours, to be copied; none if its language is unknown or it is too large."""
    if not text or len(text) > MAX_COLOURED:
        return ()
    from rich.syntax import Syntax

    lines = [verbatim(line) for line in text.split("\n")]
    whole = "\n".join(lines)
    lexer = Syntax.guess_lexer(path.rpartition("/")[2], whole[:2000])
    if lexer in ("default", "text", "output"):
        return ()
    highlights = Syntax(whole, lexer, theme=_code_colours(), background_color="default").highlight(whole)
    highlights.rstrip()
    found = list(highlights.split("\n", allow_blank=True))
    for line in found:
        line.end, line.no_wrap = "", True
    # a lexer may drop characters: such lines are compared one by one
    return found


# -- help -----------------------------------------------------------------------------------------

_HELP = (
    ("Screens", (("1 2 3", "tasks, inbox, agents at work"), ("n", "the next task that needs you"),
                 ("/", "list: filter by words, status:blocked, tag:login"), ("", "page: search (Esc ends both)"),
                 ("Ctrl-P :", "commands by name"),
                 ("Enter Esc", "open the selected task, go back"),
                 ("Tab", "move between the list and the task, or agents"),
                 ("q Ctrl-Z", "quit; suspend, until `fg` in the shell"))),
    ("Task", (("o t i d", "overview, transcript, findings, diff"), ("← →", "the page before, the next one"),
              ("[ ]", "file before, next file"), (", .", "finding before, next finding"),
              ("Enter", "findings: show the marked or first one in the diff"),
              ("u", "diff: only what changed since the last review, or all"),
              ("V", "diff: mark the file as viewed, or show it again"),
              ("j k Space", "scroll, or move in a list"))),
    ("Decide", (("a", "approve the commit that is shown; against the review it asks for reasons"),
                ("r", "reject"), ("f", "send back with a note, answer a question, give one more cycle"),
                ("s", "accept without a review, if the settings allow it"), ("w", "waive a finding"),
                ("c e", "comment: the agent settles it next; on lines in $EDITOR"))),
    ("Run", (("g R", "start, continue or retry; start again"),
             ("v", "review again"), ("p", "pause, or end the pause"),
             ("x", "stop; the work is kept"), ("m M", "merge, or resolve conflicts; merge all that are ready"),
             ("z", "undo the last act, where that is possible"))),
)  # fmt: skip


def help_lines() -> list[ShownLine]:
    lines: list[ShownLine] = []
    for title, keys in _HELP:
        lines += [heading(title), *(ShownLine(styled(words), styled(f"  {key:<10} ", "bold")) for key, words in keys)]
        lines.append(_BLANK)
    about = "Runs that you start here are processes of their own: they go on when you close the screen."
    return [*lines, ShownLine(styled(about, "dim"))]


def trouble(what: str, hint: str) -> Iterator[ShownLine]:
    yield from prose(what, "yellow")
    yield from prose(hint, "dim")
