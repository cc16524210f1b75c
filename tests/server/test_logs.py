"""A browser that sends one forged state after another fills no disk with log lines."""

from __future__ import annotations

import logging

from streamlit.logger import get_logger

from crag.runtime.limits import Buckets
from ui.server.logs import LONGEST, PER_MINUTE, BoundedLog, bound_logs


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


def test_the_frameworks_own_loggers_are_bounded_once() -> None:
    logger = get_logger("streamlit.error_util")
    for each in [each for each in logger.filters if isinstance(each, BoundedLog)]:
        logger.removeFilter(each)  # of a server that started here before
    before = list(logger.filters)
    try:
        bound_logs()
        bound_logs()
        assert [type(each) for each in logger.filters] == [*map(type, before), BoundedLog][: len(before) + 1]
        assert not any(isinstance(each, BoundedLog) for each in logging.getLogger("crag").filters)
    finally:
        for name in list(logging.root.manager.loggerDict):
            for each in [each for each in logging.getLogger(name).filters if isinstance(each, BoundedLog)]:
                logging.getLogger(name).removeFilter(each)
