"""Why a program failed, and whether a retry would help: by the HTTP status if there is one, else by the message."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.jsonlines import EventStream, Json, json_value, read_events
from burnish.agents.usage_limits import MAX_MESSAGE_LENGTH, is_usage_limit

_STATUS = re.compile(r"(?<![\w.])([45][0-9]{2})(?![\w.]*\d)")
# A program that prints something else than its events is likely to do so again.
GARBAGE_ATTEMPTS = 2
_WAIT = (408, 409, 425, 429)
# Programs print this in place of an answer of the model.
_NO_ANSWER = re.compile(
    r"\s*(?:\[?API Error\b|Error: (?:429|5\d\d)\b|Too Many Requests|Rate limit (?:exceeded|reached)"
    r"|Credit balance is too low|Not logged in|Invalid API key"
    r"|(?:Claude(?: AI)?|5-hour|Weekly|Daily|Session|\w+) (?:usage |rate )?limit reached"
    r"|You(?:'|’)ve (?:hit|reached) your [\w -]{0,40}(?:limit|quota))",
    re.IGNORECASE,
)

_SESSION_GONE = re.compile(
    r"no (?:conversation|rollout|session|saved session)s? found"
    r"|(?:session|conversation|thread)\b[^\n]{0,80}\b(?:not found|does not exist|no longer exists)"
    r"|(?:unknown|invalid) session|could not (?:find|resume) (?:the )?session",
    re.IGNORECASE,
)


# "usage limit reached|1795019337": seconds since 1970
_RESET_NUMBER = re.compile(r"\s*\|\s*1\d{9}(?:\d{3})?\b")


def failure(
    who: str,
    message: str,
    *,
    status: int | None = None,
    cut: bool = False,
    login: str = "",
    is_program_error: bool = False,
) -> AgentFailure:
    """`cut`: the answer broke off, which the next one may not.

    `is_program_error`: the program itself reports the message as its error. Only such a message reports a usage limit:
    in any other one, the words may be those of the model or of a tool's output.
    """
    message = " ".join(message.split())
    # the time of the reset may come at the end
    limit = message[:MAX_MESSAGE_LENGTH] if is_program_error and is_usage_limit(message) else ""
    # people read the time that it stands for in the line about the wait
    message = (_RESET_NUMBER.sub("", message) if limit else message)[:300]
    code = status or _status_in(message)
    waits = code in _WAIT or code >= 500 if code else looks_transient(message)
    # an account without credit also gets 429
    retryable = cut or (waits and (code >= 500 or not refuses_for_good(message)))
    reason = message or (f"the model's server answered {code}" if code else "it printed nothing")
    hint = "Everything it printed: `burnish log`."
    if code in (401, 403) or re.search(r"not logged in|log ?in|api.?key", message, re.IGNORECASE):
        hint = login or hint
    elif code == 404 or re.search(r"\bmodel\b.{0,60}(?:not|unknown|invalid)", message, re.IGNORECASE):
        hint = f"Is the model's name right? {hint}"
    return AgentFailure(f"{who} failed: {reason.rstrip('.')}.", retryable=retryable, hint=hint, limit=limit)


# how adapters that do not know the name of their program begin a sentence
_SUBJECT = re.compile(r"The (?:agent|model|command)\b")


def with_name(agent: str, what: str) -> str:
    """The sentence about a failure, with the agent's name in it once."""
    if _SUBJECT.match(what):
        return _SUBJECT.sub(lambda _: agent, what, count=1)
    return what if what.startswith((f"{agent} ", f"{agent}: ")) else f"{agent}: {what}"


def without_name(agent: str, what: str) -> str:
    """The reason alone, for a line that names the agent already."""
    reason = with_name(agent, what).removeprefix(f"{agent} failed: ").removeprefix(f"{agent}: ")
    return reason.removeprefix(f"{agent} ")


def missing_answer(who: str, call: FinishedCall, *, login: str = "") -> AgentFailure:
    """The failure of a call without a final answer: the last line of stderr, else of stdout."""
    lines = [line.strip() for line in (call.stderr.strip() or call.stdout).split("\n") if line.strip()]
    if call.exit_code == 0 and not call.stderr.strip():
        hint = "Everything it printed: `burnish log`."
        if lines and not read_events(call.stdout).events:
            # not a stream that broke off: another program of this name, or an old version
            what = f"{who} printed no event that can be read: {lines[-1][:200]}"
            return AgentFailure(what, retryable=True, hint=hint, max_attempts=GARBAGE_ATTEMPTS)
        return AgentFailure(f"{who} ended without an answer.", retryable=True, hint=hint)
    # A program that has begun may print the output of tools on stderr. A single line without an event is its own.
    stdout = call.stdout.strip()
    has_begun = "\n" in stdout or "{" in stdout
    message = f"{call.how}: {lines[-1] if lines else 'it printed nothing'}"
    found = failure(who, message, login=login, is_program_error=not has_begun)
    if found.retryable or not looks_transient(call.stderr):
        return found
    return replace(found, retryable=True)


def unreadable(
    who: str, call: FinishedCall, stream: EventStream, last_message: int, understood: Collection[int] = ()
) -> AgentFailure | None:
    """A damaged line or a message of unknown shape follows the last readable message, which is not the final one then.

    `last_message` is its index in the stream, -1 if there is none. A call that failed has its own explanation.
    `understood`: messages after that index that the adapter has read.
    """
    if call.exit_code != 0:
        return None
    if stream.gap_after(last_message):
        why = "a damaged line follows the message before it"
    elif stream.message_after(last_message, understood):
        why = "a message of unknown shape follows the message before it"
    else:
        return None
    return AgentFailure(
        f"{who} failed: its last message cannot be read ({why}).",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def contradictory(who: str, call: FinishedCall, results: Sequence[object]) -> AgentFailure | None:
    """A reviewer with two different results has not given one answer. An author may report several times."""
    if call.role not in ("review", "parse") or all(result == results[0] for result in results):
        return None
    return AgentFailure(
        f"{who} failed: it printed {len(results)} different results.",
        retryable=True,
        hint="Everything it printed: `burnish log`.",
    )


def structured_conflict(who: str, result: Json, key: str) -> AgentFailure | None:
    """A result in words and as an object is one answer only if both give the same verdict."""
    answer, message = result.get(key), result.get("result")
    if answer is None:
        return None
    if not isinstance(answer, dict):
        why = f"its `{key}` is not an object"
    elif message is not None and not isinstance(message, str):
        why = "its `result` is not text"
    elif _verdicts(message or "") - {str(answer.get("verdict"))}:
        why = f"its `result` and its `{key}` give different verdicts"
    else:
        return None
    return AgentFailure(f"{who} failed: {why}.", retryable=True, hint="Everything it printed: `burnish log`.")


def _verdicts(text: str) -> set[str]:
    value = json_value(text)
    whole = {str(value["verdict"])} if isinstance(value, dict) and "verdict" in value else set()
    return whole | set(re.findall(r'"verdict"\s*:\s*"([^"]*)"', text))


def is_failed(result: Json) -> bool:
    """Does a result line report an error? Neither of its two marks is reliable alone."""
    return bool(result.get("is_error")) or str(result.get("subtype") or "").lower().startswith("error")


def is_session_gone(message: str) -> bool:
    """Whether a program says that it does not know the session that it was to resume."""
    return bool(_SESSION_GONE.search(message))


def no_answer(text: str) -> bool:
    """Is the final text a program's excuse (exit code 0 notwithstanding) instead of a model's words?"""
    return len(text) < 500 and bool(_NO_ANSWER.match(text))


def _status_in(message: str) -> int:
    found = _STATUS.search(message)
    return int(found[1]) if found else 0


# -- transient ------------------------------------------------------------------------------------
# Does a failed call look as if waiting would help? Few words, and only of calls that failed.

# Looked for first: an account without money also says "429".
_PERMANENT = re.compile(
    r"\b40[013]\b|unauthori[sz]ed|invalid.{0,10}api.?key|authentication|not logged in|permission denied"
    r"|insufficient_quota|billing|credit balance|model.{0,40}(?:not found|does not exist)",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"\b(?:429|502|503|504|529)\b|rate.?limit|too many requests|overloaded|high demand|temporary error"
    r"|(?:temporarily|service) unavailable|stream (?:disconnected|closed|ended)"
    r"|internal ?server ?error|service ?unavailable ?error|api ?connection ?error"
    r"|premature close|socket hang up|finish.reason|fetch failed|(?:unable to|cannot) connect"
    r"|gateway time.?out|connection (?:reset|refused|aborted|timed out|error)|network is unreachable"
    r"|temporary failure in name resolution|\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)\b",
    re.IGNORECASE,
)
# Programs say at the end why they stop; what an agent printed an hour before is about something else.
_LAST = 4000


def refuses_for_good(message: str) -> bool:
    """No login, no money, no such model."""
    return bool(_PERMANENT.search(message))


def in_short(message: str) -> str:
    """What a failure that may pass comes to, after the agent's name."""
    if re.search(r"\b429\b|rate.?limit|too many requests|limit reached", message, re.IGNORECASE):
        return "was rate limited"
    if re.search(r"\b(?:503|529)\b|overloaded|high demand|unavailable", message, re.IGNORECASE):
        return "is overloaded"
    return "could not answer"


def looks_transient(*texts: str) -> bool:
    message = "\n".join(text[-_LAST:] for text in texts)
    return not _PERMANENT.search(message) and bool(_TRANSIENT.search(message))
