"""Reads the database files into memory, where SQLite could not open them without writing.

SQLite needs a writable folder for the shared memory of a write-ahead log, and waits for locks. Commands that only read
must also work with a read-only home, a full disk or a locked database. So the database file is read, and the committed
transactions of the write-ahead log are applied to it (https://sqlite.org/fileformat.html section 4).
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from pathlib import Path

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = (0x377F0682, 0x377F0683)
_TRIES = 20


def open_image(path: Path) -> sqlite3.Connection:
    """A connection to a copy in memory, in the state of the last committed transaction."""
    data = _consistent(path)
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if data:
        # versions of the file format: 2 means a write-ahead log, which an in-memory database cannot have
        data[18:20] = b"\x01\x01"
        connection.deserialize(bytes(data))
    return connection


def _consistent(path: Path) -> bytearray:
    """A consistent state of database and log; reads again if a checkpoint moved pages meanwhile."""
    log = path.with_name(path.name + "-wal")
    for _ in range(_TRIES):
        before = _state(path), _state(log)
        data, frames = bytearray(path.read_bytes()), _read(log)
        if (_state(path), _state(log)) == before:
            break
        time.sleep(0.05)
    apply_log(data, frames)
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def apply_log(data: bytearray, log: bytes) -> None:
    """Write the pages of all committed transactions of the log into the database."""
    if len(log) < _HEADER.size:
        return
    magic, _version, page_size, _number, salt1, salt2, sum1, sum2 = _HEADER.unpack_from(log)
    order = ">" if magic == _MAGIC[1] else "<"
    state = _checksum(order, log[:24], (0, 0))
    if magic not in _MAGIC or state != (sum1, sum2):
        return
    pending: dict[int, bytes] = {}
    at = _HEADER.size
    while at + _FRAME.size + page_size <= len(log):
        page, commit, frame_salt1, frame_salt2, sum1, sum2 = _FRAME.unpack_from(log, at)
        content = log[at + _FRAME.size : at + _FRAME.size + page_size]
        state = _checksum(order, content, _checksum(order, log[at : at + 8], state))
        if (frame_salt1, frame_salt2) != (salt1, salt2) or state != (sum1, sum2):
            return
        pending[page] = content
        if commit:
            _write_pages(data, pending, page_size, commit)
            pending = {}
        at += _FRAME.size + page_size


def _write_pages(data: bytearray, pages: dict[int, bytes], page_size: int, count: int) -> None:
    """Write the pages. `count`: number of pages of the database after the transaction."""
    size = count * page_size
    if len(data) < size:
        data.extend(bytes(size - len(data)))
    del data[size:]
    for page, content in pages.items():
        start = (page - 1) * page_size
        data[start : start + page_size] = content


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    one, two = start
    for first, second in struct.iter_unpack(f"{order}2I", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
