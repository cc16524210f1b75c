"""The commands that serve: ui, the app to browsers; serve, a library over HTTP; mcp, a library to agents."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from crag.admin.access import Access
from crag.cli.options import DEFAULT_WORKSPACE, Place, Providers, StrategyName, interruptible
from crag.cli.output import Options, Output, plain
from crag.core.errors import PROGRAM, CragError, NotFoundError, SettingsError
from crag.core.strategies import strategy
from crag.engine import Engine

_FOLDER = Path(__file__).resolve().parents[2]
_APP = next(filter(Path.is_file, (_FOLDER / "crag_explorer" / "app.py", _FOLDER / "app.py")), None)
"""The app's script: beside the installed package, in a checkout at the top; None where neither is."""
_SCREEN = sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

_EXTRA = ("uvicorn", "fastapi", "starlette", "python_multipart")


def ui(
    output: Output,
    port: Annotated[int, Option(min=1, max=65535, help="the port to listen at")] = 8501,
    address: Annotated[str, Option(metavar="HOST", help="where to listen: 0.0.0.0 serves your network")] = "127.0.0.1",
    headless: Annotated[
        bool | None,
        Option("--headless/--browser", help="open no browser, or one (default: one where there is a screen)"),
    ] = None,
) -> int:
    """What is stored goes to the folder of CRAG_DATA, by default `data` in the folder where the command is started.
    Options of Streamlit come from the environment (STREAMLIT_SERVER_BASE_URL_PATH and so on). Ctrl-C stops it.
    """
    if _APP is None or importlib.util.find_spec("streamlit") is None:
        raise CragError("The app is not installed, or Streamlit is not.", "Run: pip install crag-explorer")
    output.note("Starting the app …")
    output.flush()
    alone = not _SCREEN if headless is None else headless
    options = {"port": port, "address": address, "headless": str(alone).lower(), "showEmailPrompt": "false"}
    given = [f"--server.{name}={value}" for name, value in options.items()]
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", str(_APP), *given])  # noqa: S606


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds(Options):
    """How much the server takes on, as `Limits` of `crag.integrations.http.serving` names it."""

    rate: Annotated[int | None, Option(min=0, help="requests a minute of one token; 0: any (default: 600)")] = None
    waiting: Annotated[int | None, Option(min=0, help="requests besides those at work (default: 64)")] = None
    grace: Annotated[
        float | None, Option(min=0, help="seconds that requests may go on after a signal to end (default: 10)")
    ] = None


def serve(
    bounds: _Bounds,
    providers: Providers,
    output: Output,
    host: Annotated[str, Option(help="the address to listen at")] = "127.0.0.1",
    port: Annotated[int, Option(help="0: any that is free")] = 8000,
    workspace: Annotated[str, Option(metavar="NAME", help="the library that is served where there are no tokens")] = "",
) -> int:
    """Tokens come from the environment: CRAG_TOKENS=token=workspace,…, or the file that CRAG_TOKENS_FILE names, an
    entry a line. Without any, this machine alone is served. The address is printed as soon as it listens.
    """
    access = Access.from_environment(workspace or DEFAULT_WORKSPACE)
    if access.asks and workspace:
        raise SettingsError("With tokens, each has its workspace.", "Leave --workspace out.")
    access.check_address(host)
    with providers.opened() as engine:
        if not all(map(importlib.util.find_spec, _EXTRA)):
            raise CragError(
                "The HTTP server needs packages that are not installed.",
                'Run: pip install "fastapi>=0.120,<1" "uvicorn>=0.34,<1" "python-multipart>=0.0.18,<1"',
            )
        from crag.integrations.http.app import app, server
        from crag.integrations.http.serving import Limits

        limits = Limits.of(engine.config, rate=bounds.rate, waiting=bounds.waiting, grace_seconds=bounds.grace)
        logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(message)s")
        logging.getLogger("crag.integrations").setLevel(logging.WARNING if output.quiet else logging.INFO)
        with interruptible():
            served = server(app(engine, access, limits))
            served.listen(host, port, lambda url: _print_start(url, access, output))
    return 0


def _print_start(url: str, access: Access, output: Output) -> None:
    output.show({"url": url, "tokens": access.asks}, f"Serving at {url}")
    if not access.asks and not output.json:
        output.note("No tokens are set, so this machine alone is served, and every program on it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served(Options):
    """Which library agents get, and what they may do in it."""

    strategy: StrategyName = "balanced"
    workspace: Annotated[
        str | None, Option(metavar="NAME", help="a library of the app's own, by its name (default: default)")
    ] = None
    new: Annotated[bool, Option("--new", help="begin the library if there is none yet")] = False
    read_only: Annotated[bool, Option("--read-only", help="let nobody add documents")] = False

    def choose(self, place: Place) -> str | Path:
        """Which library is served. Raises SettingsError, NotFoundError."""
        if place.library is not None and self.workspace is not None:
            raise SettingsError("Both --library and --workspace are given.", "Give one of them.")
        if place.library is not None:
            return place.target if self.new else place.existing
        return self.workspace or DEFAULT_WORKSPACE

    def check(self, engine: Engine, place: str | Path) -> None:
        """That there is such a library: none is made by misspelling one. Raises NotFoundError, InputError."""
        if self.new or place == DEFAULT_WORKSPACE or isinstance(place, Path) or engine.library(place).exists:
            return
        name = plain(place)
        raise NotFoundError(f"There is no workspace {name}.", f"Begin it: {PROGRAM} mcp --workspace {name} --new")


def mcp(
    place: Place,
    served: _Served,
    providers: Providers,
    output: Output,
    http: Annotated[bool, Option("--http", help="serve streamable HTTP in place of standard input and output")] = False,
    host: Annotated[str, Option(help="with --http: where to listen")] = "127.0.0.1",
    port: Annotated[int, Option(help="with --http: the port; 0: a free one")] = 8808,
) -> int:
    """Serves until the input ends or a signal comes. By HTTP, tokens come from the environment:
    CRAG_TOKENS=token=workspace,…, or the file that CRAG_TOKENS_FILE names, an entry a line. Without any, this machine
    alone is served.
    """
    if importlib.util.find_spec("mcp") is None:
        raise CragError(
            "What MCP needs is not installed.", 'Run: pip install "mcp>=2.3,<3" (in a clone: pip install ".[mcp]").'
        )
    from crag.integrations.mcp.request import ServerConfig
    from crag.integrations.mcp.server import LibraryServer

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    chosen = served.choose(place)
    access = Access.from_environment() if http else Access()
    if access.asks and (served.workspace or place.library):
        raise SettingsError("With tokens, each has its workspace.", "Leave --workspace and --library out.")
    with providers.opened() as engine:
        for each in access.workspaces if access.asks else [chosen]:
            served.check(engine, each)
        config = ServerConfig(
            engine=engine,
            workspace=None if access.asks else chosen,
            tokens=access.callers,
            strategy=strategy(served.strategy, engine.strategies(chosen)).name,
            read_only=served.read_only,
        )
        server = LibraryServer(config)
        if http:
            from crag.integrations.mcp.server import serve as serve_http

            with interruptible():
                serve_http(server, access, host, port, lambda at: output.message(f"MCP at {at}"))
        else:
            from crag.integrations.mcp.server import serve_stdio

            serve_stdio(server)
    return 0
