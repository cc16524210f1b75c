"""How the serving process starts: no look-up outside, room for open files, files for their owner alone, the rules read.

`prepared()` is what `st.App` is given; until it is called, importing this changes nothing.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crag.analysis.monitoring.health import Health
from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.integrations.scraping import Scraping, metrics_token
from crag.runtime.origins import Origins, is_loopback
from crag.runtime.processes import room_for_files, share_heaps
from crag.storage.postgres import server_at
from ui.access import browser, oidc, workspaces
from ui.app import notices, open_tabs
from ui.app.program import at_start, program
from ui.components import downloads, script_context
from ui.server import files, headers
from ui.server.body_limits import Uploads
from ui.server.connection_limit import Most, Seats
from ui.server.headers import inline_scripts, security_headers
from ui.server.health_routes import Watch, audited
from ui.server.logs import bound_logs
from ui.server.middleware import Edge, Rules
from ui.server.signing import Attempts, Signing, end, may_edit

LOG = logging.getLogger(__name__)

_FILES = 1024
"""Open files that a server for many needs: Streamlit keeps 128 sessions of tabs that have gone, of three files each."""


def prepared() -> dict[str, Any]:
    """Makes this process ready to serve; returns what `st.App` is given beside the script."""
    _check_streamlit()
    bound_logs()
    if (room := room_for_files()) < _FILES:
        LOG.warning("Only %d files may be open at once; %d are needed for many visitors (LimitNOFILE).", room, _FILES)
    share_heaps()
    os.umask(0o077)
    try:
        config = at_start()
    except CragError as error:
        LOG.warning("%s Until then the strictest rules apply.", error)  # each page says so too
        config = AppConfig()
    sign_in = oidc.configured()
    if sign_in is not None and sign_in.problem:
        LOG.error("Nobody is let in: %s", sign_in.problem)
    made = rules(config)

    async def offered(request: Request) -> Response:
        return await files.serve(request, owned=oidc.on() or workspaces.private(config))

    return {
        "middleware": [Middleware(Edge, made)],
        "routes": [Route(made.base + downloads.PATH, offered)],
        "lifespan": partial(_opened, made.watch),
    }


def _check_streamlit() -> None:
    """Says in the log which private parts of Streamlit are no longer as this program needs them."""
    said = {"ui/components/script_context.py": script_context.missing(), "ui/server/headers.py": headers.missing()}
    for file, what in said.items():
        if what:
            LOG.error("Streamlit %s does not fit: %s. %s relies on it.", st.__version__, what, file)


def rules(config: AppConfig) -> Rules:
    """The edge's rules, by Streamlit's options and the app's settings as they are now."""
    shared, sign_in = workspaces.shared(config), oidc.configured()
    named = (*_named_address(), *((sign_in.host,) if sign_in and sign_in.host else ()))
    base = st.get_option("server.baseUrlPath").strip("/")
    callers = Origins(
        local=not workspaces.reachable(),
        proxied=config.storage.workspaces == "private",
        hosts=_plain(*st.get_option("server.allowedHosts"), *named),
        origins=_plain(*st.get_option("server.corsAllowedOrigins"), *named),
        any_origin=not st.get_option("server.enableCORS"),
        neighbours=True,
    )
    health = Health.of(config, server_at(config.storage.database_url))
    uploads = Uploads(
        config.serving.uploads_mb * 2**20,
        open_tabs.uploads.bytes,
        lambda: _now(config).limits.session_mb * 2**20,
    )
    scraping = Scraping(config.serving.metrics, metrics_token(), not shared, audited)
    seats = Seats(partial(_most_tabs, config), open_tabs.tabs.alive)
    return Rules(
        callers=callers,
        headers=security_headers(config.serving.framed_by, inline_scripts()),
        health=health,
        uploads=uploads,
        seats=seats,
        tabs=open_tabs.tabs,
        held=open_tabs.uploads,
        untaken=notices.put_message,
        watch=Watch(health, scraping, uploads, lambda: seats.open, lambda: _most_tabs(config).all),
        upload_mb=int(st.get_option("server.maxUploadSize")),
        metrics=not shared,
        base=f"/{base}" if base else "",
        signing=Signing(sign_in=sign_in, attempts=Attempts(), note=_note_refused, editor=may_edit, ended=end)
        if sign_in
        else None,
        cookie=partial(browser.cookie, path=f"/{base}", framed=bool(config.serving.framed_by)),
    )


def _note_refused(why: str) -> None:
    program().engine.teams.audit.note("refused", "visitor", what="sign-in", detail=why, refused=True)


def _now(config: AppConfig) -> AppConfig:
    """What holds now: `config`, until there is an engine."""
    engine = program().made
    return config if engine is None else engine.config


def _most_tabs(config: AppConfig) -> Most:
    """How many tabs may be open."""
    limits = _now(config).limits
    return Most(all=limits.all_sessions, own=limits.library_sessions)


def _named_address() -> tuple[str, ...]:
    """The name at which people reach this server, where the owner gave one."""
    given = str(st.get_option("browser.serverAddress"))
    return () if is_loopback(given) else (given,)


def _plain(*given: str) -> tuple[str, ...]:
    return tuple(each.strip().lower().rstrip("/.") for each in given if each.strip())


@contextlib.asynccontextmanager
async def _opened(watch: Watch, _: st.App) -> AsyncIterator[None]:
    """Says where the app is, and opens a browser where there is a screen: `streamlit run` leaves that to the app."""
    answer_at_once()
    watch.begin()
    _tell()
    yield


def _tell() -> None:
    sys.stdout.write(f"CRAG Explorer: {_address()}  (Ctrl-C stops it)\n")
    sys.stdout.flush()
    if not st.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(_address(),), daemon=True).start()


def answer_at_once() -> None:
    """From the sockets that listen in this process, every part of a reply goes out as it is made.

    asyncio sees to that for sockets of its own making, and Streamlit makes the app's itself: the second part of each
    reply waited 40 ms for the browser's word on the first. Connections inherit it from the socket that takes them.
    """
    for found in _listening():
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _listening() -> Iterator[socket.socket]:
    """The sockets of this process that take connections of browsers."""
    for found in gc.get_objects():
        if type(found) is not socket.socket or found.fileno() < 0 or found.type != socket.SOCK_STREAM:
            continue
        if found.family in (socket.AF_INET, socket.AF_INET6) and found.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN
        ):
            yield found


def _address() -> str:
    if (sign_in := oidc.configured()) and sign_in.origin:
        base = st.get_option("server.baseUrlPath").strip("/")
        return sign_in.origin + (f"/{base}" if base else "")
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    listens = str(st.get_option("server.address") or "")
    found = "localhost" if is_loopback(listens) or listens in ("", "::", "0.0.0.0") else listens  # noqa: S104
    host = (_named_address() or (found,))[0]
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}" + (f"/{base}" if base else "")
