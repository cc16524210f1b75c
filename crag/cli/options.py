"""Options that several commands share, what is made from them, and the files that a command reads and writes."""

from __future__ import annotations

import os
import signal
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from typer import Context, Option

from crag.analysis.questions.sets import MOST_BYTES
from crag.cli.output import Options
from crag.core.config import SETTINGS, AppConfig
from crag.core.documents import find_id
from crag.core.errors import PROGRAM, InputError, NotFoundError, SettingsError
from crag.core.filters import Scope, narrow_filter
from crag.core.metadata import tags_of
from crag.core.settings import Settings, meta
from crag.core.strategies import STRATEGIES, Strategy, strategy
from crag.core.types import Aggregation
from crag.engine import Engine
from crag.providers import registry


def read_file(path: Path, hint: str) -> bytes:
    """The file's bytes; its size is looked at before anything is read. Raises InputError with the hint."""
    with explain_access(path, "read", hint):
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} has over {MOST_BYTES // 1024**2} MiB.", "Split it, or leave out long columns.")
        with path.open("rb") as file:  # some files are longer than they say
            return file.read(MOST_BYTES + 1)


@contextmanager
def explain_access(path: Path, done: str, hint: str) -> Iterator[None]:
    """Raises InputError with the hint where this can't be done with a file or folder."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} can't be {done}: {error.strerror or type(error).__name__}.", hint) from error


def check_target(file: Path | None) -> None:
    """Looks before hours of work whether its results can be written. Raises InputError."""
    if file is None:
        return
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise InputError(f"{file} can't be written.", "Name a file in a folder that is there and may be written to.")


if TYPE_CHECKING:
    from crag.admin.audit import AuditedAct
    from crag.core.documents import Document
    from crag.storage.library import Library
    from crag.storage.purges import Purged

DEFAULT_WORKSPACE = "default"


N = TypeVar("N", "Document", "Purged")


@dataclass(frozen=True, slots=True)
class Place(Options):
    """Which library a command works on."""

    ctx: Context
    library: Annotated[
        Path | None, Option(metavar="DIR", help="the library's folder (default: the app's own, under CRAG_DATA)")
    ] = None

    @property
    def target(self) -> str | Path:
        """The library as the engine takes it."""
        return DEFAULT_WORKSPACE if self.library is None else self.library

    @property
    def existing(self) -> str | Path:
        """The same for commands that only read: they must not make one by misspelling it. Raises NotFoundError."""
        if self.library is not None and not self.library.is_dir():
            raise NotFoundError(
                f"There is no library at {self.library}.",
                f"Make one: {PROGRAM} index FILE.pdf --library {self.library}",
            )
        return self.target

    @contextmanager
    def opened(self) -> Iterator[tuple[Engine, Library]]:
        """The engine and this library, which must be there. Raises NotFoundError."""
        place = self.existing
        with opened(self.ctx) as engine:
            yield engine, engine.library(place)


@dataclass(frozen=True, slots=True)
class Part(Place):
    """Which documents of a library are asked."""

    of: Annotated[list[str] | None, Option(metavar="NAME_OR_ID", help="ask only this document; may be given again")] = (
        None
    )
    tag: Annotated[
        list[str] | None, Option(metavar="TAG", help="ask only documents with this tag; may be given again")
    ] = None

    def narrow(self, chosen: Settings, engine: Engine) -> Settings:
        """The settings for these documents. Raises NotFoundError for a document or tag."""
        if not self.of and not self.tag:
            return chosen
        stored = engine.library(self.existing).documents
        documents = stored.all() if self.of else []
        ids = [find_document(said, documents).id for said in self.of or ()]
        tags = {tag for given in stored.given().values() for tag in tags_of(given)} if self.tag else set()
        known = {tag.casefold() for tag in tags}
        for tag in self.tag or ():
            if tag.casefold() not in known:
                near = ", ".join(sorted(tags)[:12]) or "none yet"
                raise NotFoundError(f"No document has the tag {tag}.", f"Tags there are: {near}.")
        return chosen.changed(where=narrow_filter(chosen.where, Scope(tuple(ids), tuple(self.tag or ()))))


_NAMES = f"a saved configuration, or one of: {', '.join(STRATEGIES)}"
StrategyName = Annotated[str, Option("--strategy", metavar="NAME", help=_NAMES)]
_NAMED: dict[str, tuple[Any, str]] = {
    "upper": (str, "SCORE"),
    "lower": (str, "SCORE"),
    "aggregation": (Literal[tuple(map(str, Aggregation))], ""),
    "k": (str, "N"),
    "where": (list[str], "CONDITION"),
}
"""The settings of a run that have an option of their own: of which type it is, and how its values are called."""


class Run(Options):
    """A strategy, and what is changed of its settings: the common ones by name, all of them by `--set`."""

    def __init__(
        self,
        *,
        strategy: StrategyName = "balanced",
        set: Annotated[
            list[str] | None,
            Option(metavar="NAME=VALUE", help="any setting of docs/reference.md; several actions are joined by commas"),
        ] = None,
        **given: Any,
    ) -> None:
        self.strategy = strategy
        self._changes = {name: value for name, value in given.items() if value is not None}
        self._changes |= dict(map(_read_setting, set or ()))

    @classmethod
    def parameters(cls) -> list[Parameter]:
        strategy, set, _ = super().parameters()
        named = [
            _declare(name, meta(Settings, name)["help"], kind, metavar) for name, (kind, metavar) in _NAMED.items()
        ]
        return [strategy, *named, set]

    def settings(self, known: Mapping[str, Strategy] = STRATEGIES, name: str = "") -> Settings:
        """The settings of the strategy chosen (or of this name), changed. SettingsError says what is wrong.

        `known`: the strategies there are.
        """
        base = strategy(name or self.strategy, known).settings
        return base.changed(**self._changes) if self._changes else base


def _read_setting(pair: str) -> tuple[str, Any]:
    """A setting and its value, as `--set` takes them. Raises SettingsError."""
    name, equals, value = pair.partition("=")
    if not equals:
        raise SettingsError(f"--set {pair}: no value given.", "Write --set NAME=VALUE.")
    if name not in Settings.model_fields:
        near = get_close_matches(name, Settings.model_fields, n=1)
        hint = f"Did you mean {near[0]}?" if near else "docs/reference.md lists all settings."
        raise SettingsError(f"--set {pair}: there is no setting {name!r}.", hint)
    many = isinstance(Settings.model_fields[name].default, tuple)
    return name, tuple(each.strip() for each in value.split(",") if each.strip()) if many else value


class Providers(Options):
    """Which outside services take part. Keys come from the environment alone: a command line is seen by others."""

    def __init__(self, ctx: Context, **given: Any) -> None:
        self._ctx = ctx
        self._given = {name: value for name, value in given.items() if value is not None}
        if self._given.get("web_folder"):
            self._given.setdefault("web", "folder")

    @classmethod
    def parameters(cls) -> list[Parameter]:
        def declare(name: str) -> Parameter:
            flag = name in SETTINGS and SETTINGS[name].model_fields[name].annotation is bool
            kind = bool if flag else Literal[choices] if (choices := tuple(registry.choices(name))) else str
            return _declare(name, str(registry.about(name)["help"]), kind, name.rpartition("_")[2].upper())

        return [super().parameters()[0], *map(declare, provider_settings())]

    def opened(self) -> AbstractContextManager[Engine]:
        """The engine with them, for one command."""
        return opened(self._ctx, **self._given)


def _declare(name: str, help: str, kind: Any, metavar: str) -> Parameter:
    """The option of a setting; what is not given is None."""
    option = option_of(name)
    names = [f"{option}/--no-{option[2:]}"] if kind is bool else [option]
    about = Option(*names, metavar=metavar if kind in (str, list[str]) else None, help=help)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, about])


def provider_settings() -> tuple[str, ...]:
    """What can be chosen of outside services, where they are, and what a run may cost."""
    declared = (
        name
        for name, kind in SETTINGS.items()
        if meta(kind, name)["group"] in ("providers", "prices") or name.startswith(("run_", "parallel_"))
    )
    return (*declared, *registry.address_settings())


def option_of(name: str) -> str:
    """The command-line option of a setting of AppConfig."""
    return {"llm_base_url": "--base-url", "llm_model": "--model"}.get(name, f"--{name.replace('_', '-')}")


def record_command(engine: Engine, place: str | Path, act: AuditedAct, what: str, detail: str = "") -> None:
    """Have it in the audit log of the data folder that a command did this to its library."""
    workspace = place if isinstance(place, str) else place.absolute().name
    engine.teams.audit.note(act, "command line", workspace=workspace, what=what, detail=detail)


def find_document(said: str, documents: Sequence[N]) -> N:
    """The document of this name, or whose id begins so. Raises NotFoundError for none and for several."""
    remedy = "The command documents lists names and ids; with --purged, of what was purged lately."
    found = find_id(said, {each.id: each.name for each in documents}, remedy)
    return next(each for each in documents if each.id == found)


def latest_run(library: Library) -> str:
    """The id of the library's latest run. Raises NotFoundError where there is none."""
    latest = library.runs.latest(1)
    if not latest:
        raise NotFoundError("There is no run in this library.", "Ask a question first.")
    return latest[0].run_id


@contextmanager
def opened(ctx: Context, **given: Any) -> Iterator[Engine]:
    """The engine for one command, closed at its end. `given` are values of AppConfig; None means not given."""
    config = AppConfig.from_environment(**given)
    engine: Engine = (ctx.obj or Engine)(config)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C (or SIGTERM) sets, so that work stops in good order; the second one interrupts."""
    cancel = threading.Event()

    def ask_to_stop(number: int, frame: types.FrameType | None) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    before: dict[int, Callable[[int, types.FrameType | None], Any] | int | None] = {
        number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield cancel
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
