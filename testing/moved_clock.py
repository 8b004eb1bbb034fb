"""A wrong clock for whole processes: a small library, loaded before all others, moves the time of day.

libfaketime does more, and breaks sleeps on the clock that never jumps, which DBOS uses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long offset(void) { const char *text = getenv("MOVED_CLOCK"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, out);
    if (!result && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) out->tv_sec += offset();
    return result;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""


def moved_clock(folder: Path, seconds: int) -> dict[str, str]:
    """The variables of a process whose clock differs by so many seconds. Skips the test without a C compiler."""
    if not seconds:
        return {}
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail("there is no C compiler")
        pytest.skip("there is no C compiler")
    library, source = folder / "moved_clock.so", folder / "moved_clock.c"
    if not library.exists():
        source.write_text(SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "MOVED_CLOCK": str(seconds)}
