"""Messages of programs whose plan is used up, and the time at which they may be asked again."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.agents.usage_limits import MAX_WAIT, is_usage_limit, reset_time

BERLIN = ZoneInfo("Europe/Berlin")
# a Tuesday, in the evening
NOW = datetime(2026, 11, 17, 22, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("message", "want"),
    [
        ("You've hit your session limit · resets 3am", "2026-11-18 03:00"),
        ("You've hit your session limit · resets 11:15pm", "2026-11-17 23:15"),
        ("You've hit your limit · resets 10:30pm", "2026-11-18 22:30"),
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
        "",
    ],
)
def test_other_failures_are_not_limits_of_a_plan(message: str) -> None:
    assert not is_usage_limit(message)


@given(st.text(st.sampled_from("resets again in at 0123456789:,|TZ-ampm(UTC)dhmsNov "), max_size=60))
def test_no_message_makes_the_reader_fail_or_wait_for_ever(message: str) -> None:
    found = reset_time(message, NOW)
    assert found is None or NOW <= found <= NOW + MAX_WAIT + timedelta(seconds=1)
