"""The files of the pages. Their URL has a hash of all of them, so a browser keeps them until one changes."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).with_name("static")


@cache
def static_prefix() -> str:
    """`/static/<hash>`. Modules import each other by relative paths, so one prefix serves all."""
    digest = sha256()
    for path in sorted(FOLDER.iterdir()):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return f"/static/{digest.hexdigest()[:16]}"


class ImmutableFiles(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        # the content never changes at this URL; private: it is behind the login
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response
