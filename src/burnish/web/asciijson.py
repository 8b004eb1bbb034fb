"""JSON in ASCII: file names can contain lone surrogates, which UTF-8 cannot encode."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


def dumped(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))


class AsciiJson(JSONResponse):
    def render(self, content: Any) -> bytes:
        return dumped(content).encode()
