"""`make torture`: only the tests that count attacks, in one run or in parts whose results add up to one table.

Each test leaves a record when it ends (`build/torture.jsonl`), so that a run which is cut loses nothing. The table is
the sum of all records. It is written to `docs/reliability.md` when every test has one and none has failed.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import pytest

from testing.attack_counts import AttackCount, counts_of, is_counted, table
from testing.long_forms import IS_TORTURE
from testing.reliability_table import write_table

_PROGRESS_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Record:
    """What one test counted, and how it ended. A failed test may have counted nothing."""

    test: str
    outcome: str
    seconds: float
    counts: list[AttackCount]


@dataclass(eq=False)  # pytest keeps plugins in sets
class Torture:
    """The plugin of pytest that selects the tests, keeps the records and prints the table."""

    config: pytest.Config
    started: float = field(default_factory=time.monotonic)
    # of this run: all that are selected, and reports of the tests that have not ended yet
    selected: int = 0
    ended: int = 0
    told: float = 0
    open_reports: dict[str, list[pytest.TestReport]] = field(default_factory=dict)
    done_before: list[str] | None = None

    @property
    def records_file(self) -> Path:
        return self.config.rootpath / "build" / "torture.jsonl"

    @property
    def names_file(self) -> Path:
        """The names of all tests that count, from the last time when all files were collected."""
        return self.config.rootpath / "build" / "torture-tests.json"

    @property
    def is_controller(self) -> bool:
        return not hasattr(self.config, "workerinput")

    def records(self) -> dict[str, Record]:
        """The last record of each test; a line that was cut is none."""
        found: dict[str, Record] = {}
        lines = self.records_file.read_text().splitlines() if self.records_file.exists() else []
        for line in lines:
            try:
                values = json.loads(line)
            except ValueError:
                continue
            values["counts"] = [AttackCount(*count) for count in values["counts"]]
            found[values["test"]] = Record(**values)
        return found

    def pytest_sessionstart(self) -> None:
        option = self.config.option
        if self.is_controller and not option.collectonly:
            self.records_file.parent.mkdir(exist_ok=True)
            if self._collects_all() and not option.part and not option.go_on and not option.keyword:
                self.records_file.unlink(missing_ok=True)

    # before -k, which must not make the list of all tests shorter
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        counted = [item for item in items if is_counted(item)]
        worker = getattr(self.config, "workerinput", {}).get("workerid", "gw0")
        if worker == "gw0" and self._collects_all() and not self.config.option.collectonly:
            self.names_file.parent.mkdir(exist_ok=True)
            self.names_file.write_text(json.dumps([item.nodeid for item in counted]))
        chosen = set(self._chosen(counted))
        self.config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]

    def _chosen(self, counted: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        part, parts = _part(self.config.option.part)
        done = self._done()
        for item in counted:
            if zlib.crc32(item.nodeid.encode()) % parts == part - 1 and item.nodeid not in done:
                yield item

    def _done(self) -> set[str]:
        if not self.config.option.go_on:
            return set()
        if (given := getattr(self.config, "workerinput", {}).get("torture_done")) is not None:
            return set(given)
        return {one.test for one in self.records().values() if one.outcome != "failed"}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: pytest.Item) -> None:
        """All processes of xdist must select the same tests, also if one starts while others have ended tests."""
        if self.done_before is None:
            self.done_before = sorted(self._done())
        node.workerinput["torture_done"] = self.done_before  # type: ignore[attr-defined]

    def _collects_all(self) -> bool:
        root = self.config.rootpath
        named = {(root / argument.partition("::")[0]).resolve() for argument in self.config.args}
        files = {file.resolve() for file in counting_files(root)}
        return bool(files) and all(file in named or any(folder in named for folder in file.parents) for file in files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.selected = len(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.selected = self.selected or len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not self.is_controller:
            return
        reports = self.open_reports.setdefault(report.nodeid, [])
        reports.append(report)
        if report.when == "teardown":
            self._keep(self.open_reports.pop(report.nodeid))

    def _keep(self, reports: list[pytest.TestReport]) -> None:
        outcomes = [report.outcome for report in reports]
        outcome = next((one for one in ("failed", "skipped") if one in outcomes), "passed")
        counts = [count for report in reports if report.when == "call" for count in counts_of(report)]
        record = Record(reports[0].nodeid, outcome, round(sum(report.duration for report in reports), 2), counts)
        with self.records_file.open("a") as file:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
        self.ended += 1
        if time.monotonic() - self.told >= _PROGRESS_SECONDS:
            self.told = time.monotonic()
            self._tell(f"{self.ended} of {self.selected} tests, {(self.told - self.started) / 60:.0f} min")

    def _tell(self, text: str) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(text)
            terminal.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        records = self.records()
        counts = [count for record in records.values() for count in record.counts]
        if not counts or self.config.option.collectonly:
            return
        terminalreporter.section("attacks")
        for line in table(counts):
            terminalreporter.write_line(line)
        failed = sum(record.outcome == "failed" for record in records.values())
        missing = self._missing(records)
        if failed or missing:
            terminalreporter.write_line(
                f"{failed} tests failed and {missing} did not run yet: `make torture ARGS=--go-on` runs these, "
                "and writes the page when none is left."
            )
        else:
            write_table(self.config.rootpath / "docs" / "reliability.md", counts, date.today())

    def _missing(self, records: dict[str, Record]) -> int:
        names = json.loads(self.names_file.read_text()) if self.names_file.exists() else []
        return len(set(names) - set(records))


def counting_files(root: Path) -> list[Path]:
    """Test files in which something counts attacks; `make torture` collects only these."""
    words = ("mark.attacks", "count_attacks")
    folder = root / "tests" if (root / "tests").is_dir() else root
    return [file for file in folder.rglob("test_*.py") if any(word in file.read_text() for word in words)]


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("torture", "make torture")
    group.addoption("--part", default="", metavar="N/M", help="part N of M of the tests that count attacks")
    group.addoption("--go-on", action="store_true", help="only tests that did not end, or failed, in earlier parts")


def _part(text: str) -> tuple[int, int]:
    if not text:
        return 1, 1
    part, slash, parts = text.partition("/")
    if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"--part {text}: use N/M, for example 2/4")
    return int(part), int(parts)


def register(config: pytest.Config) -> None:
    if IS_TORTURE:
        _part(config.option.part)
        config.pluginmanager.register(Torture(config), "burnish-torture")
