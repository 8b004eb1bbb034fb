"""Screenshots, videos and HTML that a check leaves: stored with the run, shown everywhere, never executed."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from burnish.checks.evidence import MAX_FILES, MAX_NAMED, evidence_kind
from testing.at_hand import at_hand
from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, Lab


def png(width: int = 8, height: int = 8, colour: bytes = b"\x10\x80\xf0") -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + colour * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


TOKEN = "ghp_" + "a1B2" * 9
# what a check in a browser would leave
SHOOT = f"""
import os, pathlib, sys
report, shots = pathlib.Path(sys.argv[1]), pathlib.Path("shots")
shots.mkdir(exist_ok=True)
(shots / "home.png").write_bytes(bytes.fromhex("{png().hex()}"))
(shots / "notes.txt").write_text("not a picture")
(shots / "secret.png").symlink_to("/etc/passwd")
(report / "index.html").write_text("<!doctype html><p>{TOKEN}</p><script>document.title = 'ran'</script>")
(report / "clip.webm").write_bytes(bytes.fromhex("1a45dfa39f4286810142828477656264") + b"webm" + bytes(99))
"""
SETTINGS = """
checks:
  test: off
  lint: off
  extra:
    pages:
      command: python3 shoot.py {report_dir}
      evidence: [shots/**, "{report_dir}/**"]
"""


def made(root: Path, *, confined: bool = False) -> Lab:
    lab = Lab.make(root, judge=APPROVE, extra=SETTINGS, confined=confined)
    lab.repo.commit({"shoot.py": SHOOT, "shots/old.png": ""}, "checks")
    lab.settle(SETTINGS)
    lab.add()
    lab.burnish("run", "1")
    return lab


def evidence(lab: Lab) -> dict[str, dict[str, Any]]:
    checks = lab.burnish("show", "1", "--json").json["cycles"][-1]["checks"]
    return {one["path"]: one for check in checks for one in check.get("evidence", ())}


@pytest.mark.slow
@pytest.mark.parametrize("confined", [False, True])
def test_what_a_check_leaves_is_stored_by_its_content(tmp_path: Path, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    lab = made(tmp_path, confined=confined)

    files = evidence(lab)

    assert {path: one["kind"] for path, one in files.items()} == {
        "shots/home.png": "png",
        "index.html": "html",
        "clip.webm": "webm",
        "shots/notes.txt": "",
        "shots/secret.png": "",
    }
    (stored,) = (tmp_path / "home").rglob(files["shots/home.png"]["name"])
    assert stored.read_bytes() == png()
    shown = lab.burnish("show", "1").out
    assert f"evidence shots/home.png: {stored}" in shown
    assert "evidence shots/notes.txt: not stored (not an image, a video or HTML)" in shown
    assert "evidence shots/secret.png: not stored (a link, or not a file)" in shown


@pytest.mark.slow
def test_the_server_shows_it_and_runs_nothing_of_it(tmp_path: Path) -> None:
    lab = made(tmp_path)
    files = evidence(lab)
    with at_hand(lab) as server:
        _, headers = server.browser()
        base = f"/api/v1/projects/{server.project}/tasks/1/evidence"
        page = server.client.get(f"/p/{server.project}/t/1", headers=headers)
        image = server.client.get(f"{base}/{files['shots/home.png']['name']}", headers=headers)
        html = server.client.get(f"{base}/{files['index.html']['name']}", headers=headers)
        address = f"{base}/{files['shots/home.png']['name']}"
        parts = {
            wanted: server.client.get(address, headers={**headers, "Range": wanted})
            for wanted in ("bytes=1-3", "bytes=4-", "bytes=-4", "bytes=999999-", "bytes=0-1,3-4", "bytes=3-1", "x")
        }
        others = [
            server.client.get(f"{base}/{name}", headers=headers).status_code
            for name in ("0" * 64 + ".png", "..%2f..%2fburnish.db", "stdout")
        ]

    assert f'<img src="{base}/{files["shots/home.png"]["name"]}"' in page.text and "<video src=" in page.text
    assert image.content == png() and image.headers["content-type"] == "image/png"
    # a player seeks in a video with ranges; a form that is not known gets the whole file
    assert [part.status_code for part in parts.values()] == [206, 206, 206, 416, 200, 200, 200]
    whole = png()
    assert [part.content for part in parts.values()][:3] == [whole[1:4], whole[4:], whole[-4:]]
    assert parts["bytes=1-3"].headers["content-range"] == f"bytes 1-3/{len(whole)}"
    assert "sandbox" in parts["bytes=1-3"].headers["content-security-policy"]
    assert TOKEN not in html.text and "<script>" in html.text
    policy = html.headers["content-security-policy"]
    assert "sandbox" in policy and "allow-" not in policy and "default-src 'none'" in policy
    assert html.headers["x-content-type-options"] == "nosniff"
    assert others == [404, 404, 404]


@pytest.mark.slow
def test_the_html_report_holds_the_screenshots(tmp_path: Path) -> None:
    lab = made(tmp_path)

    html = lab.burnish("export", "1", "--format", "html").out
    markdown = lab.burnish("export", "1", "--format", "markdown").out

    assert f"data:image/png;base64,{base64.b64encode(png()).decode()}" in html
    assert "index.html (not in this file)" in html and "<script" not in html
    assert "Evidence: clip.webm, index.html, shots/home.png, shots/notes.txt (not stored)" in markdown


@pytest.mark.slow
def test_a_check_that_fails_keeps_its_evidence_and_a_flood_is_limited(tmp_path: Path) -> None:
    lab = made(tmp_path)
    flood = (
        SHOOT
        + f"""
for number in range({MAX_FILES + MAX_NAMED + 5}):
    (shots / f"z{{number}}.png").write_bytes(bytes.fromhex("{png().hex()}")[:-12] + bytes([number]) + b"x" * 40)
sys.exit(1)
"""
    )
    lab.repo.commit({"shoot.py": flood}, "more")
    lab.add("Add a root")
    lab.burnish("run", "2", code=1)

    checks = lab.burnish("show", "2", "--json").json["cycles"][-1]["checks"]
    (files,) = [check["evidence"] for check in checks]
    not_stored = [one for one in files if not one["name"]]
    assert len(files) - len(not_stored) == MAX_FILES and len(not_stored) == MAX_NAMED + 1
    assert not_stored[-1]["path"].endswith(" more") and not_stored[-1]["reason"] == "a check keeps 20 files at most"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(), "png"),
        (b"\0\0\0\x18ftypmp42" + bytes(40), "mp4"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", "webm"),
        (b"\n<!-- report --><!DOCTYPE html>\n<p>", "html"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", None),
        (b"%PDF-1.7", None),
        (b"#!/bin/sh\n# <html>", None),
        (b"", None),
    ],
)
def test_types_are_recognised_by_content(data: bytes, kind: str | None) -> None:
    assert evidence_kind(data) == kind


def test_a_pattern_outside_of_the_repository_is_refused(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=SETTINGS.replace("shots/**", "../**"))

    refused = lab.burnish("config", "show", code=2)

    assert "evidence" in refused.err and "relative to the repository" in refused.err
