"""The log of refused requests: bounded in every minute, and never silent for good."""

import logging

from ui.server.middleware import RefusalLog

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
