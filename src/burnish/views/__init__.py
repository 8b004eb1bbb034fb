"""Data for the CLI and the web pages, built once for both."""

from burnish.views.filters import pick
from burnish.views.status import StatusLine, StatusView, Summary, status_line, status_rows, status_view, summary
from burnish.views.task import event_json, finding_json, review_json, show_json, task_json

__all__ = [
    "StatusLine",
    "StatusView",
    "Summary",
    "event_json",
    "finding_json",
    "pick",
    "review_json",
    "show_json",
    "status_line",
    "status_rows",
    "status_view",
    "summary",
    "task_json",
]
