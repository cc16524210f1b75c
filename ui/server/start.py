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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config as options
from streamlit import file_util, net_util, runtime
from streamlit.runtime import runtime as streamlit_runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.stats import CACHE_MEMORY_FAMILY, CacheStat

from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.scraping import Scraping, metrics_token
from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.runtime.origins import Origins, is_loopback
from crag.runtime.processes import room_for_files, share_heaps
from crag.storage.records import server_at
from ui.access import oidc, workspaces
from ui.app import media, memory_usage, server_messages
from ui.app.program import at_start, program
from ui.server.body_limits import Uploads
from ui.server.connection_limit import Most, Seats
from ui.server.headers import inline_scripts, security_headers
from ui.server.health_routes import Watch, audited
from ui.server.logs import bound_logs
from ui.server.middleware import Edge, Rules
from ui.server.sessions import keep, room_for
from ui.server.signing import Attempts, Signing, end, may_edit, somebody

LOG = logging.getLogger(__name__)

LOOK_UPS = ("get_external_ip", "get_internal_ip")
"""By these Streamlit finds this machine's address, from an outside service and an outside route."""


def prepared() -> dict[str, Any]:
    """Makes this process ready to serve; returns the middleware and lifespan that `st.App` is given."""
    for name in LOOK_UPS:
        setattr(net_util, name, _nowhere)
    bound_logs()
    files = room_for_files()
    share_heaps()
    alive = keep(room_for(files))
    os.umask(0o077)
    try:
        config = at_start()
    except CragError as error:
        LOG.warning("%s Until then the strictest rules apply.", error)  # each page says so too
        config = AppConfig()
    kept = media.OwnedMedia if _owned(config) else media.KeptMedia
    streamlit_runtime.MediaFileManager = kept  # type: ignore[attr-defined]
    sign_in = oidc.configured()
    if sign_in is not None and sign_in.problem:
        LOG.error("Nobody is let in: %s", sign_in.problem)
    made = rules(config, alive)
    return {"middleware": [Middleware(Edge, made)], "lifespan": partial(_opened, made.watch)}


def rules(config: AppConfig, alive: Callable[[str], bool] = lambda session: False) -> Rules:
    """The edge's rules, by Streamlit's options and the app's settings as they are now. `alive`: of a session's id."""
    shared, sign_in = workspaces.shared(config), oidc.configured()
    named = (*_by_hand("browser.serverAddress"), *((sign_in.host,) if sign_in and sign_in.host else ()))
    base = st.get_option("server.baseUrlPath").strip("/")
    page = Path(file_util.get_static_dir(), "index.html").read_text(encoding="utf-8")
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
        config.serving.uploads_mb * 2**20, held_uploads, lambda: memory_usage.for_files(_now(config).limits.session_mb)
    )
    scraping = Scraping(config.serving.metrics, metrics_token(), not shared, audited)
    owned = _owned(config)
    cookies = (media.cookie,) if owned else ()
    return Rules(
        callers=callers,
        headers=security_headers(config.serving.framed_by, inline_scripts(page)),
        health=health,
        uploads=uploads,
        seats=Seats(partial(_most_tabs, config), alive),
        untaken=server_messages.put,
        watch=Watch(health, scraping, uploads, lambda: _most_tabs(config).all),
        upload_mb=int(st.get_option("server.maxUploadSize")),
        metrics=not shared,
        base=f"/{base}" if base else "",
        signing=Signing(sign_in=sign_in, attempts=Attempts(), note=_note_refused, editor=may_edit, ended=end)
        if sign_in
        else None,
        cookies=tuple(partial(each, path=f"/{base}", framed=bool(config.serving.framed_by)) for each in cookies),
        media=_may_see if owned else None,
    )


def _owned(config: AppConfig) -> bool:
    """Whether pictures and downloads are given to those alone for whom they were made."""
    return oidc.on() or workspaces.private(config)


def _may_see(path: str, cookies: Mapping[str, str]) -> bool:
    engine = program().made
    return engine is not None and media.may_see(engine, path, cookies, lambda: somebody(cookies))


def _note_refused(why: str) -> None:
    program().engine.teams.audit.note("refused", "visitor", what="sign-in", detail=why, refused=True)


def held_uploads(session: str = "") -> int:
    """Bytes of uploads that Streamlit holds, for one session or for all."""
    if not runtime.exists():
        return 0
    manager = runtime.get_instance().uploaded_file_mgr
    if session:
        files = manager.file_storage.get(session, {}) if isinstance(manager, MemoryUploadedFileManager) else {}
        return sum(len(each.data) for each in list(files.values()))
    stats = manager.get_stats()
    return sum(each.byte_length for each in stats.get(CACHE_MEMORY_FAMILY, ()) if isinstance(each, CacheStat))


def _now(config: AppConfig) -> AppConfig:
    """What holds now: `config`, until there is an engine."""
    engine = program().made
    return config if engine is None else engine.config


def _most_tabs(config: AppConfig) -> Most:
    """How many tabs may be open."""
    limits = _now(config).limits
    return Most(all=limits.all_sessions, own=limits.library_sessions)


def _nowhere() -> None:
    """This machine's address, which nobody is asked for."""


def _by_hand(name: str) -> tuple[str, ...]:
    return (str(st.get_option(name)),) if options.is_manually_set(name) else ()


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
    host = (_by_hand("browser.serverAddress") or (found,))[0]
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}" + (f"/{base}" if base else "")
