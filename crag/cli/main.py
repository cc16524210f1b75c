"""The list of commands, the loading of the one that is asked for, and how each ends: exit codes and error messages."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature, getdoc, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import crag
from crag.cli.output import ClosedOutputError, Options, Output
from crag.core.errors import PROGRAM, CancelledError, CragError, SettingsError

if TYPE_CHECKING:
    from crag.core.config import AppConfig
    from crag.engine import Engine

USAGE = 2
INTERRUPTED = 128 + signal.SIGINT
OUTPUT_CLOSED = 141
"""128 + SIGPIPE, what a shell reports of a program whose reader has gone."""

_MODULES = {
    "indexing": {
        "index": "Add documents (PDF, Office, e-mail, text, web pages), all of a folder, or pages by their addresses.",
        "refresh": "Look at the web pages of documents again: changed ones are replaced, gone ones are said.",
        "sync": "Bring a library in step with a folder: what is new, changed, moved or gone is shown, then brought in.",
    },
    "library": {
        "documents": "List the documents of a library.",
        "tag": "Give a document fields that filters ask for: tags=a,b date=2024-03-01; name= takes one away.",
        "purge": "Take out documents that are old, little trusted, unverified or unused; --undo brings them back.",
        "reindex": "Compute every vector of a library again, after the embedding model or what it reads has changed.",
        "verify": "Read a whole library, and compare its parts and its index; with --repair the index is rebuilt.",
    },
    "ask": {
        "search": "Find the chunks nearest to a question; nothing is graded.",
        "ask": "Answer a question from a library, with every step shown and every citation by file and page.",
    },
    "runs": {
        "explain": "Say why a page or a sentence is not in the answer of a run.",
        "site": "Make a static site of stored runs: an index and a page a run that replays it anywhere.",
    },
    "evaluate": {
        "evaluate": "Ask a set of questions under one or more strategies, and compare what comes of it.",
    },
    "admin": {
        "backup": "Write all that is stored into one file, while the app runs.",
        "restore": "Put back what a backup holds, all or one library, also in the place of what is there.",
        "people": "List who signed in to the app, invite somebody, change a role, remove somebody.",
    },
    "servers": {
        "ui": "Serve the app to a browser; without an address on this machine alone, at http://localhost:8501.",
        "serve": "Answer programs over HTTP: chat, ask, rerank, search and documents, for anyone who has a token.",
        "mcp": "Serve a library to agents by the Model Context Protocol, on standard input and output or by HTTP.",
    },
}
"""Modules, the commands of each, and what they do. To list them needs none of the modules."""
COMMANDS = {name: (module, about) for module, them in _MODULES.items() for name, about in them.items()}


class _Commands(TyperGroup):
    """Loads a command when it is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)), rest


app = typer.Typer(
    cls=_Commands,
    help="Corrective RAG over your own documents: graded retrieval, an action, a cited answer.",
    epilog="""\b
Results go to standard output, progress and messages to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
Environment: CRAG_DATA and the other CRAG_* variables of docs/reference.md; NO_COLOR.""",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"CRAG Explorer {crag.__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="show it")] = False,
) -> None:
    """The options before the command."""


for _name, (_, _about) in COMMANDS.items():
    app.command(_name, short_help=_about)(lambda: None)


def main(arguments: Sequence[str] | None = None, make: Callable[[AppConfig], Engine] | None = None) -> int:
    """Runs one command. Returns the exit code.

    `make` builds the engine from a config: a program that runs many commands may share the models among them.
    """
    if arguments is None:  # the process is this command's: nearly all that it makes at first stays to its end
        gc.set_threshold(100_000)
    given = list(sys.argv[1:] if arguments is None else arguments)
    output = Output()
    try:
        code: int = app(given, prog_name=PROGRAM, standalone_mode=False, obj=make)
        output.flush()
    except ClosedOutputError:
        # The reader has what it wanted. Python would complain once more while closing standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    except typer.TyperException as error:
        output.message(f"error: {error.format_message().rstrip('.')}. See {PROGRAM} --help.")
        return error.exit_code
    except CancelledError as error:
        output.message(f"interrupted: {error.message}")
        return INTERRUPTED
    except CragError as error:
        output.message(f"error: {error}")
        return USAGE if isinstance(error, SettingsError) else 1
    return code


def load_command(name: str) -> Any:
    """The command of this name as Typer makes it of its function, with all its options."""
    module, about = COMMANDS[name]
    function = getattr(import_module(f"crag.cli.{module}"), name)
    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    one.command(name, help=f"{about}\n\n{getdoc(function) or ''}")(_expand(function))
    return get_command(one)


def _expand(function: Callable[..., int]) -> Callable[..., int]:
    """The function of a command with the options of each group among its parameters in place of the group."""
    taken = signature(function, eval_str=True).parameters
    kinds = {name: each.annotation for name, each in taken.items()}
    groups = {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Options)}
    own = {name: each for name, each in taken.items() if name not in groups}
    shared = {name: {each.name: each for each in kind.parameters()} for name, kind in groups.items()}

    def run(**given: Any) -> int:
        values: dict[str, Any] = {name: given[name] for name in own}
        for name, options in shared.items():
            values[name] = groups[name](**{each: given[each] for each in options})
        try:
            return function(**values)
        except KeyboardInterrupt as error:
            raise CancelledError("The command was ended at once.") from error
        finally:
            values["output"].end_progress()

    shown = own | {name: each for options in shared.values() for name, each in options.items()}
    ordered = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown.values()]
    run.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run
