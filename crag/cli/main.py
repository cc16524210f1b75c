"""The parser, the dispatch, and how every command ends: exit codes, broken pipes, interrupts, errors as sentences."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import crag
from crag.cli import (
    ask,
    audit,
    backup,
    copy,
    documents,
    evaluate,
    gaps,
    grade,
    index,
    keep,
    limits,
    mcp,
    people,
    purge,
    refresh,
    reindex,
    restore,
    search,
    serve,
    tag,
    verify,
)
from crag.cli.output import ClosedOutputError, Output
from crag.core.errors import PROGRAM, CancelledError, CragError, SettingsError

if TYPE_CHECKING:
    from crag.core.config import AppConfig
    from crag.engine import Engine

USAGE = 2
INTERRUPTED = 128 + signal.SIGINT
OUTPUT_CLOSED = 141
"""128 + SIGPIPE, what a shell reports of a program whose reader has gone."""

_EPILOG = """\
Results go to standard output, progress and messages to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
Environment: CRAG_DATA and the other CRAG_* variables of docs/reference.md; NO_COLOR.
"""


def main(arguments: Sequence[str] | None = None, make: Callable[[AppConfig], Engine] | None = None) -> int:
    """Runs one command. Returns the exit code; argparse itself exits with 2 on wrong usage.

    `make` builds the engine from a config: a program that runs many commands may share the models among them.
    """
    options = parser().parse_args(arguments)
    options.make = make
    output = Output(json=options.json, quiet=options.quiet)
    command: Callable[[argparse.Namespace, Output], int] = options.command
    try:
        code = command(options, output)
        output.flush()
    except ClosedOutputError:
        # The reader has what it wanted. Python would complain once more while closing standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    except SettingsError as error:
        output.message(f"error: {error}")
        return USAGE
    except CancelledError as error:
        output.message(f"interrupted: {error.message}")
        return INTERRUPTED
    except KeyboardInterrupt:
        output.message("interrupted")
        return INTERRUPTED
    except CragError as error:
        output.message(f"error: {error}")
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments; what each does stands first in its module."""
    whole = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Corrective RAG over your own documents: graded retrieval, an action, a cited answer.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"CRAG Explorer {crag.__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for room in (
        index,
        refresh,
        documents,
        tag,
        search,
        ask,
        keep,
        limits,
        gaps,
        grade,
        evaluate,
        purge,
        reindex,
        verify,
        copy,
        backup,
        restore,
        audit,
        serve,
        mcp,
        people,
    ):
        name, _, sentence = (room.__doc__ or "").partition("\n")[0].partition(": ")
        command = commands.add_parser(name, help=sentence, description=sentence)
        room.add_arguments(command)
        command.add_argument("--json", action="store_true", help="one JSON object a line")
        command.add_argument("--quiet", action="store_true", help="no progress")
        command.set_defaults(command=room.run)
    return whole
