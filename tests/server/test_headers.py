"""The headers of every answer: what the policy lets in, who may frame the app, and that ours outrank others."""

import base64
import hashlib

from ui.server.headers import inline_scripts, policy, security_headers, with_headers


def directives(text: str) -> dict[str, str]:
    return dict(each.split(" ", 1) for each in text.split("; "))


def test_nobody_may_frame_the_app_and_nothing_loads_from_elsewhere() -> None:
    told = directives(policy())
    assert told["frame-ancestors"] == told["object-src"] == told["base-uri"] == told["form-action"] == "'none'"
    assert told["default-src"] == "'self'"
    assert "unsafe" not in told["script-src"] and not any("http" in each or "*" in each for each in told.values())
    headers = dict(security_headers())
    assert headers[b"x-frame-options"] == b"DENY" and headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert headers[b"cross-origin-opener-policy"] == headers[b"cross-origin-resource-policy"] == b"same-origin"
    assert b"camera=()" in headers[b"permissions-policy"] and b"clipboard-write" not in headers[b"permissions-policy"]


def test_those_that_the_owner_named_may_frame_it() -> None:
    headers = dict(security_headers(("https://a.example", "https://b.example")))
    told = directives(headers[b"content-security-policy"].decode())
    assert told["frame-ancestors"] == "https://a.example https://b.example"
    assert b"x-frame-options" not in headers


def test_a_page_s_own_script_runs_by_its_digest(tmp_path) -> None:
    digest = base64.b64encode(hashlib.sha256(b"\n one()\n").digest()).decode()
    page = tmp_path / "index.html"
    page.write_text('<script>\n one()\n</script><script type="module" src="./a.js"></script>')
    assert inline_scripts(page) == (f"'sha256-{digest}'",)
    assert f"'sha256-{digest}'" in directives(policy((), inline_scripts(page)))["script-src"]


def test_our_headers_take_the_place_of_others_of_their_name() -> None:
    before = [(b"X-Frame-Options", b"ALLOWALL"), (b"etag", b"1"), (b"set-cookie", b"a"), (b"set-cookie", b"b")]
    assert with_headers(before, [(b"x-frame-options", b"DENY")]) == [*before[1:], (b"x-frame-options", b"DENY")]
