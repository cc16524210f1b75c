"""A browser that sends one forged state after another fills no disk with log lines."""

from __future__ import annotations

import logging

from crag.runtime.limits import Buckets
from ui.server.logs import LONGEST, PER_MINUTE, BoundedLog


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
