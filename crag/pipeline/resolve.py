"""What a configuration comes to: who grades, writes and searches, what is missing, what leaves this machine.

It is decided here and nowhere else: runs are made from it, and whatever is said of a configuration is read from it.
Pure, but for a look at the model file that is named and at the memory that is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from crag.core.config import AppConfig, Keys
from crag.core.errors import ProviderError
from crag.core.settings import Settings
from crag.core.types import Step
from crag.providers import registry
from crag.providers.endpoint import Endpoint
from crag.providers.prices import price_of, usable
from crag.providers.registry import GGUF, LOCAL
from crag.runtime.provider import EvaluatorProvider, Price, Provider, WebProvider
from crag.web.folder import FOLDER

Kind = TypeVar("Kind", bound=Provider)
Kind_co = TypeVar("Kind_co", bound=Provider, covariant=True)

Reason = Literal[
    "unknown",
    "no-model",
    "no-key",
    "no-address",
    "bad-address",
    "not-allowed",
    "no-folder",
    "no-language-model",
    "no-file",
    "no-extra",
]
"""Why something can't be used: there is no such provider; or its model, key or address is not given, its address is
none, or is not among those that are allowed, or there are no pages, or it needs the language model and none is set.

A model file is not there, or what runs it is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that was chosen, by `name`, and can't be used; its record, if there is one of that name.

    `step` does without it. `address` is the one that can't be used, `file` the name of the model file.
    """

    step: Step
    name: str
    reason: Reason
    provider: Provider | None = None
    address: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Generic[Kind_co]):
    """A provider as it would be used. `price` is that of its model or calls, None where none is known."""

    provider: Kind_co
    endpoint: Endpoint
    price: Price | None = None

    @property
    def host(self) -> str:
        """Where it is; empty where nothing leaves this process."""
        if self.endpoint.base_url:
            return urlsplit(self.endpoint.base_url).netloc
        return registry.models().get(self.endpoint.provider, self.provider).home


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPlan:
    """What a configuration comes to. `model` speaks, where there is one: it rewrites, too, unless it is a file.

    `writer` is None where sentences are quoted. `webs` are asked in this order. `given_web` names the pages that
    the engine's maker put in place of the folder. `asks`: each query waits for a yes before it leaves.
    """

    model: Service[Provider] | None
    grader: Service[EvaluatorProvider]
    writer: Service[Provider] | None
    webs: tuple[Service[WebProvider], ...]
    missing: tuple[Missing, ...]
    folder: Path | None
    given_web: str
    asks: bool
    embedding: Service[Provider] | None = None
    """The server that makes the vectors; None: the local model."""

    @property
    def outside_webs(self) -> tuple[Service[WebProvider], ...]:
        """Those to which queries leave this machine."""
        return tuple(each for each in self.webs if each.provider.leaves)

    @property
    def leaving(self) -> tuple[Service[Provider], ...]:
        """All to which something leaves this process: questions and chunks, texts to be graded, queries."""
        used = (*filter(None, (self.embedding, self.model)), self.grader, *self.webs)
        # What grades by the language model goes where that is.
        return tuple(each for each in used if each.provider.leaves and each.endpoint.file is None)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The keys that are sent out: the slot of each, and to which server."""
        # What grades by the language model has no slot of its own: it is sent with that one's key.
        sent = [each for each in self.leaving if each.provider.key and each.endpoint.key is not None]
        return tuple(dict.fromkeys((each.provider.key, each.host) for each in sent))

    @property
    def pages(self) -> str:
        """What the folder of saved pages is called: as the engine's maker named it, or by its own name."""
        return self.given_web or (self.folder.name if self.folder else "")

    def missing_for(self, step: Step) -> Missing | None:
        """The first of what that step does without."""
        return next((each for each in self.missing if each.step == step), None)


def resolve_providers(
    config: AppConfig,
    keys: Keys,
    settings: Settings | None = None,
    *,
    given_web: str = "",
    embedding: Service[Provider] | None = None,
) -> ProviderPlan:
    """What `config` and `keys` come to; with `settings`, for a run under these: one that searches no web has none.

    `embedding` is the server that makes the vectors, which is the same for all.
    """
    chosen, given = _Chosen(config, keys), config.providers
    model = None
    if given.llm == GGUF.name:
        model = chosen.file()
    elif given.llm != "none":
        model = chosen.service("answer", given.llm, registry.models(), given.llm_model)
    grader = chosen.grader(model)
    searches = settings is None or bool(settings.web_on)
    names = dict.fromkeys((given.web, given.web_fallback)) if given.web != "off" and searches else {}
    webs = [_local(FOLDER)] if given_web and searches and FOLDER.name not in names else []
    for name in names:
        if name not in ("off", "none"):
            found = chosen.web(name, given_web)
            webs += [found] if found else []
    return ProviderPlan(
        model=model,
        grader=grader or _local(LOCAL),
        writer=model if given.writer != "extractive" else None,
        webs=tuple(webs),
        missing=tuple(chosen.missing),
        folder=given.web_folder,
        given_web=given_web,
        asks=given.ask_before_web and any(each.provider.leaves for each in webs),
        embedding=embedding,
    )


def resolve_embedding(config: AppConfig, keys: Keys) -> Service[Provider] | Missing | None:
    """The server that makes the vectors, or why what was chosen can't be used; None: the local model makes them."""
    name, chosen = config.models.embedding, _Chosen(config, keys)
    if name == "local":
        return None
    return chosen.service("retrieve", name, registry.embedders(), config.models.embedding_model) or chosen.missing[0]


def problem(missing: Missing) -> ProviderError:
    """Why something that was chosen can't be used, and what to do."""
    provider = missing.provider
    title = provider.title if provider else missing.name
    server = (provider.server or title) if provider else ""
    match missing.reason:
        case "unknown":
            said = f"There is no provider called {missing.name!r} here.", "Choose another in Settings, or install it."
        case "no-model" if provider == GGUF:
            said = "No model file is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL to its path."
        case "no-model":
            said = "No model is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL."
        case "no-key":
            known = registry.key_variables()
            variables = (known.get(provider.name) or known[provider.key]) if provider else ("",)
            said = f"{title} needs a key.", f"Enter it in Settings, or set {variables[-1]}."
        case "no-address":
            said = f"The {server} server has no address.", "Enter it in Settings."
        case "bad-address":
            example = provider.example if provider else ""
            said = f"{missing.address!r} is not the address of a {server} server.", f"Write it as {example}."
        case "not-allowed":
            host = urlsplit(missing.address).hostname
            said = f"{host} is not among the servers that may be used here.", "Ask your administrator."
        case "no-folder":
            said = "No folder of pages is set.", "Name it in Settings, or set CRAG_WEB_FOLDER."
        case "no-file":
            said = f"There is no model file {missing.file}.", "Check its path in Settings, or CRAG_LLM_MODEL."
        case "no-extra":
            said = (
                "The package that runs model files is not installed.",
                "Install it: pip install xllamacpp, and restart.",
            )
        case "no-language-model":
            said = "The evaluator needs a language model, and none is set.", "Set one in Settings."
    if missing.step == "retrieve":  # it is no choice of a person's
        variable = {"no-key": "EMBEDDING_KEY", "no-model": "EMBEDDING_MODEL"}
        named = variable.get(missing.reason, "EMBEDDING_BASE_URL")
        said = said[0].replace("No model", "No embedding model"), f"Set CRAG_{named}, and start again."
    return ProviderError(*said)


def bare(address: str) -> str:
    """An address as it is compared: without blanks around it or a stroke at its end."""
    return address.strip().rstrip("/")


class _Chosen:
    """What was chosen, looked up among the providers there are; what can't be used is put among the `missing`."""

    def __init__(self, config: AppConfig, keys: Keys) -> None:
        self._config, self._keys, self._given = config, keys, config.providers
        self.missing: list[Missing] = []
        self._prices = usable(self._given.prices)

    def grader(self, model: Service[Provider] | None) -> Service[EvaluatorProvider] | None:
        name, known = self._given.evaluator, registry.evaluators()
        needs = known[name].needs if name in known else "nothing"
        if name == LOCAL.name:
            return None
        if needs != "model":
            return self.service("evaluate", name, known, self._given.rerank_model if needs == "reranker" else None)
        if model is not None:
            return Service(provider=known[name], endpoint=model.endpoint, price=model.price)
        if self._given.llm == "none":  # else it is said of the model why there is none
            self._add_missing("evaluate", name, "no-language-model", known[name])
        return None

    def web(self, name: str, given_web: str) -> Service[WebProvider] | None:
        if name != FOLDER.name:
            return self.service("search", name, registry.webs())
        if self._given.web_folder is not None or given_web:
            return _local(FOLDER)
        self._add_missing("search", name, "no-folder", FOLDER)
        return None

    def service(
        self, step: Step, name: str, known: Mapping[str, Kind], model: str | None = None
    ) -> Service[Kind] | None:
        """The provider of that name with its model, key and address, if it can be used."""
        provider, servers = known.get(name), {bare(each) for each in self._given.servers}
        if provider is None:
            self._add_missing(step, name, "unknown")
            return None
        key = self._keys.get(provider.key) or self._keys.get(provider.name)
        address = bare(self._config.get(provider.address)) if provider.address else ""
        missing_for: Reason | None = None
        if step in ("answer", "retrieve") and not model:
            missing_for = "no-model"
        elif provider.key_needed and key is None:
            missing_for = "no-key"
        elif provider.server and not address:
            missing_for = "no-address"
        elif address and not _usable(address):
            missing_for = "bad-address"
        elif provider.server and servers and address not in servers and step != "retrieve":  # nobody chooses that
            missing_for = "not-allowed"
        if missing_for is not None:
            self._add_missing(step, name, missing_for, provider, address)
            return None
        endpoint = Endpoint(provider=name, model=model or "", base_url=address or None, key=key)
        return Service(provider=provider, endpoint=endpoint, price=price_of(model or "", name, self._prices))

    def file(self) -> Service[Provider] | None:
        """The model file that is chosen, if it is there, and what runs it."""
        from crag.providers.gguf_server import installed  # loads httpx, which only a model needs

        place = model_place(self._config)
        found = place.stat() if place is not None and place.is_file() else None
        if place is None or found is None or not installed():
            reason: Reason = "no-model" if place is None else "no-file" if found is None else "no-extra"
            said = Missing(step="answer", name=GGUF.name, reason=reason, provider=GGUF)
            self.missing.append(replace(said, file=place.name if place else ""))
            return None
        mark, threads = f"{found.st_size:x}-{found.st_mtime_ns:x}", self._config.models.threads
        endpoint = Endpoint(provider=GGUF.name, model=place.stem, file=place.absolute(), mark=mark, threads=threads)
        return Service(provider=GGUF, endpoint=endpoint, price=GGUF.price)

    def _add_missing(
        self, step: Step, name: str, reason: Reason, provider: Provider | None = None, address: str = ""
    ) -> None:
        self.missing.append(Missing(step=step, name=name, reason=reason, provider=provider, address=address))


def model_place(config: AppConfig) -> Path | None:
    """Where the model file lies that is named: at that path, or among those of the data folder. None: none is named."""
    said = config.providers.llm_model.strip().strip("'\"")
    if not said:
        return None
    # As a file comes that is dragged from a file manager.
    named = Path(unquote(urlsplit(said).path) if said.startswith("file://") else said).expanduser()
    own = model_folder(config) / named
    return own if not named.is_file() and own.is_file() else named


def model_folder(config: AppConfig) -> Path:
    """Where model files are looked for, beside the libraries."""
    return config.storage.data / "models"


def _local(provider: Kind) -> Service[Kind]:
    return Service(provider=provider, endpoint=Endpoint(provider=provider.name, model=""))


def _usable(address: str) -> bool:
    try:
        found = urlsplit(address)
        return bool(found.scheme in ("http", "https") and found.hostname and found.port != 0) and not (
            found.username or found.password
        )
    except ValueError:  # half an IPv6 address, a port that is none
        return False
