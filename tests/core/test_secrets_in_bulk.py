"""A text with very many secrets takes a time that grows with its length, not with the square of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from burnish.core.secrets import Secrets

VALUE = "q7Rt2Lx9Vb4Nm1Zk8Wp3"
SECRETS = Secrets.of({"SERVICE_TOKEN": VALUE})
KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
LINES = {
    "value": f"{VALUE} ",
    "key": f"{KEY}\n",
    "split": "\x1b[1m".join((KEY[:10], KEY[10:20], KEY[20:])) + "\n",
    "assigned": f"password = '{KEY[4:30]}'\n",
    "escaped": KEY.replace("h", "\\u0068") + "\n",
}


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("verb", ["redact", "find", "find_new"])
def test_eight_times_the_secrets_take_about_eight_times_as_long(line: str, verb: str) -> None:
    work = getattr(SECRETS, verb)
    small, large = line * 1000, line * 8000
    ratio = seconds(lambda: work(large)) / seconds(lambda: work(small))
    assert ratio < 24, f"{ratio:.0f} times as long; 64 would be quadratic"


# so that every way to read a text without codes looks at it
CODES = "\x1b[0mx \x9bm \u200b %2F \\u0041 \\u001b[0m a&shy;b \\/ x\x08 \\n <b>\n"
ROWS = (
    "\\",
    "\\u00",
    "\\x",
    "\\033[",
    "%",
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x9b",
    "<",
    "<!--",
    "&",
    "*",
    "`",
    "~",
    "^[[",
    "=",
    "-",
    "eyJ.",
)


@pytest.mark.parametrize("codes", ["", CODES], ids=["plain", "codes"])
@pytest.mark.parametrize("unit", ROWS)
def test_a_row_of_one_sign_takes_a_time_that_grows_with_its_length(unit: str, codes: str) -> None:
    small, large = (codes + unit * (length // len(unit)) + " x" for length in (2_500, 20_000))
    ratio = seconds(lambda: SECRETS.redact(large)) / max(seconds(lambda: SECRETS.redact(small)), 0.002)
    assert ratio < 32, f"{ratio:.0f} times as long; 64 would be quadratic"


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_each_of_many_is_found_and_redacted(line: str) -> None:
    text = line * 500
    redacted = SECRETS.redact(text)
    assert redacted.count("[secret: ") == 500
    assert VALUE not in redacted and KEY[4:20] not in redacted
    assert len(SECRETS.spans(text)) == 500
    assert len(SECRETS.find(text)) == (500 if "\n" in line else 1)
