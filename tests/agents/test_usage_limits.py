"""Messages of programs whose plan is used up, and the time at which they may be asked again."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.copilot import CopilotAgent
from burnish.agents.failure import failure, missing_answer
from burnish.agents.limit_wait import LimitWait, login_of
from burnish.agents.usage_limits import MAX_WAIT, is_usage_limit, reset_time
from burnish.core.agent import UsageLimit

BERLIN = ZoneInfo("Europe/Berlin")
# a Tuesday, in the evening
NOW = datetime(2026, 11, 17, 22, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("message", "want"),
    [
        ("You've hit your session limit · resets 3am", "2026-11-18 03:00"),
        ("You've hit your session limit · resets 11:15pm", "2026-11-17 23:15"),
        ("You've hit your limit · resets 10:15pm", "2026-11-18 22:15"),
        # the reset is late
        ("You've hit your limit · resets 10:25pm", "2026-11-17 22:30"),
        ("You've hit your limit · resets tomorrow at 3am", "2026-11-18 03:00"),
        ("Limit reached · resets 3am · /upgrade to Max", "2026-11-18 03:00"),
        (
            "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit "
            "https://chatgpt.com/codex/settings/usage to purchase more credits or try again at 3:04 AM.",
            "2026-11-18 03:04",
        ),
        (
            "[API Error: You exceeded your current quota, please check your plan and billing details. * Quota exceeded "
            "for metric: free_tier_requests, limit: 250 Please retry in 34.07s.]",
            "2026-11-17 22:30",
        ),
        ("Sorry, you've hit a rate limit that restricts requests. Please try again in 2 hours.", "2026-11-18 00:30"),
        ("Sorry, you've hit a rate limit that restricts requests. Please try again in 48 minutes.", "2026-11-17 23:18"),
        ("Sorry, you've hit a global rate limit. Please try again in 2 hours.", "2026-11-18 00:30"),
        ("429 Too Many Requests (retry-after: 7200)", "2026-11-18 00:30"),
        ("You've hit your usage limit. Upgrade to Pro or try again in less than a minute.", "2026-11-17 22:31"),
        ("You've hit your usage limit. Please try again in an hour.", "2026-11-17 23:30"),
        ("Number of request tokens has exceeded your per-minute rate limit", "2026-11-17 22:31"),
        ("Quota exceeded for quota metric 'Generate requests' and limit 'requests per minute'", "2026-11-17 22:31"),
        ('{"type": "usage_limit_reached", "resets_in_seconds": 3600}', "2026-11-17 23:30"),
        ("Your limit will reset at 3am (America/Los_Angeles). usage limit reached", "2026-11-18 12:00"),
        ("You've hit your weekly limit · resets Nov 20, 9am", "2026-11-20 09:00"),
        ("You've hit your weekly limit · resets Friday 9am (UTC)", "2026-11-20 10:00"),
        ("You've reached your weekly limit, resets Tuesday 9am", "2026-11-24 09:00"),
        ("Claude AI usage limit reached|1794970800", "2026-11-18 04:00"),
        ("You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.", "2026-11-21 02:35"),
        ("You've hit your usage limit. Upgrade, or try again at Nov 20th, 2026 3:04 PM.", "2026-11-20 15:04"),
        ("You have exceeded your current quota. Please retry in 34.07s.", "2026-11-17 22:30"),
        ("You have exhausted your capacity on this model. Your quota will reset after 10h30m.", "2026-11-18 09:00"),
        ("usage limit reached, retry-after: 3600", "2026-11-17 23:30"),
        ("Usage limit reached until 2026-11-18T05:00:00Z", "2026-11-18 06:00"),
        ("You have exceeded your premium request allowance for this month, resets Dec 1", "2026-11-25 22:30"),
        ("You've hit your usage limit, resets Jan 1 at 00:30", "2026-11-25 22:30"),
    ],
)
def test_the_time_of_the_reset_is_read_with_zone_and_date(message: str, want: str) -> None:
    assert is_usage_limit(message)
    found = reset_time(message, NOW)
    assert found is not None and found.astimezone(BERLIN).strftime("%Y-%m-%d %H:%M") == want


def test_the_number_that_stands_for_the_time_is_not_shown() -> None:
    found = failure("claude", "Claude AI usage limit reached|1794970800", is_program_error=True)
    assert found.what == "claude failed: Claude AI usage limit reached."
    assert found.limit.endswith("|1794970800")
    assert failure("claude", "no such file: a|1794970800").what == "claude failed: no such file: a|1794970800."


@pytest.mark.parametrize(
    "message", ["Claude usage limit reached.", "You've hit your limit, resets soon", "quota exceeded"]
)
def test_an_unknown_time_is_none(message: str) -> None:
    assert is_usage_limit(message) and reset_time(message, NOW) is None


@pytest.mark.parametrize(
    "message",
    [
        "429 Too Many Requests",
        "Rate limit exceeded, slow down",
        "Your credit balance is too low: usage limit",
        "You exceeded your current quota, please check your plan and billing details (insufficient_quota)",
        "the retry limit of the upload should be 3",
        "exit code 1: AssertionError: usage limit reached",
        "exit code 1: FAILED tests/test_plan.py::test_weekly_limit - 3 == 4",
        "exceeded your current token limit of the context window",
        "Quota exceeded. Check your plan and billing details.",
        "Sorry, you've hit a rate limit. Please try again in 20 seconds.",
        "429 Too Many Requests (retry-after: 20)",
        "This request would exceed your account's rate limit of 50,000 tokens per minute. Please try again later.",
        "",
    ],
)
def test_other_failures_are_not_limits_of_a_plan(message: str) -> None:
    assert not is_usage_limit(message)


@given(st.text(st.sampled_from("resets again in at 0123456789:,|TZ-ampm(UTC)dhmsNov "), max_size=60))
def test_no_message_makes_the_reader_fail_or_wait_for_ever(message: str) -> None:
    found = reset_time(message, NOW)
    assert found is None or NOW <= found <= NOW + MAX_WAIT + timedelta(seconds=1)


def test_a_time_of_day_is_that_of_the_wall_clock_when_the_clocks_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        # the night in which summer time ends
        now = datetime(2026, 10, 24, 22, 30, tzinfo=BERLIN).astimezone(UTC).astimezone()
        found = reset_time("You've hit your session limit · resets 6am", now)
        assert found is not None and found.astimezone(BERLIN).strftime("%d %H:%M") == "25 06:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("stdout", "stderr", "is_limit"),
    [
        ('{"type": "assistant", "text": "the test says: usage limit reached, resets 3am"}', "", False),
        ("Claude AI usage limit reached|1794970800", "", True),
        ("", "You've hit your session limit · resets 3am", True),
    ],
)
def test_what_the_model_wrote_in_an_event_is_not_a_limit(stdout: str, stderr: str, is_limit: bool) -> None:
    call = FinishedCall(exit_code=1, signal=None, ended="exit", stdout=stdout, stderr=stderr)
    assert bool(missing_answer("claude", call).limit) is is_limit


def test_a_reset_at_the_end_of_a_long_message_is_read() -> None:
    message = f"Quota exceeded. {'See the page. ' * 40} Please retry in 2 hours."
    found = failure("gemini", message, is_program_error=True).limit
    assert reset_time(found, NOW) == NOW + timedelta(hours=2)


class Limits:
    """The limits on record."""

    def __init__(self) -> None:
        self.rows: dict[str, UsageLimit] = {}

    def usage_limits(self) -> list[UsageLimit]:
        return list(self.rows.values())

    def begin_usage_limit(self, limit: UsageLimit) -> None:
        self.rows[limit.login] = limit

    def end_usage_limit(self, login: str) -> bool:
        return self.rows.pop(login, None) is not None


def test_a_limit_that_lasts_too_long_fails_but_one_of_another_month_is_a_new_one() -> None:
    now = [NOW]
    wait = LimitWait(Limits(), clock=lambda: now[0])
    claude, report = AgentSettings("claude", "claude"), AgentFailure("", limit="usage limit reached")
    assert wait.begin(claude, report)
    # nothing was run meanwhile
    now[0] += timedelta(days=30)
    limit = wait.begin(claude, report)
    assert limit and datetime.fromisoformat(limit.since) == now[0]
    while limit and now[0] < NOW + timedelta(days=60):
        now[0] = limit.end
        limit = wait.begin(claude, report)
    assert limit is None and now[0] - NOW < timedelta(days=39)


@pytest.mark.parametrize(
    ("hours", "message", "end", "is_known"),
    [
        # the clock shows 12:00
        ("22:00-07:00", "resets 3am", "07:00", False),
        ("22:00-07:00", "resets 8am", "08:00", True),
        ("22:00-03:00", "resets 3am", "03:00", True),
        ("11:00-18:30", "usage limit reached", "18:30", False),
        ("12:30-13:00", "usage limit reached", "12:20", False),
        (None, "resets 3am", "03:00", True),
    ],
)
def test_no_limit_ends_in_quiet_hours(hours: str | None, message: str, end: str, is_known: bool) -> None:
    noon = NOW.replace(hour=12, minute=0, second=0)
    wait = LimitWait(Limits(), clock=lambda: noon, quiet_hours=hours)
    limit = wait.begin(AgentSettings("claude", "claude"), AgentFailure("", limit=message))
    assert limit and (f"{limit.end.astimezone(noon.tzinfo):%H:%M}", limit.is_known) == (end, is_known)
    assert noon < limit.end < noon + timedelta(days=1)


def test_a_program_whose_reset_has_passed_is_asked_once_a_minute() -> None:
    limit = LimitWait(Limits(), clock=lambda: NOW).begin(
        AgentSettings("claude", "claude"), AgentFailure("", limit="Claude AI usage limit reached|1794000000")
    )
    assert limit and limit.end - NOW == timedelta(minutes=1)


def test_copilot_is_ended_at_the_first_report_of_a_limit_of_the_plan() -> None:
    def events(message: str) -> str:
        data = {"retryAttempt": 0, "statusCode": 429, "errorMessage": json.dumps({"message": message})}
        return json.dumps({"type": "model.call_failure", "data": data})

    found = CopilotAgent().abort_reason(events("You have exceeded your premium request allowance. Resets Dec 1"), "")
    assert found and found.limit == "You have exceeded your premium request allowance. Resets Dec 1"
    assert CopilotAgent().abort_reason(events("slow down"), "") is None


@pytest.mark.parametrize(
    ("env", "want"),
    [
        ({}, "claude"),
        ({"CLAUDE_CONFIG_DIR": "/home/me/.claude"}, "claude"),
        ({"CLAUDE_CONFIG_DIR": "/home/me/.claude-work"}, "claude (~/.claude-work)"),
        ({"CLAUDE_CONFIG_DIR": "/opt/login"}, "claude (/opt/login)"),
        ({"ANTHROPIC_API_KEY": "sk-one"}, r"claude \(ANTHROPIC_API_KEY [0-9a-f]{6}\)"),
        ({"ANTHROPIC_BASE_URL": "http://gateway"}, r"claude \(ANTHROPIC_BASE_URL [0-9a-f]{6}\)"),
    ],
)
def test_each_login_of_a_program_has_its_own_name(env: dict[str, str], want: str) -> None:
    found = login_of(AgentSettings("author", "claude"), {"HOME": "/home/me", **env})
    assert found == want or re.fullmatch(want, found), found
    assert "sk-one" not in found


def test_two_keys_are_two_logins() -> None:
    entry = AgentSettings("author", "claude")
    assert login_of(entry, {"ANTHROPIC_API_KEY": "sk-one"}) != login_of(entry, {"ANTHROPIC_API_KEY": "sk-two"})
    assert login_of(AgentSettings("tool", "command"), {"ANTHROPIC_API_KEY": "sk-one"}) == "tool"


def test_a_call_that_was_under_way_when_the_limit_was_reported_does_not_end_it() -> None:
    now = [NOW]
    limits = Limits()
    wait = LimitWait(limits, clock=lambda: now[0])
    claude = AgentSettings("claude", "claude")
    assert wait.begin(claude, AgentFailure("", limit="You've hit your session limit · resets 3am"))
    wait.end(claude)
    assert wait.current(claude) is not None
    now[0] += timedelta(hours=5)
    wait.end(claude)
    assert limits.rows == {}
