"""Hours in which burnish is quiet, such as `22:00-07:00` of the user's local time."""

from __future__ import annotations

from datetime import datetime, time, timedelta


def is_quiet(now: time, hours: str | None) -> bool:
    """Whether `now` is in `hours` (`22:00-07:00`, without the end); equal times mean the whole day."""
    if not hours:
        return False
    start, end = (time.fromisoformat(part) for part in hours.split("-"))
    now = now.replace(second=0, microsecond=0, tzinfo=None)
    if start < end:
        return start <= now < end
    return now >= start or now < end


def after_quiet_hours(moment: datetime, hours: str | None) -> datetime:
    """The moment itself, or the end of the quiet hours that it is in."""
    if hours is None or not is_quiet(moment.time(), hours):
        return moment
    end = time.fromisoformat(hours.split("-")[1])
    then = moment.replace(hour=end.hour, minute=end.minute, second=0, microsecond=0)
    return then if then > moment else then + timedelta(days=1)
