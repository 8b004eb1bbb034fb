"""Reviews any repository without a task or settings, and leaves no files."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from burnish import config as settings
from burnish.adapters.agents import TaskAgents
from burnish.adapters.configured_agents import agent_settings, can_start
from burnish.adapters.redaction import clean_finding, clean_lines, redacting_listener, secrets_from_environment
from burnish.adapters.repository import CONTEXT_FILES, CONTEXT_FOLDER
from burnish.adapters.sandbox import checkout_link, known_projects, other_checkouts, resolve_sandbox_policy
from burnish.adapters.task_files import HomeCallDir
from burnish.agents.registry import PROJECT_CODE, PROJECT_FILES
from burnish.agents.runner import AgentRunner
from burnish.config.policy import policy_for
from burnish.config.settings import Config
from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.commit import Base
from burnish.core.finding import Finding, Remark, worst_first
from burnish.core.ledger.ledger import absorb_review, absorb_source
from burnish.core.policy import Policy
from burnish.core.review import PanelResult, Review, Verdict
from burnish.core.review_checks import CheckState, ReviewedCheck, is_documentation, packed_copies
from burnish.core.secrets import Secrets
from burnish.core.task import Spec, TaskType
from burnish.engine.archive import weighed
from burnish.engine.guard_phase import SOURCE as GUARD
from burnish.engine.panel_review import ReviewerReply, ReviewSession, mechanical, panel_of, run_reviewers
from burnish.engine.review_input import ReviewInput
from burnish.errors import BurnishError, PhaseFailed, Untrusted
from burnish.features.review.adhoc_checks import (
    ReviewedFiles,
    ReviewEnvironment,
    by_program,
    run_tests,
    wants_whole_tree,
)
from burnish.features.review.adhoc_guard import guard_remarks, with_base_tests
from burnish.git.base import identity
from burnish.git.checkout import write_changed_files
from burnish.git.discovery import discover
from burnish.git.file_content import read_blobs
from burnish.git.files import disk_errors, remove_tree
from burnish.git.objects import Contents, list_files, list_links, read_files
from burnish.git.project import Project
from burnish.git.review_target import CommitRange, ReviewTarget, changes, choose, messages
from burnish.git.snapshot import snapshot
from burnish.git.working_tree import UserTree, private_project
from burnish.git.workspace import GitWorkspace
from burnish.proc.run import StopToken
from burnish.review.lock_digest import with_lock_digests
from burnish.runtime.prompts import own_prompts
from burnish.runtime.reader import home_of
from burnish.runtime.trust import CheckoutTrust, examine, load_settings
from burnish.views.task import finding_json

__all__ = ["AdhocResult", "ReviewTarget", "review_change"]

DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class AdhocResult:
    """What came of it; everything a screen needs, since the files are gone by now."""

    pair: CommitRange
    change: Change
    # None: the reviewers could not be understood, or nothing was there to review
    verdict: Verdict | None = None
    # the reviewers approve what they saw, but not everything was seen: the verdict is then `needs_discussion`
    approved_in_part: bool = False
    panel: PanelResult | None = None
    findings: tuple[Finding, ...] = ()
    inspected: tuple[str, ...] = ()
    # changed paths that no reviewer saw
    not_shown: tuple[str, ...] = ()
    blocking: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    # path → text, for every file that a finding points to
    texts: Mapping[str, str] = field(default_factory=dict)
    # where the reviewers' own words are, if they are worth a look
    kept: Path | None = None
    # a line on the repository's settings, where they were left aside
    unused: str = ""
    checks: tuple[ReviewedCheck, ...] = ()
    # are failures that cannot be distinguished from old ones accepted?
    accepts_uncountable: bool = False

    @property
    def passed(self) -> bool:
        """Approved by those who saw everything, or nothing to review."""
        if self.panel is None:
            return not self.not_shown
        if self.standing_checks:
            return False
        return self.verdict is Verdict.APPROVED and not self.not_shown and self.panel.signed

    @property
    def standing_checks(self) -> tuple[ReviewedCheck, ...]:
        """Checks that keep it from being a pass, whatever the reviewers say."""
        accepted_states = (CheckState.UNCOUNTABLE,) if self.accepts_uncountable else ()
        return tuple(check for check in self.checks if not check.clear and check.state not in accepted_states)

    @property
    def could_not_start(self) -> bool:
        return any(check.state is CheckState.COULD_NOT_START for check in self.checks)

    @property
    def untested(self) -> bool:
        """True if no test ran on the change."""
        untested_states = (CheckState.NOT_RUN, CheckState.COULD_NOT_START)
        return bool(self.change.files) and all(check.state in untested_states for check in self.checks)

    @property
    def nothing_judged(self) -> bool:
        """True if only programs reviewed it and no test ran: no findings are then not an approval."""
        return bool(self.panel and self.panel.mechanical) and self.untested

    @property
    def needs_tests(self) -> bool:
        """True if no test ran although the change is more than documentation."""
        return self.untested and not is_documentation(self.change)

    @property
    def judged_by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.agent for result in self.panel.results)) if self.panel else ()

    @property
    def nothing_to_review(self) -> str:
        return f"Nothing to review: no changes in {self.pair.what} against {self.pair.against}."

    def as_json(self) -> dict[str, Any]:
        """What `burnish review --json` prints."""
        tree = self.pair.taken
        left_out = (*tree.secrets, *tree.nested, *tree.installed, *tree.submodules) if tree else ()
        return {
            "verdict": self.verdict.value if self.verdict else None,
            "summary": (self.panel.summary or self.panel.why) if self.panel else self.nothing_to_review,
            "findings": [finding_json(finding) for finding in self.findings],
            "inspected": list(self.inspected),
            "not_shown": list(dict.fromkeys((*self.not_shown, *left_out))),
            "checks": [check.as_json() for check in self.checks],
            "notes": list(self.notes),
            "judged_by": list(self.judged_by),
        }


def _require_trust(trust: CheckoutTrust) -> None:
    try:
        trust.require()
    except Untrusted as error:
        if trust.accepted:
            raise
        hint = f"{error.hint}. Without running its tests: burnish review --no-tests"
        raise Untrusted(error.what, hint=hint, root=error.root) from None


def review_change(
    start: Path,
    wish: ReviewTarget,
    *,
    flags: Mapping[str, Any],
    tests: bool | None,
    stop: StopToken,
    say: Callable[[str], None],
    on_output: Callable[[str], None] | None = None,
) -> AdhocResult:
    """Review the change between two trees. `say` gets progress notes, `on_output` the output of agents."""
    found, home, secrets = discover(start), home_of(), secrets_from_environment()
    trust = examine(found, home)
    if tests is not False or (trust.problem and trust.accepted):
        _require_trust(trust)
    config = load_settings(trust, flags)
    with _place(home) as place:
        project = private_project(found, place / "git")
        pair = choose(project, wish)
        change = changes(project, pair)
        if not change.files:
            nothing = AdhocResult(pair, change, notes=_left_out(pair.taken), not_shown=_not_looked_at(pair))
            return _discreet(secrets, nothing)
        policy = _policy(config, trust)
        readable_places = (found.common_dir, project.objects)
        others = other_checkouts(found.common_dir, known_projects(home))
        sandbox_policy = resolve_sandbox_policy(
            config, checkout=found.root, burnish_home=home, readable=readable_places, read_only=others, project=project
        )
        ground = ReviewEnvironment(
            project,
            place,
            home,
            config,
            policy,
            stop,
            tests,
            redacting_listener(secrets, say),
            on_output,
            sandbox_policy,
        )
        ground = replace(ground, trusted=trust.is_trusted, accepted_files=trust.accepted_files)
        try:
            result = replace(_review(ground, pair, change), unused=_unused(trust))
            return _discreet(secrets, result)
        except PhaseFailed as failed:
            raise _in_words(failed, place) from failed


def _unused(trust: CheckoutTrust) -> str:
    """What to say of settings that were left aside; "" where there are none or they are in force."""
    if trust.is_trusted or (trust.content.is_empty and not trust.problem):
        return ""
    return f"The settings of this repository are not used, because it is not trusted: {trust.command('--show')}"


def _discreet(secrets: Secrets, result: AdhocResult) -> AdhocResult:
    """Redact the result. Agent replies are redacted already; quotes of burnish's own programs are not."""
    pair, panel = result.pair, result.panel
    redact = secrets.redact
    user_tree = pair.taken and _clean_taken(redact, pair.taken)
    pair = replace(pair, what=redact(pair.what), against=redact(pair.against), note=redact(pair.note), taken=user_tree)
    return replace(
        result,
        pair=replace(pair, left_out=tuple(map(redact, pair.left_out))),
        panel=replace(panel, summary=redact(panel.summary), why=redact(panel.why)) if panel else None,
        findings=tuple(clean_finding(secrets, finding) for finding in result.findings),
        notes=tuple(map(redact, result.notes)),
        checks=tuple(_clean_check(redact, check) for check in result.checks),
        texts={redact(path): clean_lines(secrets, text) for path, text in result.texts.items()},
        inspected=tuple(map(redact, result.inspected)),
        not_shown=tuple(map(redact, result.not_shown)),
    )


def _clean_taken(redact: Callable[[str], str], user_tree: UserTree) -> UserTree:
    return replace(
        user_tree,
        secrets=tuple(map(redact, user_tree.secrets)),
        unreadable=tuple(map(redact, user_tree.unreadable)),
        nested=tuple(map(redact, user_tree.nested)),
        installed=tuple(map(redact, user_tree.installed)),
        staged=tuple(map(redact, user_tree.staged)),
        submodules=tuple(map(redact, user_tree.submodules)),
    )


def _clean_check(redact: Callable[[str], str], check: ReviewedCheck) -> ReviewedCheck:
    return replace(
        check,
        command=redact(check.command),
        why=redact(check.why),
        new=tuple(map(redact, check.new)),
        old=tuple(map(redact, check.old)),
        flaky=tuple(map(redact, check.flaky)),
    )


def _in_words(failure: PhaseFailed, place: Path) -> BurnishError:
    """The error without hints on tasks, since there is no task to retry."""
    calls = place / "calls"
    words = f"Its prompt and reply are in {calls}." if any(calls.glob("*/*")) else ""
    hint = "" if re.search(r"burnish (run|retry|log)|settings", failure.hint) and words else failure.hint
    return BurnishError(failure.what, hint=" ".join(part for part in (hint, words) if part))


@contextmanager
def _place(home: Path) -> Iterator[Path]:
    """A folder in the home that is gone afterwards; what killed reviews left goes after a day."""
    root, fresh = home / "reviews", not home.exists()
    with disk_errors(f"making {root}"):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in root.glob("r-*"):
            if time.time() - old.lstat().st_mtime > DAY:
                remove_tree(old)
        place = Path(tempfile.mkdtemp(prefix="r-", dir=root)).resolve()
    try:
        yield place
    finally:
        for name in ("git", "files", "tests", "out"):
            remove_tree(place / name)
        with suppress(OSError):
            # only what is empty goes: calls that a person may want to read stay
            for folder in (place, root, *([home] if fresh else [])):
                folder.rmdir()


def _policy(config: Config, trust: CheckoutTrust) -> Policy:
    spec = Spec("Review", type=TaskType.REVIEW)
    folders = (trust.found.root, settings.user_folder())
    prompts = own_prompts(config, *folders, trusted=trust.is_trusted, accepted_files=trust.accepted_files)
    return policy_for(config, spec, installed=lambda name: can_start(config, name), detected=(), prompts=prompts)


def _review(ground: ReviewEnvironment, pair: CommitRange, change: Change) -> AdhocResult:
    names = ", ".join(dict.fromkeys(spec.agent for spec in ground.policy.reviewers))
    ground.say(f"Reviewing {pair.what} against {pair.against}, by {names}")
    workspace = GitWorkspace(ground.project, ground.place / "none", "review", author=identity(ground.project))
    base = Base(pair.old.sha, pair.old.tree, None)
    test_outcome = run_tests(ground, pair, change)
    test_outcome = replace(test_outcome, comparisons=with_base_tests(ground, pair, change, test_outcome))
    subject = _subject(ground, pair, change, test_outcome.comparisons)
    if wants_whole_tree(ground, pair, change, test_outcome.comparisons):
        place = ground.place / "files"
        snapshot_folder = snapshot(
            workspace,
            pair.new.sha,
            base=base,
            path=place,
            from_base=PROJECT_FILES,
            without=PROJECT_CODE,
            trusted=ground.trusted,
        )
        with snapshot_folder as files:
            session = _review_session(ground, pair, subject, ReviewedFiles(files.path, whole_tree=True))
            replies = run_reviewers(session)
            breaches = files.breaches()
    else:
        files_read = ReviewedFiles(ground.place / "files" / "changed", whole_tree=False)
        write_changed_files(change, Contents(ground.project, pair.new.sha, change.paths).get, files_read.path)
        session = _review_session(ground, pair, subject, files_read)
        replies, breaches = run_reviewers(session), []
    panel = panel_of(session, replies)
    write_notes = [f"A reviewer wrote to its snapshot: {', '.join(breaches[:5])}"] * bool(breaches)
    warnings = guard_remarks(ground, pair, change, test_outcome.comparisons)
    base_notes = [c.base_tests.note for c in test_outcome.comparisons if c.base_tests and c.base_tests.note]
    retries = [c.retried_note for c in test_outcome.comparisons if c.retried_note]
    outputs = [f"{c.output_note}." for c in test_outcome.comparisons if c.output_note]
    copies = packed_copies(
        change, list_links(ground.project, pair.new.tree), partial(read_files, ground.project, pair.new.sha)
    )
    notes = [*test_outcome.notes, *base_notes, *retries, *outputs, *copies, *write_notes]
    result = _put_together(ground, pair, subject, panel, replies, warnings, notes)
    accepts = ground.config.checks.uncountable == "accept"
    return replace(result, checks=test_outcome.checks, accepts_uncountable=accepts)


def _subject(
    ground: ReviewEnvironment, pair: CommitRange, change: Change, comparisons: tuple[Comparison, ...]
) -> ReviewInput:
    project, policy = ground.project, ground.policy
    names = []
    if "project_context" in policy.context and ground.trusted:
        files = list_files(project, pair.old.sha)
        names = [path for path in files if path in CONTEXT_FILES or path.startswith(CONTEXT_FOLDER)]
    context = read_files(project, pair.old.sha, names) if names else {}
    return ReviewInput(
        spec=Spec("Review a change", description=_description(project, pair), type=TaskType.REVIEW),
        cycle=1,
        max_cycles=1,
        commit=pair.new,
        change=with_lock_digests(change, lambda blobs: read_blobs(project, blobs)),
        delta=None,
        findings=(),
        comparisons=comparisons,
        project_context=tuple((n, data.decode(errors="replace")) for n, data in context.items() if data is not None),
        plan="",
        previous_error="",
        session_log="",
        read=Contents(project, pair.new.sha, change.paths).get,
        prompts=own_prompts(
            ground.config,
            project.root,
            settings.user_folder(),
            trusted=ground.trusted,
            accepted_files=ground.accepted_files,
        ),
    )


def _review_session(
    ground: ReviewEnvironment, pair: CommitRange, subject: ReviewInput, files: ReviewedFiles
) -> ReviewSession:
    cap = int(ground.config.output_cap_mb * 1024 * 1024)
    runner = AgentRunner(
        agent_settings(ground.config),
        checkout=ground.project.root,
        lock_dir=ground.home / "locks",
        cap_bytes=cap,
        stop=ground.stop,
        sandbox=ground.confinement.sandbox,
        redact=secrets_from_environment().redact,
        programs=checkout_link(ground.project) if ground.confinement.sandbox else None,
    )
    agents = TaskAgents(runner, None, confinement=ground.confinement)

    def call(name: str) -> HomeCallDir:
        place = ground.place / "calls" / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return HomeCallDir(place)

    return ReviewSession(
        review_input=subject,
        policy=ground.policy,
        files=files.path,
        task=0,
        call=call,
        ask=lambda request: agents.call(request, on_output=ground.on_output),
        now=_now,
        program=lambda seat: by_program(ground, pair, subject, files, seat),
    )


def _put_together(
    ground: ReviewEnvironment,
    pair: CommitRange,
    subject: ReviewInput,
    panel: PanelResult,
    replies: tuple[ReviewerReply, ...],
    warnings: tuple[Remark, ...],
    notes: list[str],
) -> AdhocResult:
    update = absorb_review((), remarks=panel.remarks, cycle=1, files=subject.text_of, mechanical=mechanical(replies))
    # what a reviewer has reported in the same words
    known = {(finding.remark.file, finding.remark.title) for finding in update.findings}
    new_warnings = tuple(remark for remark in warnings if (remark.file, remark.title) not in known)
    update = absorb_source(update.findings, source=GUARD, remarks=new_warnings, cycle=1)
    findings = tuple(worst_first(update.findings))
    paths = {f.remark.file for f in findings if f.remark.file}
    texts = {path: text for path in sorted(paths) if (text := subject.text_of(path)) is not None}
    read = [result.reading for result in panel.results if isinstance(result.reading, Review)]
    verdict = weighed(ground.policy.block_on, panel, update.findings)
    not_shown = (*panel.uncovered, *(file.path for file in panel.unseen_files), *_not_looked_at(pair))
    in_part = verdict is Verdict.APPROVED and bool(not_shown)
    # replies that could not be read are kept for a person; others are no longer needed
    if verdict is not None:
        remove_tree(ground.place / "calls")
    return AdhocResult(
        pair=pair,
        change=subject.change,
        verdict=Verdict.NEEDS_DISCUSSION if in_part else verdict,
        approved_in_part=in_part,
        panel=panel,
        findings=findings,
        inspected=tuple(sorted({path for review in read for path in review.inspected})),
        not_shown=not_shown,
        blocking=frozenset(f.id for f in findings if f.remark.severity.rank <= ground.policy.block_on.rank),
        notes=(*_left_out(pair.taken), *panel.notes, *notes),
        texts=texts,
        kept=ground.place / "calls" if verdict is None else None,
    )


def _description(project: Project, pair: CommitRange) -> str:
    """The description in place of a task's. It comes from the repository, so prompts must fence it as data."""
    return f"{pair.what}, against {pair.against}\n\nThe commits in it:\n\n{messages(project, pair)}"


def _left_out(user_tree: UserTree | None) -> tuple[str, ...]:
    if user_tree is None:
        return ()
    return (
        *(f"{path} looks like a secret and is not tracked: it was left out." for path in user_tree.secrets),
        *(f"{path} is a repository of its own: it was left out." for path in user_tree.nested),
        *(
            f"{path} holds installed or generated files and is not ignored: it was left out."
            for path in user_tree.installed
        ),
        *(
            f"{path} is a submodule with uncommitted content, which was not reviewed: burnish review in that folder"
            for path in user_tree.submodules
        ),
        *(
            f"{path} cannot be read, or has a name that git refuses: it was not reviewed."
            for path in user_tree.unreadable
        ),
        *(
            f"{path} is staged with other content than the file has, which was not reviewed: burnish review --staged"
            for path in user_tree.staged
        ),
    )


def _not_looked_at(pair: CommitRange) -> tuple[str, ...]:
    """What lies in the checkout and is in neither tree. The author of a change chooses names: they cover nothing."""
    return (*pair.left_out, *(pair.taken.unreadable if pair.taken else ()))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
