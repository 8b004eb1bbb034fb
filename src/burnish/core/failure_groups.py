"""Failures of one check as few remarks: equal ones are one remark with a count, examples and its members' hashes."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from burnish.core.finding import Category, Finding, FindingState, Remark

# More new remarks than this of one check are grouped more and more coarsely, down to this number.
MAX_REMARKS = 50
# Members that a group shows by name.
MAX_EXAMPLES = 20
# Members that a group knows again by the hash of their names: 8 characters each in an event.
MAX_MEMBERS = 4096
# An author chooses the names of tests: 6 bytes are too many to search for one that a waived group would take in.
_HASH_BYTES = 6
_MAX_MESSAGE_LENGTH = 2000
_MAX_LINE_LENGTH = 200

_RULE = "group:"
# Between the hashes of what fails now and of what failed earlier.
_EARLIER = "."
# What differs between failures of one cause: numbers, addresses, quoted values, paths of temporary files.
_VARIES = re.compile(r"0x[0-9a-fA-F]+|'[^'\n]*'|\"[^\"\n]*\"|/[\w./-]+|\b[0-9a-f]{8,}\b|\d+")

_Key = tuple[str, ...]


def is_group(remark: Remark) -> bool:
    return remark.rule.startswith(_RULE)


def covered_names(remarks: Iterable[Remark], names: Iterable[str]) -> set[str]:
    """Those of `names` that one of the remarks covers."""
    rules, members = set(), set()
    for remark in remarks:
        rules.add(remark.rule)
        members |= _current_members(remark)
    return {name for name in names if name in rules or _digest(name) in members}


def group_remarks(remarks: Sequence[Remark], findings: Sequence[Finding]) -> tuple[Remark, ...]:
    """The remarks of one check, grouped. `findings`: those of the check so far; they keep their members."""
    buckets: dict[str, list[Remark]] = defaultdict(list)
    single: list[Remark] = []
    fresh: list[Remark] = []
    owner = _owners(findings)
    for remark in remarks:
        rule = owner(remark)
        if rule is None:
            fresh.append(remark)
        elif rule == remark.rule:
            single.append(remark)
        else:
            buckets[rule].append(remark)
    group_findings = {finding.remark.rule: finding for finding in findings if is_group(finding.remark)}
    groups = [_group(rule, members, group_findings[rule]) for rule, members in buckets.items()]
    tests = [remark for remark in fresh if _named(remark)]
    others = [remark for remark in fresh if not _named(remark)]
    # waived rules, and rules that have a remark already
    used_rules = {finding.remark.rule for finding in findings if finding.state is FindingState.WAIVED} | set(buckets)
    return (*single, *groups, *_new_groups(tests, used_rules), *_new_places(others, findings, used_rules))


def _owners(findings: Sequence[Finding]) -> Callable[[Remark], str | None]:
    """A function that returns the rule of the finding that a remark belongs to."""
    groups = [f for f in findings if is_group(f.remark)]
    # If several findings contain a test, the open ones come first.
    groups_by_rank = sorted(groups, key=lambda f: (not f.alive, f.state is FindingState.RESOLVED, -f.number))
    names = {f.remark.rule for f in findings if _named(f.remark) and not is_group(f.remark)}
    members: dict[bytes, str] = {}
    waived_places: dict[bytes, str] = {}
    for finding in groups_by_rank:
        is_waived = finding.state is FindingState.WAIVED
        for digest in _current_members(finding.remark) if is_waived else _members(finding.remark):
            members.setdefault(digest, finding.remark.rule)
            if is_waived:
                waived_places.setdefault(digest, finding.remark.rule)
    occurrences: Counter[_Key] = Counter()
    # A new test may join a group that is open, or a resolved one with the same message. It never joins
    # a waived group.
    fine = tuple(f"{_RULE}{level}:" for level in ("same", "alike"))
    open_rules = {f.remark.rule for f in groups if f.alive}
    open_rules |= {f.remark.rule for f in groups if f.state is FindingState.RESOLVED and f.remark.rule.startswith(fine)}

    def owner(remark: Remark) -> str | None:
        if _named(remark):
            if remark.rule in names:
                return remark.rule
            if found := members.get(_digest(remark.rule)):
                return found
        elif found := waived_places.get(_place_digest(remark, occurrences)):
            return found
        for level in _levels(remark):
            rule = _rule(level, _key(level, remark))
            if rule in open_rules:
                return rule
        return None

    return owner


def _new_groups(tests: Sequence[Remark], used_rules: set[str]) -> list[Remark]:
    """Group equal failures; if too many remain, group similar ones, then by file, then all."""
    groups: list[Remark] = list(tests)
    for level in ("same", "alike", "file", "check"):
        groups = _grouped(tests, level, used_rules)
        if len(groups) <= MAX_REMARKS:
            break
    return groups


def _new_places(places: Sequence[Remark], findings: Sequence[Finding], used_rules: set[str]) -> list[Remark]:
    """Problems at lines are separate findings unless there are too many."""
    if len(places) <= MAX_REMARKS:
        return list(places)
    repeats, rest = _without_known(places, findings)
    groups = rest
    for level in ("same", "alike", "check"):
        groups = _grouped(rest, level, used_rules)
        if len(groups) <= MAX_REMARKS:
            break
    return [*repeats, *groups]


def _without_known(places: Sequence[Remark], findings: Sequence[Finding]) -> tuple[list[Remark], list[Remark]]:
    """For each kind as many remarks as it has open findings, and the other remarks."""
    open_counts: dict[_Key, int] = defaultdict(int)
    for finding in findings:
        if finding.state is not FindingState.RESOLVED and not is_group(finding.remark) and not _named(finding.remark):
            open_counts[_place_key(finding.remark)] += 1
    repeats: list[Remark] = []
    rest: list[Remark] = []
    for remark in sorted(places, key=lambda r: (r.file or "", r.line or 0)):
        key = _place_key(remark)
        if open_counts[key]:
            open_counts[key] -= 1
            repeats.append(remark)
        else:
            rest.append(remark)
    return repeats, rest


def _grouped(remarks: Sequence[Remark], level: str, used_rules: set[str]) -> list[Remark]:
    buckets: dict[_Key, list[Remark]] = defaultdict(list)
    for number, remark in enumerate(remarks):
        # without a message two failures cannot be compared
        alone = level == "same" and _named(remark) and not remark.description.strip()
        buckets[(str(number),) if alone else _key(level, remark)].append(remark)
    return [
        members[0] if len(members) == 1 else _group(_free(_rule(level, key), used_rules), members)
        for key, members in buckets.items()
    ]


def _free(rule: str, used_rules: set[str]) -> str:
    """An unused rule: a waiver covers the failures of its time, not new ones with the same message."""
    number = 2
    free = rule
    while free in used_rules:
        free, number = f"{rule}+{number}", number + 1
    return free


def _levels(remark: Remark) -> tuple[str, ...]:
    return ("same", "alike", "file", "check") if _named(remark) else ("same", "alike", "check")


def _key(level: str, remark: Remark) -> _Key:
    kind = (remark.category.value, remark.severity.value)
    if not _named(remark):
        what = remark.rule or remark.title
        return {"same": (*kind, what, remark.title, remark.file or ""), "alike": (*kind, what)}.get(level, kind)
    if level == "same":
        return (*kind, remark.file or "", _message(remark))
    if level == "alike":
        return (*kind, remark.file or "", _VARIES.sub("#", _message(remark)))
    return (*kind, remark.file or "") if level == "file" else kind


def _place_key(remark: Remark) -> _Key:
    return (remark.file or "", remark.rule, remark.title)


def _rule(level: str, key: _Key) -> str:
    return f"{_RULE}{level}:{hashlib.sha256(chr(0).join(key).encode('utf-8', 'replace')).hexdigest()[:16]}"


def _named(remark: Remark) -> bool:
    """A test, known by its name; anything else is known by its place."""
    return remark.category is Category.TEST and bool(remark.rule)


def _group(rule: str, members: Sequence[Remark], before: Finding | None = None) -> Remark:
    """One remark for all members. Earlier members are kept, so that they return to the same group."""
    occurrences: Counter[_Key] = Counter()
    current = {_digest(r.rule) if _named(r) else _place_digest(r, occurrences) for r in members}
    if before and before.state is FindingState.WAIVED:
        # fixed members stay waived, and no member is added
        current |= _current_members(before.remark)
    first = members[0]
    examples = sorted(members, key=_name)[:MAX_EXAMPLES]
    messages = {_message(remark) for remark in members}
    files = {remark.file for remark in members}
    lines = {remark.line for remark in members}
    one_place = len(files) == 1 and len(lines) == 1
    return replace(
        first,
        title=_title(members, messages, files),
        description=_description(members, examples, messages),
        file=first.file if len(files) == 1 else None,
        line=first.line if one_place else None,
        end_line=first.end_line if one_place else None,
        quote="",
        rule=rule,
        count=len(members),
        examples=tuple(_name(remark) for remark in examples),
        members=_encoded(current, _members(before.remark) if before else set()),
    )


def _title(members: Sequence[Remark], messages: set[str], files: set[str | None]) -> str:
    noun = "test" if _named(members[0]) else "problem"
    count = f"{len(members):,} {noun}{'s' * (len(members) != 1)}"
    if not _named(members[0]):
        what = members[0].title if len({r.title for r in members}) == 1 else "found by this check"
        return f"{count}: {what}"
    verb = "fails" if len(members) == 1 else "fail"
    if len(messages) == 1 and (message := next(iter(messages))):
        return f"{count} {verb}: {message[:120]}"
    where = f" in {members[0].file}" if len(files) == 1 and members[0].file else ""
    return f"{count} {verb}{where}"


def _description(members: Sequence[Remark], examples: Sequence[Remark], messages: set[str]) -> str:
    same = len(messages) == 1
    # the whole output of one member: the others differ only in names and values
    parts = [examples[0].description.strip()[:_MAX_MESSAGE_LENGTH]] if same else []
    rows = [
        _name(r) if same or not r.description else f"{_name(r)}: {_message(r)[:_MAX_LINE_LENGTH]}" for r in examples
    ]
    omitted_count = len(members) - len(examples)
    head = (
        f"{len(rows)} of the {len(members):,}:" if omitted_count else f"All {len(rows)}:" if len(rows) > 1 else "It is:"
    )
    return "\n".join([*(part for part in parts if part), head, *(f"- {row}" for row in rows)])


def _message(remark: Remark) -> str:
    """The first line: what follows is the trace of one test, which differs from that of the next."""
    return remark.description.strip().split("\n", 1)[0]


def _name(remark: Remark) -> str:
    if _named(remark):
        return remark.rule[:_MAX_LINE_LENGTH]
    return f"{remark.file or ''}{f':{remark.line}' if remark.line else ''} {remark.title}".strip()[:_MAX_LINE_LENGTH]


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[:_HASH_BYTES]


def _place_digest(remark: Remark, occurrences: Counter[_Key]) -> bytes:
    """The digest of a problem at a line; repeats of one kind in a file get different digests."""
    key = _place_key(remark)
    occurrences[key] += 1
    return _digest("\0".join((*key, str(occurrences[key]))))


def _members(remark: Remark) -> set[bytes]:
    """All current and earlier members of the group."""
    return {digest for part in remark.members.split(_EARLIER) for digest in _decoded(part)}


def _current_members(remark: Remark) -> set[bytes]:
    """The members that failed when the remark was written, which a waiver covers."""
    return set(_decoded(remark.members.split(_EARLIER)[0]))


def _decoded(part: str) -> list[bytes]:
    data = base64.b64decode(part)
    return [data[at : at + _HASH_BYTES] for at in range(0, len(data), _HASH_BYTES)]


def _encoded(current: set[bytes], earlier_members: set[bytes]) -> str:
    now = sorted(current)[:MAX_MEMBERS]
    earlier = sorted(earlier_members - current)[: MAX_MEMBERS - len(now)]
    parts = [base64.b64encode(b"".join(part)).decode() for part in (now, earlier)]
    return parts[0] + (_EARLIER + parts[1] if earlier else "")
