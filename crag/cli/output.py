"""Where a command writes: results to standard output, progress and messages to standard error, safe for a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Annotated, Any, Literal

from typer import Option

Colour = Literal["bold", "dim", "blue", "amber", "red"]

_CODES: dict[Colour, str] = {"bold": "1", "dim": "2", "blue": "34", "amber": "33", "red": "31"}

_CONTROL = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\n")}
_DIRECTION = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_UNSAFE = dict.fromkeys(_CONTROL | _DIRECTION, "\N{REPLACEMENT CHARACTER}")
"""Control and direction characters: text out of a PDF must not steer a terminal."""


class ClosedOutputError(Exception):
    """The reader of standard output has gone."""


def strip_controls(text: str) -> str:
    """Text that a terminal shows and never obeys; line breaks stay."""
    return text.translate(_UNSAFE)


def plain(text: str) -> str:
    """The same as one line, white space joined."""
    return strip_controls(" ".join(text.split()))


class Options:
    """Options that several commands share. A command takes such a class as a parameter, and Typer sees its options."""

    @classmethod
    def parameters(cls) -> list[Parameter]:
        return list(signature(cls, eval_str=True).parameters.values())


class Output(Options):
    """One command's standard output and standard error.

    Colour only on a terminal, and not where NO_COLOR is set (no-color.org).
    """

    def __init__(
        self,
        *,
        json: Annotated[bool, Option("--json", help="one JSON object a line")] = False,
        quiet: Annotated[bool, Option("--quiet", help="no progress")] = False,
    ) -> None:
        self.json = json
        self.quiet = quiet
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._pending = False

    def paint(self, text: str, colour: Colour) -> str:
        """The text in a colour, or as it is where colours are off."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colours else text

    def write(self, text: str) -> None:
        """A piece of a result, as it is, at once. Raises ClosedOutputError."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise ClosedOutputError from error

    def line(self, text: str = "") -> None:
        """A line of a result. Raises ClosedOutputError."""
        self.end_progress()
        self.write(text + "\n")

    def record(self, values: Mapping[str, Any]) -> None:
        """One JSON object on a line. Raises ClosedOutputError."""
        self.line(json.dumps(values, ensure_ascii=False, allow_nan=False))

    def show(self, values: Mapping[str, Any], line: str) -> None:
        """A result as a record for scripts, or as a line for people. Raises ClosedOutputError."""
        if self.json:
            self.record(values)
        else:
            self.line(line)

    def flush(self) -> None:
        """Raises ClosedOutputError."""
        self.end_progress()
        self.write("")

    def message(self, text: str) -> None:
        """A line on standard error, whatever --quiet says."""
        self.end_progress()
        self._error(strip_controls(text.replace("\n", " ")) + "\n")

    def note(self, text: str) -> None:
        """A line of progress that stays."""
        if not self.quiet:
            self.message(text)

    def progress(self, text: str) -> None:
        """Progress that the next one replaces; shown on terminals only."""
        if self._live and not self.quiet:
            self._error(f"\r\x1b[K{plain(text)[:100]}")
            self._pending = True

    def counted(self, what: str, done: int, of: int) -> None:
        """Progress as a count."""
        self.progress(f"{what}: {done:,} of {of:,}")

    def approved(self, query: str) -> bool:
        """Whether the person at the terminal lets a query leave this machine; no where nobody sits there."""
        if not self.interactive:
            self.message(f"not sent: “{plain(query)}”: nobody is at a terminal to approve it")
        return self.confirm(f"May this query leave this machine?  {plain(query)} ")

    @property
    def interactive(self) -> bool:
        """Whether a person sits at the terminal."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """Whether the person at the terminal says yes; no where nobody sits there."""
        if not self.interactive:
            return False
        self.end_progress()
        self._error(f"{question} [y/N] ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def end_progress(self) -> None:
        """Take the line of progress away, if there is one."""
        if self._pending:
            self._error("\r\x1b[K")
            self._pending = False

    def _error(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except BrokenPipeError:
            self.quiet = True  # nobody reads progress any more; results still go out
