"""Places of a run: how many tasks are worked on at a time, and who gets the next place."""

from __future__ import annotations

import threading

from burnish.engine.worker_slots import WorkerSlots


def test_a_task_whose_wait_has_ended_goes_on_before_another_one_begins() -> None:
    slots, order = WorkerSlots(limit=1), list[str]()
    waits, is_reset, has_begun = threading.Event(), threading.Event(), threading.Event()

    def limited() -> None:
        with slots.place():
            with slots.idle(1):
                waits.set()
                is_reset.wait(10)
            order.append("limited")

    def others() -> None:
        for number in range(3):
            with slots.place():
                order.append(f"other {number}")
                has_begun.set()
                if number == 0:
                    is_reset.set()
                    while not slots.return_count:
                        pass

    first = threading.Thread(target=limited)
    first.start()
    assert waits.wait(10)
    second = threading.Thread(target=others)
    second.start()
    for thread in (first, second):
        thread.join(10)
    assert order == ["other 0", "limited", "other 1", "other 2"] and slots.busy == 0


def test_a_task_that_is_stopped_waits_for_no_place() -> None:
    slots, is_stopped = WorkerSlots(limit=1), threading.Event()
    waits, is_over = threading.Event(), threading.Event()

    def limited() -> None:
        with slots.place(), slots.idle(1, is_stopped.is_set):
            waits.set()
            is_over.wait(10)

    thread = threading.Thread(target=limited)
    thread.start()
    assert waits.wait(10)
    with slots.place():
        is_over.set()
        thread.join(0.5)
        # another task has the only place
        assert thread.is_alive() and slots.return_count == 1
        is_stopped.set()
        thread.join(5)
        assert not thread.is_alive()
    assert (slots.busy, slots.return_count) == (0, 0)
