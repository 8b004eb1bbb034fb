"""The page for a browser that is not logged in. It loads nothing: files are behind the login, too."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape

from burnish.web.auth import LOGIN, STRANGER, Refusal

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; min-height: 90vh; display: grid; place-items: center;
  font: 16px/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText; }
main { max-width: 34rem; padding: 24px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 12px; }
code { padding: 2px 6px; border-radius: 4px; background: color-mix(in srgb, CanvasText 10%, Canvas); }
.brand { font-weight: 700; margin: 0 0 24px; }
a { display: inline-block; min-height: 24px; color: LinkText; }
form { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; margin: 24px 0; }
label { flex: 1 1 16rem; }
input { box-sizing: border-box; width: 100%; }
input, button { font: inherit; padding: 6px 12px; min-height: 36px; }
"""
LOGIN_PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
LOGIN_PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": LOGIN_PAGE_POLICY,
    # with no-referrer, a browser sends the form with `Origin: null`
    "referrer-policy": "same-origin",
}


def login_page(refusal: Refusal, *, was_tried: bool = False) -> bytes:
    """The page says what is wrong only if a token `was_tried`: who comes for the first time has made no mistake."""
    what = "Log in" if refusal is STRANGER and not was_tried else escape(refusal.what)
    hint = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(refusal.hint))
    ways = [hint]
    if refusal.status == 401:
        if refusal is STRANGER:
            ways.append("If you no longer have it, start the server again with <code>burnish serve --open</code>.")
        ways.append('Logged in in another tab? <a href="">Reload this page</a>.')
    text = "".join(f"<p>{way}</p>" for way in ways)
    if refusal.status == 401:
        text += _TOKEN_FORM
    return _html(what, text)


_TOKEN_FORM = (
    f'<form method="post" action="{LOGIN}"><label>Your token'
    '<input name="token" type="password" autocomplete="current-password" required autofocus></label>'
    "<button>Log in</button></form>"
)


def link_page(name: str, code: str) -> bytes:
    """The page of a one-time link, with the button that uses it."""
    form = (
        f'<form method="post" action="{LOGIN}"><input name="link" type="hidden" value="{escape(code)}">'
        f"<button autofocus>Log in as {escape(name)}</button></form>"
    )
    return _html("Log in", f"<p>This link works once.</p>{form}")


def _html(what: str, text: str) -> bytes:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{what} · burnish</title><style>{_STYLE}</style></head>"
        f'<body><main><p class="brand">burnish</p><h1>{what}</h1>{text}</main></body></html>'
    ).encode()
