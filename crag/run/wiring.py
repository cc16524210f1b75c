"""What a configuration comes to: who grades, writes and searches, what is missing, what leaves this machine. Pure.

It is decided here and nowhere else: runs are made from it, and whatever is said of a configuration is read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar
from urllib.parse import urlsplit

from crag.core.config import AppConfig
from crag.core.errors import SettingsError
from crag.core.keys import Keys
from crag.core.provider import EvaluatorProvider, Price, Provider, WebProvider
from crag.core.settings import Settings
from crag.core.types import Step
from crag.providers import registry
from crag.providers.endpoint import Endpoint
from crag.providers.registry import FOLDER, LOCAL
from crag.spending.prices import price_of, table

__all__ = ["Missing", "Reason", "Service", "Wiring", "bare", "wired"]

Kind = TypeVar("Kind", bound=Provider)
Kind_co = TypeVar("Kind_co", bound=Provider, covariant=True)

Reason = Literal[
    "unknown", "no-model", "no-key", "no-address", "bad-address", "not-allowed", "no-folder", "no-language-model"
]
"""Why something can't be used: there is no such provider; or its model, key or address is not given, its address is
none, or is not among those that are allowed, or there are no pages, or it needs the language model and none is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that was chosen, by `name`, and can't be used; its record, if there is one of that name.

    `step` does without it. `address` is the one that can't be used.
    """

    step: Step
    name: str
    reason: Reason
    provider: Provider | None = None
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Generic[Kind_co]):
    """A provider as it would be used. `price` is that of its model or calls, None where none is known."""

    provider: Kind_co
    endpoint: Endpoint
    price: Price | None = None

    @property
    def host(self) -> str:
        """Where it is; empty where nothing leaves this process."""
        return urlsplit(self.endpoint.base_url).netloc if self.endpoint.base_url else self.provider.home


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What a configuration comes to. `model` speaks, where there is one: it rewrites, too.

    `writer` is None where sentences are quoted. `webs` are asked in this order. `given_web` names the pages that
    whoever made the engine put in place of the folder. `asks`: each query waits for a yes before it leaves.
    """

    model: Service[Provider] | None
    grader: Service[EvaluatorProvider]
    writer: Service[Provider] | None
    webs: tuple[Service[WebProvider], ...]
    missing: tuple[Missing, ...]
    folder: Path | None
    given_web: str
    asks: bool

    @property
    def outside_webs(self) -> tuple[Service[WebProvider], ...]:
        """Those to which queries leave this machine."""
        return tuple(each for each in self.webs if each.provider.leaves)

    @property
    def leaving(self) -> tuple[Service[Provider], ...]:
        """All to which something leaves this process: questions and chunks, texts to be graded, queries."""
        used = (*([self.model] if self.model else []), self.grader, *self.webs)
        return tuple(each for each in used if each.provider.leaves)

    def lacks(self, step: Step) -> Missing | None:
        """The first of what that step does without."""
        return next((each for each in self.missing if each.step == step), None)


def wired(config: AppConfig, keys: Keys, settings: Settings | None = None, *, given_web: str = "") -> Wiring:
    """What `config` and `keys` come to; with `settings`, for a run under these: one that searches no web has none."""
    try:
        prices: Mapping[str, Price] = table(config.prices)
    except SettingsError:  # the Costs tab says so; until then the list prices hold
        prices = table()
    missing: list[Missing] = []
    model = _kept(_model(config, keys, prices), missing)
    grader = _kept(_grader(config, keys, prices, model), missing)
    names = dict.fromkeys((config.web, config.web_fallback)) if config.web != "off" else {}
    webs = [] if given_web == "" or "folder" in names else [_local(FOLDER)]
    for name in names:
        if name not in ("off", "none"):
            found = _kept(_web(name, config, keys, prices, given_web), missing)
            webs += [found] if found else []
    searches = settings is None or bool(settings.web_on)
    asks = config.ask_before_web and any(each.provider.leaves for each in webs)
    return Wiring(
        model=model,
        grader=grader or _local(LOCAL),
        writer=model if config.writer != "extractive" else None,
        webs=tuple(webs) if searches else (),
        missing=tuple(each for each in missing if searches or each.step != "search"),
        folder=config.web_folder,
        given_web=given_web,
        asks=asks and searches,
    )


def bare(address: str) -> str:
    """An address as it is compared: without blanks around it or a stroke at its end."""
    return address.strip().rstrip("/")


def _kept(found: Service[Kind] | Missing | None, missing: list[Missing]) -> Service[Kind] | None:
    """What was found, if it can be used; what can't is put among the missing."""
    if isinstance(found, Missing):
        missing.append(found)
        return None
    return found


def _model(config: AppConfig, keys: Keys, prices: Mapping[str, Price]) -> Service[Provider] | Missing | None:
    if config.llm == "none":
        return None
    return _service(config.llm, registry.models(), "answer", config, keys, prices, config.llm_model, needs_model=True)


def _grader(
    config: AppConfig, keys: Keys, prices: Mapping[str, Price], model: Service[Provider] | None
) -> Service[EvaluatorProvider] | Missing | None:
    name = config.evaluator
    if name == LOCAL.name:
        return None
    known = registry.evaluators()
    provider = known.get(name)
    if provider is None or provider.needs != "model":
        served = config.rerank_model if provider is not None and provider.needs == "reranker" else ""
        return _service(name, known, "evaluate", config, keys, prices, served)
    if model is not None:
        return Service(provider=provider, endpoint=model.endpoint, price=model.price)
    if config.llm == "none":
        return Missing(step="evaluate", name=name, reason="no-language-model", provider=provider)
    return None  # why there is no model is said of the model


def _web(
    name: str, config: AppConfig, keys: Keys, prices: Mapping[str, Price], given_web: str
) -> Service[WebProvider] | Missing:
    if name != FOLDER.name:
        return _service(name, registry.webs(), "search", config, keys, prices)
    if config.web_folder is None and not given_web:
        return Missing(step="search", name=name, reason="no-folder", provider=FOLDER)
    return _local(FOLDER)


def _local(provider: Kind) -> Service[Kind]:
    return Service(provider=provider, endpoint=Endpoint(provider=provider.name, model=""))


def _service(
    name: str,
    known: Mapping[str, Kind],
    step: Step,
    config: AppConfig,
    keys: Keys,
    prices: Mapping[str, Price],
    model: str = "",
    *,
    needs_model: bool = False,
) -> Service[Kind] | Missing:
    """The provider of that name with its model, key and address, if it can be used."""
    provider = known.get(name)
    address = bare(config.get(provider.address)) if provider is not None and provider.address else ""

    def missing(reason: Reason) -> Missing:
        return Missing(step=step, name=name, reason=reason, provider=provider, address=address)

    if provider is None:
        return missing("unknown")
    if needs_model and not model:
        return missing("no-model")
    key = keys.get(provider.key) or keys.get(provider.name)
    if provider.key_needed and key is None:
        return missing("no-key")
    if provider.server and not address:
        return missing("no-address")
    if address and not _usable(address):
        return missing("bad-address")
    if provider.server and config.servers and address not in {bare(each) for each in config.servers}:
        return missing("not-allowed")
    endpoint = Endpoint(provider=name, model=model, base_url=address or None, key=key)
    return Service(provider=provider, endpoint=endpoint, price=price_of(model, name, prices))


def _usable(address: str) -> bool:
    try:
        found = urlsplit(address)
        return bool(found.scheme in ("http", "https") and found.hostname and found.port != 0) and not (
            found.username or found.password
        )
    except ValueError:  # half an IPv6 address, a port that is none
        return False
