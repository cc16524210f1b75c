"""The process's one engine and its jobs, shared by all sessions, and what the person chose in Settings."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from crag.admin.audit import format_setting
from crag.admin.people import Person, settings_in_use
from crag.admin.roles import may
from crag.core.config import SETTINGS, AppConfig, Keys
from crag.core.errors import SettingsError, StorageError
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.providers import describe_providers
from crag.providers.prices import Prices, usable
from crag.providers.registry import address_settings
from crag.runtime.jobs import Job, Jobs
from crag.storage.postgres import server_at
from crag.storage.values import CHOSEN, IN_USE, KeyValueStore
from crag.text import memory
from crag.web.folder import FOLDER
from ui.access import oidc, workspaces
from ui.access.allowed_choices import overridden
from ui.app import warmup

_log = logging.getLogger(__name__)

_REMOVED_EVERY = 3.0
"""Seconds between two looks for people who were removed; one without anything under way costs nothing."""
_PLACE = ("data", "database_url", "index", "milvus_uri")
"""What can't be chosen in the app: where libraries, their index and the choices themselves are stored."""


class Program:
    """Holds the engine, one from start to end. Choices are kept in the data folder; the environment outranks them.

    `make` builds the engine from a config, and `warm` begins to load what its first question needs: another program
    that embeds the app may put its own there before the first page is shown.
    """

    def __init__(
        self, make: Callable[[AppConfig], Engine] = Engine, warm: Callable[[Engine], object] = warmup.begin
    ) -> None:
        self.make, self.warm = make, warm
        self.who: Callable[[], Person | None] | None = None
        """Says who is there, for a program that embeds the app and signs people in itself; None: Streamlit's way."""
        self.jobs = Jobs()
        memory.on_deletion(self._forget)
        self.notice = ""
        self._engine: Engine | None = None
        self._warming: object = None
        self._watchers: list[Callable[[Trace], None]] = []
        self._ends: list[threading.Event] = []
        """End what goes on in the background: the hourly purge, and the look at who was removed."""
        self._lock = threading.RLock()

    @property
    def engine(self) -> Engine:
        """Raises CragError where the configuration is wrong or a model is missing."""
        with self._lock:
            if self._engine is None:
                self._engine = self.make(self._configured())
                _note_settings(self._engine.config)
                self._engine.watchers.extend(self._watchers)
                self._engine.private_libraries.settle()
                self._warming = self.warm(self._engine)
                self._ends = [_tidy_hourly(self._engine)]
                if oidc.on():
                    self._ends.append(_watch_removed(self._engine, self.jobs))
            return self._engine

    @property
    def made(self) -> Engine | None:
        """The engine, if there is one already."""
        return self._engine

    @property
    def ready(self) -> bool:
        """Whether there is an engine, and what its first question needs is loaded."""
        warming = self._warming
        return self._engine is not None and (warming.done if isinstance(warming, warmup.Warmup) else True)

    @property
    def config(self) -> AppConfig:
        return self.engine.config

    def watch(self, watcher: Callable[[Trace], None]) -> None:
        """Tell this one of every run that ends, see `Engine.watchers`."""
        with self._lock:
            self._watchers.append(watcher)
            if self._engine is not None:
                self._engine.watchers.append(watcher)

    def configure(self, by: str = "owner", /, **choices: Any) -> None:
        """Apply and keep these choices: what begins from now on begins with them, what is under way goes on as it is.

        `by`: who made them, for the audit log.

        Raises SettingsError, StorageError; then nothing has changed.
        """
        with self._lock:
            engine = self.engine
            free = {name: value for name, value in choices.items() if name not in _PLACE and not overridden(name)}
            config = engine.config.changed(**free)
            _check_web(engine, config)
            _store(config)
            before = engine.config
            engine.reconfigure(config)
            _note_settings(config)
        for name in SETTINGS:
            if (was := before.get(name)) != (now := config.get(name)):
                engine.teams.audit.note(
                    "setting", by, what=name, detail=f"{format_setting(was)} → {format_setting(now)}"
                )

    def _forget(self, gone: Collection[str]) -> None:
        """Let go of finished work in what was deleted, and of what says something of it."""

        def over(job: Job[object]) -> bool:
            return not job.running and (job.workspace in gone or any(_about(each) in gone for each in job.events()))

        self.jobs.drop(over)

    def close(self) -> None:
        """Closes the engine, if there is one; the next use makes another."""
        with self._lock:
            engine, self._engine = self._engine, None
            for end in self._ends:
                end.set()
        if engine is not None:
            engine.close()

    def _configured(self) -> AppConfig:
        given = AppConfig.from_environment()
        stored, self.notice = _load(given)
        free = {name: value for name, value in stored.items() if name not in _PLACE and not overridden(name)}
        try:
            return AppConfig.from_environment(**free)
        except SettingsError as error:
            self.notice = f"The stored settings were not used. {error.message}"
            return given


def _about(event: Any) -> str:
    """The document or evaluation that an event of a job is of; "" for none."""
    document, progress = getattr(event, "document", None), getattr(event, "progress", None)
    return str(getattr(document, "id", "") or getattr(progress, "evaluation", ""))


@st.cache_resource(show_spinner=False)
def program() -> Program:
    return Program()


def at_start() -> AppConfig:
    """What a process that starts now is given, by environment and stored choices; no engine is made.

    Raises SettingsError.
    """
    return Program()._configured()


def providers(config: AppConfig | None = None, keys: Keys | None = None) -> list[tuple[str, bool, str]]:
    """Name, on or off, and why, of everything an answer may rest on under `config` and `keys`. Raises CragError.

    Without them: as new sessions start.
    """
    engine = program().engine
    shared = workspaces.shared(engine.config)
    found = describe_providers(engine, config, keys, lambda folder: _near(folder, shared))
    return [(each.name, each.on, each.detail) for each in found]


def _near(folder: Path, shared: bool) -> str:
    """A folder as a person would name it from here; its own name alone where others may be visiting."""
    if shared:
        return folder.name
    for start, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder.is_relative_to(start) and folder != start:
            return f"{sign}{folder.relative_to(start).as_posix()}"
    return str(folder)


def _check_web(engine: Engine, config: AppConfig) -> None:
    """Raises SettingsError or WebSearchError where the chosen web can't serve, before anyone relies on it."""
    if config.providers.web == FOLDER.name:
        web = engine.web(config)
        if web is None:
            raise SettingsError(
                "The web provider is a folder, but no folder is given.", "Name the folder, or turn the web off."
            )
        web.search("page", 1)


def _load(config: AppConfig) -> tuple[dict[str, Any], str]:
    """The stored choices, without those that this version has no longer, and what is wrong with them in words."""
    try:
        with _kept(config) as kept:
            said = kept.read(CHOSEN)
        found = {} if said is None else json.loads(said)
    except (StorageError, ValueError):
        return {}, f"The stored settings ({CHOSEN}) can't be read and were not used: save Settings to replace them."
    if not isinstance(found, dict):
        return {}, f"The stored settings ({CHOSEN}) do not contain settings."
    known = {*SETTINGS, *address_settings()}
    return {name: value for name, value in found.items() if name in known}, ""


def _store(config: AppConfig) -> None:
    chosen = {
        name: value
        for name, value in config.flat(mode="json").items()
        if name not in _PLACE and value is not None and not overridden(name)
    }
    try:
        with _kept(config) as kept:
            kept.put(CHOSEN, (json.dumps(chosen, indent=2) + "\n").encode())
    except StorageError as error:
        raise StorageError(f"The settings can't be stored. {error.message}", error.remedy) from error


def _note_settings(config: AppConfig) -> None:
    """Let `crag people` know what people are admitted by here. The app works without it."""
    if not oidc.on():
        return
    try:
        with _kept(config) as kept:
            kept.put(IN_USE, settings_in_use(config))
    except StorageError as error:
        _log.warning("crag people may show other roles than the app: %s", error.message)


@contextmanager
def _kept(config: AppConfig) -> Iterator[KeyValueStore]:
    """Where choices are kept: beside the libraries."""
    server = server_at(config.storage.database_url)
    try:
        yield KeyValueStore(config.storage.data, server)
    finally:
        if server is not None:
            server.close()


def _tidy_hourly(engine: Engine) -> threading.Event:
    """Purge the libraries as it is configured, and end what can't be undone any more, until the event is set."""
    stop = threading.Event()

    def tidy() -> None:
        wait = 60.0  # the start is over by then
        while not stop.wait(wait):
            engine.tidy(stop)
            wait = 3600.0

    threading.Thread(target=tidy, name="tidying", daemon=True).start()
    return stop


def _watch_removed(engine: Engine, jobs: Jobs) -> threading.Event:
    """Stop what people began who were removed since, from whichever process, until the event is set."""
    stop = threading.Event()
    threading.Thread(target=_stop_removed_people, args=(engine, jobs, stop), name="removals", daemon=True).start()
    return stop


def _stop_removed_people(engine: Engine, jobs: Jobs, stop: threading.Event) -> None:
    while not stop.wait(_REMOVED_EVERY):
        try:
            stop_of_removed(engine, jobs)
        except StorageError as error:
            _log.warning("The list of removed people could not be read: %s", error.message)


def stop_of_removed(engine: Engine, jobs: Jobs) -> None:
    """Stop each job of a person who may not come in any more, or not do this in its workspace. Raises StorageError."""
    theirs = [job for job in jobs.running() if job.who]
    if not theirs:
        return
    welcome = {each.id: each for each in engine.teams.people.all() if each.welcome}
    for job in theirs:
        person = welcome.get(job.who)
        role = engine.teams.spaces.role_in(person, job.workspace) if person is not None else None
        if person is not None and role is None and person.role == "admin":
            role = person.role  # of a library that is no workspace of anybody
        if role is None or not may(role, "ask" if job.kind == "run" else "edit"):
            job.stop()


def prices_in_use() -> Prices:
    """The prices of this program."""
    return usable(program().config.providers.prices)
