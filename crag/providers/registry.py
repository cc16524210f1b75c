"""All providers there are: those that ship, and those that other packages register. Choices are made from these.

Another package registers a web provider or an evaluator by an entry point, in one of GROUPS, that leads to its record
(a `WebProvider` or an `EvaluatorProvider`). One that can't be used harms no other: `unusable` says which, and why.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, cast, get_args

from crag.core.config import SETTINGS, Keys
from crag.core.settings import meta
from crag.evaluation.llm import LLM
from crag.evaluation.reranker import RERANKER
from crag.runtime.provider import EvaluatorProvider, Price, Provider, WebProvider
from crag.web.brave import BRAVE
from crag.web.duckduckgo import DUCKDUCKGO
from crag.web.folder import FOLDER
from crag.web.searxng import SEARXNG
from crag.web.tavily import TAVILY

log = logging.getLogger(__name__)

LOCAL = EvaluatorProvider(
    name="local",
    title="Local evaluator",
    about="The model that ships with the program: no calls, no cost.",
    leaves=False,
    make=lambda parts: parts.local,
)
OPENAI = Provider(
    name="openai",
    title="OpenAI",
    about="OpenAI's own service, with a key.",
    home="api.openai.com",
    key="llm",
    key_needed=True,
    variables=("OPENAI_API_KEY",),
)
COMPATIBLE = Provider(
    name="openai-compatible",
    title="Compatible server",
    about="Any server that speaks OpenAI's protocol.",
    address="llm_base_url",
    server="model",
    example="http://127.0.0.1:8080/v1",
    key="llm",
)
GGUF = Provider(
    name="gguf",
    title="Model file",
    about="A GGUF file, run on this machine by a process of its own. Nothing leaves it, and no call costs anything.",
    phrase="the model file",
    leaves=False,
    price=Price(),
)

OPENAI_EMBEDDING = Provider(
    name="openai",
    title="OpenAI",
    about="OpenAI's own service makes the vectors, with a key: the text of every document is sent there.",
    home="api.openai.com",
    key="embedding",
    key_needed=True,
)
EMBEDDING_SERVER = Provider(
    name="openai-compatible",
    title="Embedding server",
    about="Any server that speaks OpenAI's protocol makes the vectors: the text of every document is sent there.",
    address="embedding_base_url",
    server="embedding",
    example="http://127.0.0.1:11434/v1",
    key="embedding",
)

PROVIDERS: tuple[Provider, ...] = (
    *(OPENAI, COMPATIBLE, GGUF),
    *(LOCAL, LLM, RERANKER),
    *(FOLDER, TAVILY, DUCKDUCKGO, SEARXNG, BRAVE),
)
"""Those that ship, in the order in which they are offered."""
GROUPS: Mapping[str, type[Provider]] = {"crag.web_providers": WebProvider, "crag.evaluators": EvaluatorProvider}
"""Where entry points are looked for, and what each must lead to."""
_NONE = {"llm": "none", "web": "off", "web_fallback": "none"}
"""What each setting holds where no provider is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """What another package registered and can't be used. `detail`: the kind of error, or the name that is taken."""

    entry: str
    package: str
    reason: Literal["fails", "nonsense", "name-taken"]
    detail: str


def models() -> dict[str, Provider]:
    """The services of language models, by name."""
    return {each.name: each for each in (OPENAI, COMPATIBLE, GGUF)}


def embedders() -> dict[str, Provider]:
    """The services that make vectors, by name."""
    return {each.name: each for each in (OPENAI_EMBEDDING, EMBEDDING_SERVER)}


def evaluators() -> dict[str, EvaluatorProvider]:
    return {each.name: each for each in _all() if isinstance(each, EvaluatorProvider)}


def webs() -> dict[str, WebProvider]:
    return {each.name: each for each in _all() if isinstance(each, WebProvider)}


def providers(setting: str) -> Mapping[str, Provider]:
    """The providers among which a setting chooses, by name; none for a setting of another kind."""
    kinds: Mapping[str, Any] = {"llm": models, "evaluator": evaluators, "web": webs, "web_fallback": webs}
    return cast(Mapping[str, Provider], kinds[setting]()) if setting in kinds else {}


def choices(setting: str) -> tuple[str, ...]:
    """What a setting may be, where that is one of a few; else nothing."""
    found = providers(setting)
    if not found:
        kind = SETTINGS[setting].model_fields[setting].annotation if setting in SETTINGS else None
        return get_args(kind) if getattr(kind, "__origin__", None) is Literal else ()
    return (*([_NONE[setting]] if setting in _NONE else []), *found)


def title(name: str) -> str:
    """A provider in a sentence; an unknown one by its name."""
    return next((each.phrase or each.title for each in _all() if each.name == name), name)


def unusable() -> tuple[Unusable, ...]:
    return _load_plugins(tuple(sys.path))[1]


# Their settings and keys


def address_settings() -> dict[str, Provider]:
    """The settings that hold a provider's address and are not declared: each comes with its provider."""
    return {each.address: each for each in _all() if each.address and each.address not in SETTINGS}


def about(setting: str) -> dict[str, Any]:
    """What a form needs of a setting, declared or a provider's address; see `crag.core.settings.meta`."""
    if setting in SETTINGS:
        return meta(SETTINGS[setting], setting)
    owner = address_settings()[setting]
    said = (
        f"Where your {owner.server} server is, such as {owner.example}."
        if owner.server
        else f"Another address than {owner.title}'s own: a proxy, or a server of the same kind."
    )
    common = {"group": "providers", "unit": "", "step": None, "at_start": False, "default": ""}
    return dict(common, label=f"{owner.title}'s address", help=said, minimum=None, maximum=None)


def key_variables() -> dict[str, tuple[str, ...]]:
    """Where each slot's key is looked for in the environment, the first that is set.

    A variable that is a provider's own fills a slot of its name: no other provider gets what is found there. The token
    of Milvus is the owner's, as the index is: no session gives one.
    """
    found: dict[str, tuple[str, ...]] = {"milvus": ("CRAG_MILVUS_TOKEN",)}
    for each in (*_all(), OPENAI_EMBEDDING):
        if each.key:
            found.setdefault(each.key, (f"CRAG_{each.key.upper().replace('-', '_')}_KEY",))
            if each.variables:
                found[each.name] = (*found.get(each.name, ()), *each.variables)
    return found


def given_keys(source: Mapping[str, object] | None = None) -> Keys:
    """The keys among environment variables (the process's own, if not given) or a secrets file's entries."""
    return Keys.found(os.environ if source is None else source, key_variables())


# What other packages register


def _all() -> Sequence[Provider]:
    return (*PROVIDERS, *_load_plugins(tuple(sys.path))[0])


@lru_cache(maxsize=8)
def _load_plugins(path: tuple[str, ...]) -> tuple[tuple[Provider, ...], tuple[Unusable, ...]]:
    """The providers of the packages on this path, and what of them can't be used."""
    found: list[Provider] = []
    problems: list[Unusable] = []
    entries = [each for group in GROUPS for each in entry_points(group=group)]
    for entry in sorted(entries, key=lambda each: (_package(each), each.group, each.name)):
        taken = {name for each in (*PROVIDERS, *found) for name in (each.name, each.key)} | {*_NONE.values()}
        loaded = _load_entry(entry, taken)
        if isinstance(loaded, Provider):
            found.append(loaded)
        else:
            log.warning("the provider %s of %s can't be used: %s", entry.name, _package(entry), loaded.detail)
            problems.append(loaded)
    return tuple(found), tuple(problems)


def _load_entry(entry: EntryPoint, taken: set[str]) -> Provider | Unusable:
    def report_unusable(reason: Literal["fails", "nonsense", "name-taken"], detail: str) -> Unusable:
        return Unusable(entry=entry.name, package=_package(entry), reason=reason, detail=detail)

    try:
        record = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever another package does when it is imported
        return report_unusable("fails", type(error).__name__)
    wanted = GROUPS[entry.group]
    if not isinstance(record, (WebProvider, EvaluatorProvider)) or not isinstance(record, wanted):
        return report_unusable("nonsense", f"{type(record).__name__} in place of a {wanted.__name__}")
    if record.name in taken:
        return report_unusable("name-taken", record.name)
    own = f"{record.name.replace('-', '_')}_base_url"
    if not callable(record.make) or record.key not in ("", record.name) or record.address not in ("", own):
        return report_unusable("nonsense", f"its key and address must be named {record.name} and {own}")
    return record


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module
