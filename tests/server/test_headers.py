"""The headers of every answer: what the policy lets in, who may frame the app, and that ours outrank others."""

import base64
import hashlib
import logging

from crag.runtime.limits import Buckets
from ui.server.headers import inline_scripts, policy, security_headers, with_headers
from ui.server.logs import LONGEST, PER_MINUTE, BoundedLog
from ui.server.middleware import RefusalLog


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


# A browser that sends one forged state after another fills no disk with log lines


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def _refuse(logger: logging.Logger) -> None:
    try:
        raise ValueError("forged " * 5_000 + "at the end")
    except ValueError as error:
        logger.error("Uncaught app execution " + "x" * 50_000, exc_info=error)


def test_lines_are_short_and_few_and_the_next_says_what_was_left_out() -> None:
    now = [0.0]
    logger, lines = logging.Logger("streamlit.error_util"), _Lines()
    logger.addHandler(lines)
    logger.addFilter(BoundedLog(Buckets(PER_MINUTE, lambda: now[0])))
    for _ in range(500):
        _refuse(logger)
    logger.info("an ordinary line")
    assert len(lines.lines) == PER_MINUTE + 1 and lines.lines[-1] == "an ordinary line"
    assert all(len(line) < 2 * LONGEST + 100 for line in lines.lines)
    assert lines.lines[0].startswith("Uncaught app execution") and lines.lines[0].endswith("at the end")
    now[0] = 60.0
    _refuse(logger)
    assert lines.lines[-1].startswith("(470 messages before this one were left out.) Uncaught")


# The log of refused requests: bounded in every minute, and never silent for good


SCOPE = {"type": "http", "headers": [(b"host", b"evil.example"), (b"origin", b"http://evil.example")]}


def test_the_first_refusals_of_each_minute_are_logged_and_the_others_counted(caplog):
    minutes = []
    log = RefusalLog(minutes.append)
    with caplog.at_level(logging.WARNING, "ui.server.middleware"):
        for _ in range(2):
            for number in range(50):
                log.note(SCOPE, "Wrong host." if number % 2 else "Wrong origin.")
            minutes.pop()()
            assert minutes == [], "one sum a minute"
            lines = [each.getMessage() for each in caplog.records]
            caplog.clear()
            assert len(lines) == 22 and "host 'evil.example', origin 'http://evil.example'" in lines[0]
            assert lines[-2:] == [
                "Refused within a minute: 15 more requests. Wrong origin.",
                "Refused within a minute: 15 more requests. Wrong host.",
            ]
        log.note(SCOPE, "Wrong host.")
        minutes.pop()()
        assert len(caplog.records) == 1, "there is nothing to sum up"
