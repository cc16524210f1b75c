"""serve: Answer programs over HTTP: chat, rerank, embed, search and documents, for anyone who has a token."""

from __future__ import annotations

import argparse
import logging
import sys

from crag.admin.access import Access
from crag.cli.options import DEFAULT_WORKSPACE, add_providers, interruptible, opened, providers
from crag.cli.output import Output
from crag.core.errors import CragError, SettingsError

_EXTRA = ("uvicorn", "fastapi", "starlette", "python_multipart")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{parser.description} Tokens come from the environment: CRAG_TOKENS=token=workspace,…, or the file that "
        "CRAG_TOKENS_FILE names, an entry a line. Without any, this machine alone is served."
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free (default: 8000)")
    parser.add_argument("--workspace", metavar="NAME", help="the library that is served where there are no tokens")
    parser.add_argument("--rate", type=int, metavar="N", help="requests a minute of one token; 0: any (default: 600)")
    parser.add_argument(
        "--waiting", type=int, metavar="N", help="requests that may be here besides those at work (default: 64)"
    )
    parser.add_argument(
        "--grace", type=float, metavar="SECONDS", help="how long requests may go on after a signal to end (default: 10)"
    )
    add_providers(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Serves until it is asked to end. The address stands on standard output as soon as it listens."""
    access = Access.from_environment(options.workspace or DEFAULT_WORKSPACE)
    if access.asks and options.workspace:
        raise SettingsError("With tokens, each has its workspace.", "Leave --workspace out.")
    for name in ("rate", "waiting", "grace"):
        if (getattr(options, name) or 0) < 0:
            raise SettingsError(f"--{name} can't be below 0.")
    access.check_address(options.host)
    with opened(options, **providers(options)) as engine:
        try:
            from crag.integrations.http.app import app, server
        except ModuleNotFoundError as error:
            if error.name not in _EXTRA:
                raise
            raise CragError(
                "The HTTP server needs packages that are not installed.",
                'Run: pip install "fastapi>=0.120,<1" "uvicorn>=0.34,<1" "python-multipart>=0.0.18,<1"',
            ) from error
        from crag.integrations.http.serving import Limits

        limits = Limits.of(engine.config, rate=options.rate, waiting=options.waiting, grace_seconds=options.grace)
        _log_to_standard_error(output)
        with interruptible():
            served = server(app(engine, access, limits))
            served.listen(options.host, options.port, lambda url: _print_start(url, access, output))
    return 0


def _print_start(url: str, access: Access, output: Output) -> None:
    if output.json:
        output.record({"url": url, "tokens": access.asks})
        return
    output.line(f"Serving at {url}")
    if not access.asks:
        output.note("No tokens are set, so this machine alone is served, and every program on it.")


def _log_to_standard_error(output: Output) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("crag.integrations")
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if output.quiet else logging.INFO)
    logger.propagate = False
