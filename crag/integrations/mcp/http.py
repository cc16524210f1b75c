"""The server over HTTP (streamable): for programs of this machine, or with tokens for those of others."""

from __future__ import annotations

import types
from collections.abc import Callable

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from crag.admin.access import Access
from crag.integrations.mcp.gate import BODY, Gate
from crag.integrations.mcp.service import Service
from crag.runtime.processes import IDLE_SECONDS, listening, room_for_files

PATH = "/mcp"
IDLE = 30 * 60.0
"""Seconds after which a session that nothing was asked in ends."""
GRACE = 5
"""Seconds that replies have to go out once the server stops."""


def app(service: Service, access: Access) -> Starlette:
    """The application; `access` says who may use it, and of which workspace."""
    manager = StreamableHTTPSessionManager(
        app=service.server,
        # The gate looks at Host and Origin, by whether tokens are asked for.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=BODY,
        session_idle_timeout=IDLE,
        max_sessions=None,  # the gate counts them by token
    )
    return Starlette(
        routes=[Route(PATH, StreamableHTTPASGIApp(manager))],
        middleware=[Middleware(Gate, access=access, arrivals=service.arrivals)],
        lifespan=lambda _: manager.run(),
    )


def serve(service: Service, access: Access, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serves until a signal comes; every run is then ended and stored. `announce` gets the address.

    Port 0: one that is free. Raises SettingsError where the address can't be had, or without tokens where other
    machines could reach it.
    """
    access.check_address(host)
    room_for_files()
    held = listening(host, port)
    config = uvicorn.Config(
        app(service, access),
        http="h11",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE,
    )
    name = f"[{host}]" if ":" in host else host
    announce(f"http://{name}:{held.getsockname()[1]}{PATH}")
    _Server(config, service).run(sockets=[held])


class _Server(uvicorn.Server):
    """Ends the runs as soon as it is asked to stop, so that their clients still hear of it."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: types.FrameType | None) -> None:
        self._service.stop()
        super().handle_exit(sig, frame)
