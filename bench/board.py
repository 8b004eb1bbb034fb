"""The board with a thousand tasks: time to the first card, from event to screen, of a move, memory of each window."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from websockets.sync.client import connect

from burnish.core.status import Status
from burnish.store import Store
from testing import boards
from testing.browser import browser, logged_in
from testing.lab import Lab
from testing.serving import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

TASKS = 1000
SOCKETS = 200
EVENTS = 60
MOVES = 20
# Remembers when each card first came to its place, and when it was last replaced, by the same clock as ours.
WATCH = """() => {
  window.seen = {};
  window.renewed = {};
  new MutationObserver((changes) => {
    const now = Date.now();
    const added = changes.flatMap((change) => [...change.addedNodes]);
    for (const one of added) if (one.dataset?.id) {
      window.seen[one.dataset.id] ??= now;
      window.renewed[one.dataset.id] = now;
    }
  }).observe(document.getElementById("board"), { childList: true, subtree: true });
}"""


@contextmanager
def a_board(tasks: int) -> Iterator[tuple[Served, Store, str]]:
    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as folder, ExitStack() as stack:
        lab = Lab.make(Path(folder) / "lab")
        store, key = boards.open_store(lab, branches=1000)
        stack.callback(store.close)
        boards.many(store, key, tasks)
        yield stack.enter_context(serving(lab)), store, key


def first_card(page: Page, address: str, times: int = 7) -> float:
    """From asking for the page until its first card is painted; the median."""
    taken = []
    for _ in range(times):
        page.goto(address, wait_until="commit")
        page.wait_for_selector(".card")
        taken.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0") / 1000)
        page.wait_for_selector('.connection[data-state="live"]')
    return statistics.median(taken)


def event_to_screen(page: Page, store: Store, key: str) -> list[float]:
    """Somebody else writes; how long until it is on the screen? Sorted."""
    page.evaluate(WATCH)
    moved: dict[int, float] = {}
    for task in store.tasks(key, statuses=[Status.BACKLOG])[:EVENTS]:
        boards.move(store, key, task.id, Status.CANCELLED)
        moved[task.id] = time.time() * 1000
        time.sleep(0.15)
    time.sleep(1)
    seen = page.evaluate("window.renewed")
    return sorted(float(seen[str(id)]) - at for id, at in moved.items())


def moves(page: Page) -> tuple[list[float], list[float]]:
    """A person cancels a task of the backlog by its menu; how long from the key to the card in its place, and until the
    server has confirmed it? Both sorted."""
    page.evaluate(WATCH)
    taken, confirmed = [], []
    for _ in range(MOVES):
        card = page.locator("#c-todo .card").first
        number = card.get_attribute("data-id")
        card.focus()
        page.keyboard.press("m")
        page.get_by_role("menuitem", name="Cancel").focus()
        page.evaluate("addEventListener('keydown', () => (window.pressed = Date.now()), { once: true, capture: true })")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#c-done #t{number}", state="attached")
        taken.append(float(page.evaluate(f"window.seen[{number}] - window.pressed")))
        page.wait_for_selector(f'#c-done #t{number}[data-status="cancelled"]', state="attached")
        confirmed.append(float(page.evaluate(f"window.renewed[{number}] - window.pressed")))
    return sorted(taken), sorted(confirmed)


def requests_of_second_page(page: Page, address: str) -> int:
    """How many requests a page makes whose files the browser has."""
    page.goto(address)
    page.wait_for_selector('.connection[data-state="live"]')
    page.wait_for_timeout(500)
    entries = page.evaluate("performance.getEntriesByType('resource').filter((one) => one.transferSize > 0).length")
    return 1 + int(entries)


def cpu(process: psutil.Process) -> float:
    """Seconds of the server so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def storm(page: Page, store: Store, key: str) -> int:
    """How many requests are made for 500 changes, one after the other."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/cards?" in request.url else None)
    chosen = [task.id for task in store.tasks(key, statuses=[Status.VERIFIED, Status.BACKLOG])][:500]
    for number in chosen:
        task = store.task(key, number)
        to = Status.COMPLETED if task.status is Status.VERIFIED else Status.CANCELLED
        boards.move(store, key, number, to)
    page.wait_for_selector(f"#c-done #t{number}", state="attached")
    page.wait_for_timeout(800)
    return len(asked)


def memory_per_window(served: Served, key: str) -> float:
    """Growth of the server with many open sockets, in kB for each."""
    server = psutil.Process(served.process.pid)
    address = f"{served.url.replace('http', 'ws', 1)}/ws?project={key}"
    headers = {"Authorization": f"Bearer {served.token}"}

    def opened(count: int, stack: ExitStack) -> None:
        for _ in range(count):
            socket = stack.enter_context(connect(address, additional_headers=headers, origin=None))
            socket.recv(timeout=10)

    with ExitStack() as stack:
        # the first ones bring what all of them share
        opened(20, stack)
        before = server.memory_info().rss
        opened(SOCKETS, stack)
        return (server.memory_info().rss - before) / SOCKETS / 1024


def main() -> None:
    with browser() as opened:
        with a_board(1) as (served, _, key), logged_in(opened, served, width=1600) as page:
            small = first_card(page, f"{served.url}/p/{key}")
        with a_board(TASKS) as (served, store, key), logged_in(opened, served, width=1600) as page:
            server = psutil.Process(served.process.pid)
            big = first_card(page, f"{served.url}/p/{key}")
            print(f"first card of {TASKS:,}: {big:.2f} s = {big / small:.1f} x a board of one (promise: 0.3 s)")
            before = cpu(server)
            late = event_to_screen(page, store, key)
            spent = (cpu(server) - before) / len(late) * 1000
            middle, worst = late[len(late) // 2], late[int(len(late) * 0.99)]
            print(f"event to screen: p50 {middle:.0f} ms, p99 {worst:.0f} ms of {len(late)} (promise: 150 ms)")
            print(f"  CPU of the server for each: {spent:.0f} ms")
            taken, confirmed = moves(page)
            print(f"a move: p50 {taken[len(taken) // 2]:.0f} ms, slowest {taken[-1]:.0f} ms (promise: 100 ms)")
            print(f"  confirmed: p50 {confirmed[len(confirmed) // 2]:.0f} ms, slowest {confirmed[-1]:.0f} ms")
            print(f"500 changes in a row: {storm(page, store, key)} requests")
            print(f"a second page: {requests_of_second_page(page, f'{served.url}/inbox')} requests (promise: 4)")
            print(f"memory of each open window: {memory_per_window(served, key):.0f} kB in the server")


if __name__ == "__main__":
    main()
