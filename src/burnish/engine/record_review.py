"""The files a review leaves behind: the artifact a person reads, and the diff that was judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from burnish.core.codec import decode
from burnish.core.finding import Finding, Severity, blocks
from burnish.core.flow import DoReview
from burnish.core.history import History
from burnish.core.ledger import Update
from burnish.core.review import Compliance, Panel, Review, Unreadable, Verdict, Voice
from burnish.core.task import Task
from burnish.engine.checking import NO_TESTS
from burnish.engine.ports import Deps
from burnish.engine.site import Site
from burnish.engine.subject import Subject
from burnish.review.artifact import LIMIT, MalformedArtifact, cut, file_name, parse_artifact, render_artifact
from burnish.review.body import Cycle, artifact_of


def keep_review(deps: Deps, site: Site, task: Task, subject: Subject, panel: Panel, update: Update) -> dict[str, Any]:
    """Written before the review counts as finished; writing again gives the same files."""
    name = file_name(subject.cycle)
    patch = f"diff-{subject.cycle}.patch"
    deps.desk.write(task, patch, subject.change.text().encode("utf-8", "surrogateescape"))
    cycle = Cycle(
        task=str(task.id),
        title=task.spec.title,
        cycle=subject.cycle,
        max_cycles=task.max_cycles,
        panel=panel,
        findings=tuple(f for f in update.findings if f.alive or f.id in update.resolved),
        commit=subject.commit.sha,
        tree=subject.commit.tree,
        base=site.base.commit,
        diff=patch,
        reproduction_command=next((c.words for c in site.policy.checks if c.name == "test"), ""),
        change=subject.change,
        verdict=weighed(site.policy.block_on, panel, update.findings),
        block_on=site.policy.block_on,
        warnings=() if any(c.name == "test" for c in site.policy.checks) else (NO_TESTS,),
    )
    whole = deps.desk.write(task, name, render_artifact(artifact_of(cycle), limit=1 << 30).encode())
    return {"artifact": str(whole), "review_ref": f"review-cycle://{task.id}/{name}"}


def with_earlier(history: History, step: DoReview, panel: Panel) -> Panel:
    """The panel of a pipeline's step with those before it, so that one artifact holds the whole cycle."""
    if not step.step:
        return panel
    before = [record for record in history.reviews(step.cycle) if record.phase != step.phase]
    said = [(str(r.result.get("step") or "review"), str(r.result.get("summary", ""))) for r in before]
    said.append((step.step, panel.summary))
    return replace(
        panel,
        voices=(*(voice_of(v) for r in before for v in r.result.get("reviewers", ())), *panel.voices),
        summary="\n".join(f"{name}: {text}" for name, text in said if text),
        compliance=(
            *(decode(Compliance, c) for r in before for c in r.result.get("compliance", ())),
            *panel.compliance,
        ),
    )


def voice_of(data: Mapping[str, Any]) -> Voice:
    """A reviewer's part, read back from the journal."""
    verdict = data.get("verdict")
    reading: Review | Unreadable = Unreadable(str(data.get("summary", "")), "")
    if verdict:
        reading = Review(Verdict(verdict), str(data.get("summary", "")), blocking=bool(data.get("blocking")))
    return Voice(
        agent=str(data.get("agent", "")),
        model=data.get("model"),
        reading=reading,
        reviewed_at=str(data.get("reviewed_at", "")),
        raw_sha256=str(data.get("raw_sha256", "")),
        raw_path=str(data.get("raw_path", "")),
        command=str(data.get("command", "")),
        provider=str(data.get("provider", "")),
    )


def weighed(block_on: Severity, panel: Panel, findings: tuple[Finding, ...]) -> Verdict | None:
    """An approval that its own findings contradict is none."""
    if panel.verdict is not Verdict.APPROVED:
        return panel.verdict
    stands = any(blocks(f, block_on) for f in findings) or any(c.met is False for c in panel.compliance)
    return Verdict.CHANGES_REQUESTED if stands or panel.blocking else panel.verdict


def for_the_ref(text: bytes, *, link: str) -> bytes:
    """What is committed is short; the home has the whole."""
    if len(text) <= LIMIT:
        return text
    words = text.decode("utf-8", "replace")
    try:
        return render_artifact(parse_artifact(words, link), link=link).encode()
    except MalformedArtifact:
        return cut(words, LIMIT, link).encode()


def mark_overrides(deps: Deps, task: Task) -> None:
    """The newest override, in the front matter of the review that it goes against."""
    said = [e for e in deps.book.events(task.id) if e.type == "override.recorded" and e.data.get("review_ref")]
    if not said:
        return
    name = str(said[-1].data["review_ref"]).rpartition("/")[2]
    text = deps.desk.read(task, name)
    if text is None:
        return
    keys = ("by", "category", "explanation", "follow_up")
    override = {"at": said[-1].ts, **{key: said[-1].data[key] for key in keys if said[-1].data.get(key)}}
    try:
        artifact = parse_artifact(text.decode("utf-8", "replace"), name)
    except MalformedArtifact as damaged:
        deps.progress.note(f"Task {task.id}: {damaged}")
        return
    whole = render_artifact(replace(artifact, arbiter_override=override), limit=1 << 30)
    deps.desk.write(task, name, whole.encode())
