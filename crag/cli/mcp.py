"""mcp: Serve a library to agents over the Model Context Protocol: on standard input and output, or by HTTP."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crag.admin.access import Access
from crag.cli.options import (
    DEFAULT_WORKSPACE,
    add_library,
    add_providers,
    add_strategy,
    existing,
    interruptible,
    opened,
    providers,
)
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, CragError, NotFoundError, SettingsError

if TYPE_CHECKING:
    from crag.engine import Engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description} By HTTP, tokens come from the environment: CRAG_TOKENS=token=workspace,…, or the file "
        "that CRAG_TOKENS_FILE names, an entry a line. Without any, this machine alone is served."
    )
    add_library(parser)
    parser.add_argument(
        "--workspace", metavar="NAME", help="a library of the app's own, by its name (default: default)"
    )
    parser.add_argument("--new", action="store_true", help="begin the library if there is none yet")
    parser.add_argument("--read-only", action="store_true", help="let nobody add documents")
    parser.add_argument(
        "--files", type=Path, metavar="DIR", help="a folder of which files may be added by their paths (default: none)"
    )
    parser.add_argument(
        "--http", action="store_true", help="serve streamable HTTP in place of standard input and output"
    )
    parser.add_argument("--host", default="127.0.0.1", help="with --http: where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8808, help="with --http: the port (default: 8808; 0: a free one)")
    add_strategy(parser)
    add_providers(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Serves until the input ends or a signal comes; 0 then."""
    if importlib.util.find_spec("mcp") is None:
        raise CragError(
            "What MCP needs is not installed.", 'Run: pip install "mcp>=2.3,<3" (in a clone: pip install ".[mcp]").'
        )
    from crag.integrations.mcp.request import ServerConfig
    from crag.integrations.mcp.server import LibraryServer

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    place = _place(options)
    access = Access.from_environment() if options.http else Access()
    if access.asks and (options.workspace or options.library):
        raise SettingsError("With tokens, each has its workspace.", "Leave --workspace and --library out.")
    if options.files is not None and not options.files.is_dir():
        raise SettingsError(f"There is no folder {options.files}.", "Name one with --files, or leave it out.")
    with opened(options, **providers(options)) as engine:
        for each in access.workspaces if access.asks else [place]:
            _check(engine, each, options)
        server = LibraryServer(
            ServerConfig(
                engine=engine,
                workspace=None if access.asks else place,
                tokens=access.callers,
                strategy=options.strategy,
                read_only=options.read_only,
                files=options.files,
            )
        )
        if options.http:
            from crag.integrations.mcp.http import serve as serve_http

            with interruptible():
                serve_http(server, access, options.host, options.port, lambda at: output.message(f"MCP at {at}"))
        else:
            from crag.integrations.mcp.stdio import serve as serve_stdio

            serve_stdio(server)
    return 0


def _place(options: argparse.Namespace) -> str | Path:
    """Which library is served. Raises SettingsError, NotFoundError."""
    if options.library is not None and options.workspace is not None:
        raise SettingsError("Both --library and --workspace are given.", "Give one of them.")
    if options.library is not None:
        library: Path = options.library
        return library if options.new else existing(options)
    return options.workspace or DEFAULT_WORKSPACE


def _check(engine: Engine, place: str | Path, options: argparse.Namespace) -> None:
    """That there is such a library: none is made by misspelling one. Raises NotFoundError, InputError."""
    if options.new or place == DEFAULT_WORKSPACE or isinstance(place, Path) or engine.library(place).exists:
        return
    raise NotFoundError(
        f"There is no workspace {plain(place)}.", f"Begin it: {PROGRAM} mcp --workspace {plain(place)} --new"
    )
