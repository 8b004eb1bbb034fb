"""JSON in ASCII: the name of a file need not be text, and half a character must not be the end of an answer."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


def dumped(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


class AsciiJson(JSONResponse):
    def render(self, content: Any) -> bytes:
        return dumped(content).encode()
