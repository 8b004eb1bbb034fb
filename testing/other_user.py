"""Run a function as a user without root's rights, also where the tests run as root."""

from __future__ import annotations

import os
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
NOBODY = 65534


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory of that user's own, which pytest's temporary directories are not."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def as_ordinary_user(work: Callable[[], T]) -> T:
    """What `work` returns or raises, in a child process without privileges."""
    if os.geteuid() != 0:
        return work()
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads
        child = os.fork()
    if child == 0:
        _work_and_exit(work, write)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    result, error = pickle.loads(data)
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def _work_and_exit(work: Callable[[], T], write: int) -> None:
    answer: tuple[object, BaseException | None]
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.chdir("/")
        answer = (work(), None)
    except BaseException as error:
        answer = (None, AssertionError(f"{type(error).__name__}: {error}"))
    with os.fdopen(write, "wb") as pipe:
        pipe.write(pickle.dumps(answer))
    os._exit(0)
