"""Usage limits of logins, and the used shares of their plans. They are not events: they end by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from burnish.store.database import SHARED, Database

if TYPE_CHECKING:
    from burnish.core.agent import PlanWindow, UsageLimit


@dataclass(frozen=True, slots=True)
class LimitRecords:
    """What all runners share."""

    _db: Database

    def usage_limits(self) -> list[UsageLimit]:
        """Those that are on record, the next one to end first."""
        found = self._db.all("limit_list", {})
        if not found:
            # `status --json` asks, and must start fast
            return []
        from burnish.core.agent import UsageLimit

        return [UsageLimit(r["login"], r["until"], bool(r["is_known"]), r["message"], r["since"]) for r in found]

    def current_limits(self, now: datetime) -> list[UsageLimit]:
        return [one for one in self.usage_limits() if one.end > now]

    def begin_usage_limit(self, limit: UsageLimit) -> None:
        """Record or extend a limit; `since` stays that of its beginning."""
        values: dict[str, str | int | float | None] = {"login": limit.login, "until": limit.until, "since": limit.since}
        with self._db.writing(SHARED):
            self._db.all("limit_set", {**values, "is_known": int(limit.is_known), "message": limit.message})

    def clear_usage_limits(self, name: str) -> bool:
        """End the limit of a login, or those of all logins of a program; False if there was none."""
        names = [one.login for one in self.usage_limits() if name in (one.login, one.login.partition(" (")[0])]
        for login in names:
            self.end_usage_limit(login)
            with self._db.writing(SHARED):
                # else they would begin the limit again
                self._db.all("window_end", {"login": login})
        return bool(names)

    def all_plan_windows(self) -> list[tuple[str, PlanWindow]]:
        """Each with its login, the one that is used most first."""
        from burnish.core.agent import PlanWindow

        found = self._db.all("window_list", {})
        return [(str(row["login"]), PlanWindow(row["name"], float(row["share"]), row["until"])) for row in found]

    def current_windows(self, now: datetime) -> list[tuple[str, PlanWindow]]:
        """Those that were not reset yet, each with its login."""
        return [(login, one) for login, one in self.all_plan_windows() if one.end > now]

    def plan_windows(self, login: str) -> list[PlanWindow]:
        return [window for name, window in self.all_plan_windows() if name == login]

    def set_plan_windows(self, login: str, windows: Sequence[PlanWindow], now: str) -> None:
        """Record what a login has used; within a window, that only grows. Those that were reset are removed."""
        with self._db.writing(SHARED):
            self._db.all("window_expire", {"now": now})
            for one in windows:
                values: dict[str, str | float] = {"login": login, "name": one.name, "until": one.until}
                self._db.all("window_set", {**values, "share": one.share})

    def end_usage_limit(self, login: str) -> bool:
        """False if the login had no limit."""
        with self._db.writing(SHARED):
            return bool(self._db.all("limit_end", {"login": login}))
