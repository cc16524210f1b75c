"""Browser tabs without a browser, as many as one needs: each a real session of the app over its WebSocket.

A `Tab` speaks Streamlit's protocol as its page does: it opens a page, moves a slider, types, presses a button, asks,
switches pages, uploads a file, loses its connection and takes its session up again. It holds what the server has drawn,
keeps what the server may refer to again, and counts what was drawn as an error. All tabs live on one event loop, so
that two hundred cost little. Only addresses of this machine are spoken to.

    async with Tab(server.url) as tab:
        await tab.open("tune")
        done = await tab.drag(0.2, 0.4)
        print(done.seconds, tab.texts())
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import pyarrow
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE = 120.0
"""Seconds that one rerun may take before the tab gives it up."""
_KEPT_RUNS = 2
"""For so many runs a page keeps a message that the server may refer to, as Streamlit's own page does."""
_WORK = 1.0
"""What is drawn again within this time, in seconds, is work that goes on."""
_COOKIE = "_streamlit_xsrf"
_TEXTS = ("body", "label", "message", "placeholder", "text", "title")
"""The fields of an element that hold what a person reads."""


class Lost(Exception):
    """The connection has gone, or an answer did not come in time."""


class Missing(Exception):
    """The page has no such widget just now."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One element of the page: its kind (`slider`, `html` …), its message, and the fragment that drew it."""

    kind: str
    element: Any
    fragment: str
    run: int


@dataclass(frozen=True, slots=True)
class Rerun:
    """One run of the script: seconds until it ended, messages and bytes received, exceptions and error boxes drawn."""

    seconds: float
    messages: int
    size: int
    exceptions: tuple[str, ...]
    errors: tuple[str, ...]


@dataclass(slots=True)
class _Counts:
    messages: int = 0
    size: int = 0
    exceptions: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Tab:
    """One browser tab at `url` (scheme, host and port). `cookies` are shared by tabs of one browser, if given.

    Attributes after `open`: `session` (Streamlit's id of it), `query` (the address's query as the server left it),
    `drawn` (the elements by their path), `exceptions` and `errors` (all that were drawn so far), `reruns` (so many).
    """

    def __init__(self, url: str, cookies: httpx.Cookies | None = None, patience: float = PATIENCE) -> None:
        parts = urlsplit(url)
        if parts.hostname != "localhost" and not ipaddress.ip_address(parts.hostname or "").is_loopback:
            raise ValueError("only this machine is spoken to")
        self.url, self.patience = url.rstrip("/"), patience
        self.session, self.query, self.page = "", "", ""
        self.drawn: dict[tuple[int, ...], Drawn] = {}
        self.exceptions: list[str] = []
        self.errors: list[str] = []
        self.reruns = 0
        self._pages: dict[str, str] = {}
        self._fragments: tuple[str, ...] = ()
        self._beats: dict[str, float] = {}
        """Fragments that the server wants asked for again, and after how many seconds."""
        self._states: dict[str, WidgetState] = {}
        self._kept: dict[str, tuple[int, ForwardMsg]] = {}
        self._socket: ClientConnection | None = None
        # Streamlit closes a connection that is silent for five seconds. A browser sends again what was on its way then.
        limits = httpx.Limits(keepalive_expiry=2)
        self._http = httpx.AsyncClient(
            base_url=self.url, cookies=cookies, timeout=patience, limits=limits, trust_env=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    # The connection

    async def open(self, page: str = "", query: str = "") -> Rerun:
        """Load a page by its address, as a new visit does. `page`: "" or "tune"; `query`: without its "?"."""
        await self.close(keep_http=True)
        self.page, self.query, self.session = page, query, ""
        self.drawn, self._states, self._kept = {}, {}, {}
        await self.connect()
        return await self._run()

    async def connect(self, session: str = "") -> None:
        """Open the socket, for a new session or to take one up again, and nothing more."""
        try:
            for path in ("/", "/_stcore/health", "/_stcore/host-config"):
                (await self._http.get(path)).raise_for_status()
            token = self._http.cookies.get(_COOKIE, "")
            cookies = "; ".join(f"{name}={value}" for name, value in self._http.cookies.items())
            self._socket = await connect(
                self.url.replace("http", "ws", 1) + "/_stcore/stream",
                origin=self.url,  # type: ignore[arg-type]
                subprotocols=["streamlit", token or "none", *([session] if session else [])],  # type: ignore[list-item]
                additional_headers={"Cookie": cookies} if cookies else None,
                max_size=None,
                open_timeout=self.patience,
                proxy=None,
            )
        except (OSError, httpx.HTTPError, TimeoutError, EOFError) as error:
            raise Lost(f"no connection: {error!r}") from error
        except Exception as error:  # websockets' own tree: the server refused
            raise Lost(f"refused: {error!r}") from error

    async def reconnect(self) -> Rerun:
        """After a lost connection: take the session up again, as the page does; a new one where the server lost it."""
        await self.drop()
        await self.connect(self.session)
        return await self._run()

    async def drop(self) -> None:
        """Close the socket as a lost network does; the server keeps the session for a while."""
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def close(self, *, keep_http: bool = False) -> None:
        await self.drop()
        if not keep_http:
            await self._http.aclose()

    # What a person does

    async def rerun(self) -> Rerun:
        """The script once more, with nothing changed."""
        return await self._run()

    async def go(self, page: str) -> Rerun:
        """Another page, by the navigation: "" is the front page. What was chosen on this one is left behind."""
        if page not in self._pages:
            raise Missing(f"no page {page!r} among {sorted(self._pages)}")
        self.page = page
        self.query = "&".join(each for each in self.query.split("&") if each.startswith("w="))
        return await self._run()

    async def drag(self, lower: float, upper: float) -> Rerun:
        """Let the lines of the page's rail go at these thresholds; of a page without one, the ends of its slider."""
        if not self.has("bidi_component", "crag_rail"):
            state = WidgetState(id=self.find("slider").element.id)
            state.double_array_value.data.extend((lower, upper))
            return await self._run(state)
        found = self.find("bidi_component", "crag_rail")
        moved = {"moved": [json.loads(found.element.json)["run"], round(100 * lower), round(100 * upper)]}
        return await self._run(WidgetState(id=found.element.id, json_value=json.dumps(moved)), fragment=found.fragment)

    async def type(self, label: str, text: str) -> Rerun:
        """Fill in a field of one line, or of several."""
        found = self.find(("text_input", "text_area"), label)
        return await self._changed(WidgetState(id=found.element.id, string_value=text), found)

    async def press(self, label: str) -> Rerun:
        """Press a button."""
        found = self.find("button", label)
        return await self._run(WidgetState(id=found.element.id, trigger_value=True), fragment=found.fragment)

    async def ask(self, question: str) -> Rerun:
        """Type into the chat's field and send: returns when the run is answered."""
        found = self.find("chat_input")
        state = WidgetState(id=found.element.id)
        state.chat_input_value.data = question
        return await self._follow(await self._run(state, fragment=found.fragment))

    async def upload(self, label: str, files: dict[str, bytes]) -> Rerun:
        """Bring files, by their names, to an uploader: returns when they are added. Raises Lost of a refused one."""
        found = self.find("file_uploader", label)
        ask = BackMsg()
        ask.file_urls_request.request_id = f"{self.session}-{time.monotonic_ns()}"
        ask.file_urls_request.file_names.extend(files)
        ask.file_urls_request.session_id = self.session
        state = WidgetState(id=found.element.id)
        async with asyncio.timeout(self.patience):
            await self._send(ask)
            while (said := await self._receive()).WhichOneof("type") != "file_urls_response":
                self._take(said, _Counts())
        for (name, content), urls in zip(files.items(), said.file_urls_response.file_urls, strict=True):
            try:
                answer = await self._http.put(
                    urls.upload_url,
                    files={"file": (name, content)},
                    headers={"X-Xsrftoken": self._http.cookies.get(_COOKIE, ""), "Origin": self.url},
                )
            except httpx.HTTPError as error:
                raise Lost(f"upload: {error!r}") from error
            if answer.status_code >= 300:
                raise Lost(f"upload: {answer.status_code} {answer.text.strip()}")
            info = state.file_uploader_state_value.uploaded_file_info.add(
                name=name, size=len(content), file_id=urls.file_id
            )
            info.file_urls.CopyFrom(urls)
        return await self._follow(await self._changed(state, found))

    async def get(self, path: str) -> httpx.Response:
        """Any address of the server, with this tab's cookies."""
        return await self._http.get(path)

    # What a person sees

    def elements(self, *kinds: str) -> Iterator[Drawn]:
        """What stands on the page, in its order; of these kinds alone, if any is given."""
        for path in sorted(self.drawn):
            if not kinds or self.drawn[path].kind in kinds:
                yield self.drawn[path]

    def find(self, kinds: str | tuple[str, ...], label: str = "") -> Drawn:
        """The first widget of such a kind whose label, or name of a component, begins so. Raises Missing."""
        wanted = (kinds,) if isinstance(kinds, str) else kinds
        for each in self.elements(*wanted):
            if f"{getattr(each.element, 'label', '')}{getattr(each.element, 'component_name', '')}".startswith(label):
                return each
        there = [f"{each.kind} {getattr(each.element, 'label', '')!r}" for each in self.elements(*wanted)]
        raise Missing(f"no {'/'.join(wanted)} {label!r}; there is {there}")

    def has(self, kinds: str | tuple[str, ...], label: str = "") -> bool:
        try:
            return bool(self.find(kinds, label))
        except Missing:
            return False

    def texts(self) -> str:
        """All that can be read on the page: labels, paragraphs, HTML with its tags, rows of tables, errors."""
        found = []
        for each in self.elements():
            if each.kind == "table":
                rows = pyarrow.ipc.open_stream(each.element.arrow_data.data).read_all().to_pylist()
                found += [" ".join(str(cell) for cell in row.values()) for row in rows]
            names = {known.name for known in each.element.DESCRIPTOR.fields}
            found += [str(getattr(each.element, name)) for name in _TEXTS if name in names]
        return "\n".join(each for each in found if each and not each.startswith("<style>"))

    # The protocol

    async def _changed(self, state: WidgetState, found: Drawn) -> Rerun:
        self._states[state.id] = state
        return await self._run(fragment=found.fragment)

    async def _run(self, *pressed: WidgetState, fragment: str = "") -> Rerun:
        """Ask for a run with the widgets as they stand, and take in what is drawn until it has ended."""
        ask = BackMsg()
        wanted = ask.rerun_script
        wanted.query_string, wanted.fragment_id = self.query, fragment
        wanted.page_script_hash = self._pages.get(self.page, "")
        wanted.page_name = "" if wanted.page_script_hash else self.page
        wanted.widget_states.widgets.extend([*self._states.values(), *pressed])
        wanted.cached_message_hashes.extend(self._kept)
        wanted.context_info.url = f"{self.url}/{self.page}"
        wanted.context_info.locale, wanted.context_info.timezone = "en-GB", "UTC"
        counts, began = _Counts(), time.perf_counter()
        try:
            async with asyncio.timeout(self.patience):
                await self._send(ask)
                await self._finish(counts)
        except TimeoutError as error:
            raise Lost(f"no end of the script within {self.patience:.0f} s") from error
        self.exceptions += counts.exceptions
        self.errors += counts.errors
        return Rerun(
            time.perf_counter() - began, counts.messages, counts.size, tuple(counts.exceptions), tuple(counts.errors)
        )

    async def _follow(self, done: Rerun) -> Rerun:
        """Ask for what is drawn again and again, as the page does, until it no longer is; all that came of it."""
        began = time.perf_counter() - done.seconds
        while beats := {name: every for name, every in self._beats.items() if every < _WORK}:
            if time.perf_counter() > began + self.patience:
                raise Lost(f"work goes on after {self.patience:.0f} s")
            fragment = min(beats, key=beats.__getitem__)
            await asyncio.sleep(beats[fragment])
            new = await self._run(fragment=fragment)
            done = replace(new, exceptions=done.exceptions + new.exceptions, errors=done.errors + new.errors)
        return replace(done, seconds=time.perf_counter() - began)

    async def _finish(self, counts: _Counts) -> None:
        """Until a run has ended that no other follows."""
        while True:
            said = await self._receive(counts)
            self._take(said, counts)
            if said.WhichOneof("type") != "script_finished":
                continue
            status = ForwardMsg.ScriptFinishedStatus.Name(said.script_finished)
            if status == "FINISHED_EARLY_FOR_RERUN":
                continue
            self._clear(whole=status != "FINISHED_FRAGMENT_RUN_SUCCESSFULLY")
            if status == "FINISHED_WITH_COMPILE_ERROR":
                counts.exceptions.append("the script does not compile")
            return

    async def _send(self, ask: BackMsg) -> None:
        if self._socket is None:
            raise Lost("not connected")
        try:
            await self._socket.send(ask.SerializeToString())
        except ConnectionClosed as error:
            raise Lost(f"closed: {error}") from error

    async def _receive(self, counts: _Counts | None = None) -> ForwardMsg:
        if self._socket is None:
            raise Lost("not connected")
        try:
            data = await self._socket.recv(decode=False)
        except ConnectionClosed as error:
            raise Lost(f"closed: {error}") from error
        if counts is not None:
            counts.messages, counts.size = counts.messages + 1, counts.size + len(data)
        return ForwardMsg.FromString(data)

    def _take(self, said: ForwardMsg, counts: _Counts) -> None:
        """Take one message in."""
        kind = said.WhichOneof("type")
        if kind == "ref_hash":
            whole = ForwardMsg()
            if said.ref_hash not in self._kept:
                counts.exceptions.append("the server referred to a message that it was not told of")
                return
            whole.CopyFrom(self._kept[said.ref_hash][1])
            whole.metadata.CopyFrom(said.metadata)
            self._kept[said.ref_hash] = (self.reruns, self._kept[said.ref_hash][1])
            said, kind = whole, "delta"
        elif said.metadata.cacheable and said.hash:
            self._kept[said.hash] = (self.reruns, said)
        if kind == "delta":
            self._draw(said, counts)
        elif kind == "new_session":
            self.reruns += 1
            self.session = said.new_session.initialize.session_id or self.session
            self._fragments = tuple(said.metadata.run.fragment_ids)
            self._beats = self._beats if self._fragments else {}
        elif kind == "auto_rerun":
            self._beats[said.auto_rerun.fragment_id] = said.auto_rerun.interval
        elif kind == "navigation":
            self._pages = {each.url_pathname: each.page_script_hash for each in said.navigation.app_pages}
            for each in said.navigation.app_pages:
                if each.is_default:
                    self._pages[""] = each.page_script_hash
            here = {hash: name for name, hash in self._pages.items()}
            self.page = here.get(said.navigation.page_script_hash, self.page)
        elif kind == "page_info_changed":
            self.query = said.page_info_changed.query_string

    def _draw(self, said: ForwardMsg, counts: _Counts) -> None:
        path, delta = tuple(said.metadata.delta_path), said.delta
        if delta.WhichOneof("type") != "new_element":
            self.drawn.pop(path, None)
            return
        kind = delta.new_element.WhichOneof("type") or "empty"
        element = getattr(delta.new_element, kind)
        for below in [each for each in self.drawn if len(each) > len(path) and each[: len(path)] == path]:
            del self.drawn[below]
        self.drawn[path] = Drawn(kind, element, delta.fragment_id, self.reruns)
        if kind == "exception":
            counts.exceptions.append(f"{element.type}: {element.message}")
        elif kind == "alert" and element.format == element.ERROR:
            counts.errors.append(element.body)
        set_value = getattr(element, "set_value", False)
        if set_value and element.id in self._states:  # the server has moved it
            del self._states[element.id]

    def _clear(self, *, whole: bool) -> None:
        """Forget what this run has not drawn again, and messages that were not referred to for long."""
        for path, each in list(self.drawn.items()):
            if each.run != self.reruns and (whole or each.fragment in self._fragments):
                del self.drawn[path]
        if whole:
            there = {each.element.id for each in self.drawn.values() if hasattr(each.element, "id")}
            self._states = {id: state for id, state in self._states.items() if id in there}
        self._kept = {hash: kept for hash, kept in self._kept.items() if kept[0] >= self.reruns - _KEPT_RUNS}
