"""Images in descriptions of tasks: stored by content, shown, and given to the author."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentSettings
from burnish.agents.codex import CodexAgent
from burnish.core.agent import AgentRequest
from burnish.core.images import image_kind, image_names, image_reference
from burnish.web.pages.markdown import markdown
from testing.at_hand import AtHand, at_hand
from testing.browser import browser, logged_in
from testing.bubblewrap import needs_bubblewrap
from testing.lab import APPROVE, AUTHOR, Lab
from testing.serving import serving

LOOKS = """
place = pathlib.Path(prompt.rpartition(" is ")[2].split()[0])
here["size"], here["beside"] = len(place.read_bytes()), os.listdir(place.parent)
try:
    place.write_bytes(b"x")
except OSError as error:
    here["written"] = error.strerror
"""


def png(side: int = 2, shade: int = 120) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([shade]) * side for _ in range(min(side, 200)))
    head = struct.pack(">IIBBBBB", side, min(side, 200), 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.fixture
def lab(tmp_path: Path, hermetic: object) -> Lab:
    return Lab.make(tmp_path, judge=APPROVE)


def upload(server: AtHand, data: bytes, label: str = "form") -> Any:
    return server.api("POST", "/images", {"data": base64.b64encode(data).decode(), "label": label})


def test_an_image_of_a_new_task_is_stored_shown_and_named_to_the_author(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "the $(form) ](x.png"
    file.write_bytes(png())
    lab.burnish("add", "Add division", "-d", "As shown.", "--image", str(file))
    description = str(lab.show(1)["description"])
    (name,) = image_names(description)
    stored = Path(lab.env["BURNISH_HOME"]) / "images" / name
    assert stored.read_bytes() == png() and stored.stat().st_mode & 0o077 == 0
    lab.burnish("run", "1", code=None)
    (prompt,) = [call["prompt"] for call in lab.calls() if call["phase"] == "implement"]
    assert f"burnish-image:{name} is {stored}" in prompt
    (prompt,) = [call["prompt"] for call in lab.calls() if call["phase"] == "review"]
    assert f"burnish-image:{name} is {stored}" in prompt
    with at_hand(lab) as server:
        shown = server.api("GET", f"/images/{name}")
        assert shown.content == png() and shown.headers["content-type"] == "image/png"
        assert shown.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert shown.headers["x-content-type-options"] == "nosniff"
        _, headers = server.browser()
        html = server.client.get(f"/p/{server.project}/t/1", headers=headers).text
        assert f'src="/api/v1/images/{name}"' in html
        assert server.client.get(f"/api/v1/images/{name}").status_code == 401, "only after a login"
    lab.burnish("add", "The same form", "-d", description)
    lab.burnish("rm", "1")
    assert stored.is_file(), "another task has it, too"
    lab.burnish("rm", "2")
    assert not stored.exists()


def test_only_images_are_stored_and_each_content_once(lab: Lab, tmp_path: Path) -> None:
    lab.add("One task")
    with at_hand(lab) as server:
        first, second = upload(server, png()).json(), upload(server, png(), "other").json()
        assert first["name"] == second["name"] and first["markdown"] != second["markdown"]
        svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
        for data in (svg, b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"<html>" + png(), png(30_000), b"RIFF1234WAVEfmt "):
            assert upload(server, data).status_code == 400, data[:20]
        assert server.api("POST", "/images", {"data": "%%%"}).status_code == 400
        assert upload(server, png() + b"x" * 2_000_000).status_code in (413, 422)
        for name in ("../burnish.db", "..%2fburnish.db", "burnish.db", "0" * 64 + ".png", "0" * 64 + ".svg"):
            assert server.api("GET", f"/images/{name}").status_code == 404, name
        _, headers = server.browser()
        headers = {key: value for key, value in headers.items() if key != "X-Burnish-Key"}
        body = {"data": base64.b64encode(png(3)).decode()}
        assert server.client.post("/api/v1/images", json=body, headers=headers).status_code in (401, 403)
    assert len(list((Path(lab.env["BURNISH_HOME"]) / "images").iterdir())) == 1
    huge = tmp_path / "huge.png"
    huge.write_bytes(png() + b"\0" * 5_000_000)
    assert "larger than 5 MB" in lab.burnish("add", "x", "--image", str(huge), code=2).err
    assert lab.burnish("add", "x", "--image", str(tmp_path), code=2).err
    lab.apart("add", "x", "--image", str(huge), code=4, BURNISH_TASK="1")


def test_a_label_cannot_leave_its_brackets() -> None:
    name = "a" * 64 + ".png"
    for label in ("](http://evil)", "![x](y)", "a\nb", "<script>", "", "`x`"):
        text = image_reference(name, label)
        assert image_names(text) == (name,), label
        html = str(markdown(text))
        assert html.count("<img") == 1 and "<script" not in html and "evil)" not in html


def test_markdown_shows_stored_images_only() -> None:
    name = "a" * 64 + ".png"
    assert f'src="/api/v1/images/{name}"' in str(markdown(f"![x](burnish-image:{name})"))
    hostile = ("burnish-image:../../x.png", f"burnish-image:{name}/../x", "data:image/png")
    for source in ("http://evil.example/x.png", *hostile):
        assert "<img" not in str(markdown(f"![x]({source})")), source


def test_kinds_of_images_are_recognized_by_their_bytes() -> None:
    assert image_kind(png()) == "png"
    assert image_kind(b"\xff\xd8\xff\xe0" + b"\0" * 200) == "jpg"
    assert image_kind(b"GIF89a\x01\0\x01\0" + b"\0" * 20) == "gif"
    assert image_kind(b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 40) == "webp"
    assert image_kind(b"RIFF\0\0\0\0WEBPXXXX" + b"\0" * 40) is None


def test_codex_gets_the_images_before_its_other_options(tmp_path: Path) -> None:
    images = (tmp_path / "a.png", tmp_path / "b.png")
    request = AgentRequest("codex", "implement", "x", tmp_path, tmp_path, 1, 1, "implement", images=images)
    argv = CodexAgent().call(request, AgentSettings("codex", "codex")).argv
    assert argv[argv.index("-i") + 1] == str(images[0]) and argv.count("-i") == 2
    assert argv[-1] == "-" and argv[argv.index(str(images[1])) + 1].startswith("-s")


@pytest.mark.slow
def test_the_author_reads_the_image_in_the_sandbox_and_cannot_change_it(tmp_path: Path) -> None:
    needs_bubblewrap()
    lab = Lab.make(tmp_path, confined=True, judge=APPROVE)
    lab.agent("robot", LOOKS + AUTHOR)
    for number in (2, 5):
        file = tmp_path / f"{number}.png"
        file.write_bytes(png(number))
        lab.burnish("add", f"Task {number}", "--image", str(file))
    lab.burnish("run", "1", code=None)
    call = next(one for one in lab.calls("end") if one["phase"] == "implement")
    assert call["size"] == len(png(2)) and call["written"] == "Read-only file system"
    assert len(call["beside"]) == 1, "images of other tasks are not shown"


@pytest.mark.slow
def test_an_image_is_pasted_into_the_form_and_shown_on_the_page(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("One task")
    with serving(lab) as served, browser() as opened, logged_in(opened, served, width=1280, height=900) as page:
        page.goto(f"{served.url}/p/{served.project}")
        page.wait_for_selector("body[data-ready], .board")
        page.keyboard.press("n")
        area = page.locator("textarea[name=description]")
        area.wait_for()
        page.locator("input[name=title]").fill("Like the picture")
        page.evaluate(
            """(data) => {
              const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
              const transfer = new DataTransfer();
              transfer.items.add(new File([bytes], "screen.png", { type: "image/png" }));
              const area = document.querySelector("textarea[name=description]");
              area.focus();
              const options = { clipboardData: transfer, bubbles: true, cancelable: true };
              area.dispatchEvent(new ClipboardEvent("paste", options));
            }""",
            base64.b64encode(png(200)).decode(),
        )
        page.locator("[data-image-status]", has_text="Added screen.png").wait_for()
        assert image_names(area.input_value())
        page.locator("dialog[open] button.primary").click()
        page.locator("text=Like the picture").first.wait_for()
        page.goto(f"{served.url}/p/{served.project}/t/2")
        shown = page.locator("img.task-image").first
        shown.scroll_into_view_if_needed()
        page.wait_for_function("document.querySelector('img.task-image').naturalWidth === 200")
