"""What the process is given: folders, providers and limits, each declared once and each an environment variable."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, SecretStr, ValidationError, field_validator

from crag.core.errors import CragError, SettingsError
from crag.core.settings import Range, days_of, first_problem, origins_of, setting


def _split(given: object) -> object:
    return tuple(each.strip() for each in given.split(",") if each.strip()) if isinstance(given, str) else given


CommaList = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Texts, which a variable or an option gives as one text with commas between them."""


class SettingsGroup(BaseModel):
    """Part of `AppConfig`. Each setting is also the environment variable CRAG_<NAME>, without the name of its group.

    The constructor does not read them: what code makes is what the code says. `AppConfig.from_environment` does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class StorageSettings(SettingsGroup, title="storage"):
    """Where documents and runs are stored and how long they stay."""

    data: Path = setting(Path("data"), "Data folder")
    """Where libraries are stored."""
    database_url: str = setting("", "Database", group="database", at_start=True, repr=False)
    """The PostgreSQL database that holds the libraries, as postgresql+psycopg://user:password@host:5432/database. If
    not set, each library is a file in the data folder. Set it in the environment only."""
    workspaces: Literal["auto", "one", "private"] = setting("auto", "Libraries")
    """one: every browser sees the same library. private: each browser has its own, found by its address. auto: private
    if other machines can reach the app. A change for callers behind a proxy takes effect at the next start."""
    index: Literal["embedded", "milvus"] = setting("embedded", "Chunk index", at_start=True)
    """Where chunks are searched. embedded: files beside each library. milvus: the server at the address below."""
    milvus_uri: str = setting("", "Milvus server", at_start=True)
    """http://host:19530, the https:// address of a cloud service, or a path that ends in .db for Milvus Lite, which
    only one process can use. Put user and password into CRAG_MILVUS_TOKEN, not here."""
    purge: str = setting("", "Purge")
    """Documents that the running app removes by itself, once an hour, written as options of the command purge, for
    example --older-than 90d --where "verified = false". They can be restored for a day. If not set, it removes none."""
    refresh: str = setting("", "Fetch web pages again")
    """Web documents older than this, for example 7d or 2w, are checked once an hour by the running app and replaced if
    they changed. If not set, it checks none."""

    @field_validator("purge")
    @classmethod
    def _conditions(cls, given: str) -> str:
        if given.strip():
            from crag.core.purging import conditions_of  # only who purges needs it

            try:
                conditions_of(given)
            except CragError as error:
                raise ValueError(str(error)) from error
        return given.strip()

    @field_validator("refresh")
    @classmethod
    def _age(cls, given: str) -> str:
        if given.strip():
            days_of(given)
        return given.strip()

    @property
    def refresh_days(self) -> int:
        """How old a look at a web document may become; 0: any age."""
        return days_of(self.refresh) if self.refresh else 0


class ProviderSettings(SettingsGroup, title="providers", extra="allow"):
    """Language model, evaluator and web.

    Beside those declared here there is a setting for the address of each provider that has one, "<name>_base_url", as
    its record says. Which providers there are is known to the registry alone: a name that is none of theirs is no error
    here, but of what is made from the configuration.
    """

    llm: str = setting("none", "Language model")
    """none: local models only. openai: OpenAI's own service. openai-compatible: any server with the same protocol, at
    the address below. gguf: a model file that runs on this machine."""
    llm_base_url: str = setting("", "Model server")
    """The address of an OpenAI-compatible server, usually ending in /v1."""
    llm_model: str = setting("", "Model")
    """The model's name as its server lists it. For gguf: the path of the file, or its name in the data folder's
    models/."""
    evaluator: str = setting("local", "Retrieval evaluator")
    """local: the model that ships with CRAG Explorer. llm: the language model, chunk by chunk. reranker: a server with
    /rerank."""
    rerank_base_url: str = setting("", "Reranking server")
    """The address before /rerank, usually ending in /v1."""
    rerank_model: str = setting("", "Reranking model")
    """The model's name as its server knows it."""
    writer: Literal["auto", "extractive", "llm"] = setting("auto", "Answers")
    """extractive: sentences quoted from the sources. llm: written by the language model. auto: llm if one is set."""
    web: str = setting("off", "Web provider")
    """Where to search if the documents are not enough."""
    web_fallback: str = setting("none", "When that fails")
    """The web provider to use if the first one fails."""
    web_folder: Path | None = setting(None, "Web folder")
    """A folder of saved pages (HTML, Markdown, text) to search instead of the web."""
    fetch_pages: bool = setting(True, "Read result pages")
    """Opens the pages behind web results. If off, only the provider's short text of each is used."""
    web_cache_hours: int = setting(24, "Web results remembered", Range(0, 8760, step=1, unit="hours"))
    """For how many hours the same query to the same provider is answered from memory, with the time of the search. Set
    to 0 to search every time."""
    ask_before_web: bool = setting(False, "Ask before a web search")
    """Shows each web query and sends it only after you approve it."""
    private_addresses: bool = setting(False, "Pages of this network")
    """Also opens web pages with addresses on this machine or its network. Leave off unless you know why you need it."""
    servers: CommaList = setting((), "Servers allowed")
    """The only servers for models, reranking and web search that people may choose. If not set: any, or, where other
    machines can reach the app, only OpenAI and the servers configured here."""
    prices: CommaList = setting((), "Prices", group="prices")
    """Prices in US dollars per million tokens in and out, and per call, where they differ from what the
    package genai-prices lists: model=in/out or provider=in/out/call; model=none if the price is unknown."""


class ServingSettings(SettingsGroup, title="serving"):
    """How the app is served."""

    uploads_mb: int = setting(1000, "Uploads in memory", Range(1, 100_000, step=100, unit="MB"), at_start=True)
    """How much all visitors together may have sent that is not yet read. More is refused until there is room."""
    framed_by: CommaList = setting((), "Pages that may frame the app", at_start=True)
    """Origins, for example https://portal.example.org, whose pages may show the app in a frame. If not set, no page
    may."""
    audit_days: int = setting(365, "Audit log", Range(0, 3650, step=30, unit="days"))
    """How many days audit entries (sign-ins, deletions, shares, changed settings, refusals) are kept. Set to 0 to keep
    them forever."""
    metrics: Literal["off", "local", "token"] = setting("off", "Metrics", at_start=True)
    """Who may read /metrics, for Prometheus. off: nobody. local: this machine, if no proxy leads others here. token:
    anyone who sends the content of CRAG_METRICS_TOKEN, or of the file named in CRAG_METRICS_TOKEN_FILE."""

    @field_validator("framed_by")
    @classmethod
    def _origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return origins_of(given)


class PeopleSettings(SettingsGroup, title="people"):
    """Who is let in and as what, where people sign in."""

    admins: CommaList = setting((), "Admins")
    """With sign-in: e-mails or subjects of people who are always admin, separated by commas."""
    admins_group: str = setting("", "Admins' group")
    """With sign-in: members of this group at the provider are admins."""
    editors_group: str = setting("", "Editors' group")
    """With sign-in: members of this group at the provider are at least editors."""
    groups_claim: str = setting("groups", "Groups claim")
    """The claim of the sign-in token that lists a person's groups."""
    new_people: Literal["viewer", "editor", "none"] = setting("viewer", "New people")
    """The role of people who sign in for the first time. none: only people who are invited, named, or in a group above
    may enter."""
    show_admins: bool = setting(True, "Show who the admins are")
    """With sign-in: people who can't add documents see the admins' names and e-mails, so that they know whom to ask.
    Turn this off if strangers may sign in."""
    signin_hours: int = setting(12, "Hours of a sign-in", Range(0, 720, step=1, unit="hours"))
    """After how many hours people must sign in again; until then they keep the role of a group they have left. Set to
    0 to follow the provider's token, which often ends within an hour."""
    keys_for: Literal["admins", "everyone"] = setting("admins", "Keys of the program")
    """With sign-in: who may use the app's own keys for providers that it has not turned on."""


class ModelSettings(SettingsGroup, title="models"):
    """The model that finds texts, and those that run on this machine."""

    embedding: Literal["local", "openai", "openai-compatible"] = setting("local", "Embedding model", at_start=True)
    """The model that finds texts by their meaning. local: multilingual-e5-small, which ships with CRAG Explorer and
    reads every script. openai: OpenAI's own service. openai-compatible: any server with the same protocol, such as
    Ollama or vLLM, at the address below. After a change, libraries must be re-indexed."""
    embedding_base_url: str = setting("", "Embedding server", at_start=True)
    """The address of an OpenAI-compatible server, usually ending in /v1. The text of every document is sent there."""
    embedding_model: str = setting("", "Model of embeddings", at_start=True)
    """The model's name as its server knows it."""
    threads: int = setting(0, "Threads", Range(0, 64, step=1), at_start=True)
    """Threads that the local models use. Set to 0 for one per core."""


class LimitSettings(SettingsGroup, title="limits"):
    """What one run and one file may take, and how much happens at once."""

    parallel_calls: int = setting(8, "Calls at once", Range(1, 64, step=1))
    """How many model calls run at the same time."""
    run_calls: int = setting(150, "Calls in a run", Range(1, 5000, step=10))
    """How many outside calls one question may make."""
    run_tokens: int = setting(200_000, "Tokens in a run", Range(1000, 10_000_000, step=10_000, unit="tokens"))
    """How many tokens, in and out, one question may use."""
    run_seconds: int = setting(120, "Seconds in a run", Range(5, 3600, step=10, unit="seconds"))
    """How long one question may wait for outside services in total. Each step before the answer gets at most half of
    the time that is left."""
    runs_at_once: int = setting(8, "Runs at once", Range(1, 64, step=1))
    """How many questions are answered at the same time, for all visitors together. Others wait in a queue and see
    their position."""
    readers: int = setting(2, "Files read at once", Range(1, 32, step=1))
    """How many files are read at the same time, for all visitors together, each in its own process with the memory and
    time below."""
    libraries: int = setting(1_000, "Most libraries", Range(0, 1_000_000, step=100))
    """How many libraries there may be if each browser has its own. Empty ones do not count. Set to 0 for no limit."""
    library_sessions: int = setting(200, "Tabs open in a browser", Range(0, 100_000, step=10, unit="tabs"))
    """How many tabs one browser may have open at once. A further tab opens as soon as
    another is closed. Set to 0 for no limit."""
    all_sessions: int = setting(500, "Tabs open in all", Range(0, 100_000, step=50, unit="tabs"))
    """How many browser tabs one process of the app serves at once. A further tab opens as soon as another is closed. A
    tab that lost its connection always comes back. Set to 0 for no limit."""
    session_mb: int = setting(500, "Uploads of a tab", Range(0, 100_000, step=50, unit="MB"))
    """How large the uploads of one browser tab may be together, until they are read. More are refused. Set to 0 for no
    limit."""
    max_file_mb: int = setting(100, "Largest file", Range(1, 1000, step=10, unit="MB"))
    """Larger files are refused."""
    max_pages: int = setting(2000, "Most pages", Range(1, 20_000, step=100, unit="pages"))
    """Documents with more pages are refused."""
    read_memory_mb: int = setting(1024, "Reader memory", Range(256, 8192, step=128, unit="MB"))
    """How much memory reading a file may take."""
    read_seconds: int = setting(20, "Reader time", Range(2, 600, step=5, unit="seconds"))
    """How many processor seconds reading a file may take, plus a tenth of a second per page."""
    recognise_pages: int = setting(500, "Most scanned pages", Range(0, 20_000, step=50, unit="pages"))
    """How many pages without text are read by text recognition, if it is installed. Set to 0 for none."""
    recognise_memory_mb: int = setting(2048, "Recognition memory", Range(1024, 8192, step=128, unit="MB"))
    """How much memory text recognition may take."""
    recognise_seconds: int = setting(60, "Recognition time", Range(5, 600, step=10, unit="seconds"))
    """How many processor seconds text recognition may take for a page."""


class QuotaSettings(SettingsGroup, title="quotas"):
    """What all workspaces together may take, where 0 is no limit, and how long an empty one stays."""

    all_questions_minute: int = setting(600, "Questions a minute", Range(0, 1_000_000, step=10, unit="questions"))
    """How many questions all workspaces together may ask per minute. Each process counts for itself."""
    all_mb: int = setting(50_000, "Disk", Range(0, 10_000_000, step=5_000, unit="MB"))
    """How much disk space all workspaces together may take."""
    all_dollars_day: float = setting(
        50.0, "Dollars a day", Range(0, 1_000_000, step=1.0, unit="$"), allow_inf_nan=False
    )
    """How much the outside calls of all workspaces together may cost per day (UTC), as far as prices are known. Beyond
    that, local parts answer."""


class Keys:
    """Keys by slot, where there are any. Their text forms show that there is one and never which. Immutable.

    Of the slots, which the providers' records name, `llm` goes to the configured model server, whichever it is, and
    `openai` to OpenAI's own service and nowhere else.
    """

    __slots__ = ("_held",)

    def __init__(self, **slots: SecretStr | None) -> None:
        self._held = {slot: key for slot, key in slots.items() if key is not None}

    def get(self, slot: str) -> SecretStr | None:
        return self._held.get(slot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self._held == other._held

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._held)))

    def __repr__(self) -> str:
        return f"Keys({self._held})"

    @classmethod
    def found(cls, source: Mapping[str, object], variables: Mapping[str, tuple[str, ...]]) -> Keys:
        """The keys in `source`, environment variables or a secrets file: of each slot's `variables` the first set."""
        return cls(**{slot: _first(source, names) for slot, names in variables.items()})

    def over(self, others: Keys) -> Keys:
        """These keys, and the others' where there is none here."""
        return Keys(**{**others._held, **self._held})


def _first(source: Mapping[str, object], variables: tuple[str, ...]) -> SecretStr | None:
    for variable in variables:
        value = source.get(variable)
        if isinstance(value, str) and value.strip():
            return SecretStr(value.strip())
    return None


class AppConfig(BaseModel):
    """What the process is given, in groups: `config.storage.data`, `config.providers.web`, `config.limits.readers`.

    No two settings of all groups have the same name. By that name alone a setting is given as an environment variable,
    an option, a stored choice and to the functions here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    storage: StorageSettings = StorageSettings()
    providers: ProviderSettings = ProviderSettings()
    models: ModelSettings = ModelSettings()
    serving: ServingSettings = ServingSettings()
    people: PeopleSettings = PeopleSettings()
    limits: LimitSettings = LimitSettings()
    quotas: QuotaSettings = QuotaSettings()

    @classmethod
    def of(cls, **settings: Any) -> AppConfig:
        """Settings by their names, and defaults for all others. Raises SettingsError naming the setting."""
        return cls().changed(**settings)

    @classmethod
    def from_environment(cls, **given: Any) -> AppConfig:
        """Given values first, then CRAG_* variables, then defaults. None is no value. Raises as `of` does.

        A CRAG_… variable that nothing reads is named in the log, once, with the nearest name.
        """
        for name, nearest in find_unknown_variables(os.environ).items():
            _warn_of(name, nearest)
        named = {name[5:].lower(): said for name, said in os.environ.items() if name.upper().startswith("CRAG_")}
        values: dict[str, Any] = {
            name: said for name, said in named.items() if _is_address(name) or (said and name in SETTINGS)
        }
        return cls.of(**{**values, **{name: value for name, value in given.items() if value is not None}})

    def changed(self, **settings: Any) -> AppConfig:
        """A copy with these settings in place of its own. Raises as `of` does."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            group = "providers" if _is_address(name) else _GROUP_OF.get(name, "")
            if not group:
                near = next(iter(get_close_matches(name, SETTINGS, 1)), "")
                raise SettingsError(f"There is no setting {name!r}.", f"Did you mean {near}?" if near else "")
            held = changes.setdefault(group, getattr(self, group).model_dump(exclude_unset=True))
            held[name] = value
            if value == "" and _is_address(name):
                del held[name]  # an empty address is none
        try:
            return self.model_copy(update={group: _GROUPS[group](**values) for group, values in changes.items()})
        except ValidationError as error:
            raise SettingsError(
                first_problem(error), "Correct the option or the CRAG_… environment variable of that name."
            ) from error

    def flat(self, *, mode: str = "python", given: bool = False) -> dict[str, Any]:
        """Every setting's value by its name, or only those that were `given`; `mode` as of pydantic's `model_dump`."""
        groups = [getattr(self, group) for group in _GROUPS]
        return {
            name: value for each in groups for name, value in each.model_dump(mode=mode, exclude_unset=given).items()
        }

    def get(self, name: str) -> Any:
        """The value of a setting; of a provider's address that is not given, nothing."""
        return getattr(getattr(self, _GROUP_OF.get(name, "providers")), name, "")


_GROUPS: dict[str, type[SettingsGroup]] = {name: type(group) for name, group in AppConfig()}
_GROUP_OF = {name: group for group, kind in _GROUPS.items() for name in kind.model_fields}
SETTINGS: Mapping[str, type[SettingsGroup]] = {name: _GROUPS[group] for name, group in _GROUP_OF.items()}
"""Every declared setting by its name, with the group that declares it."""

_ADDRESS = re.compile(r"[a-z][a-z0-9_]*_base_url")


def _is_address(name: str) -> bool:
    """Whether a setting is the address of a provider, of those that are not declared."""
    return name not in SETTINGS and _ADDRESS.fullmatch(name) is not None


_OTHER_VARIABLES = {
    *("CRAG_TOKENS", "CRAG_TOKENS_FILE", "CRAG_METRICS_TOKEN", "CRAG_METRICS_TOKEN_FILE", "CRAG_MILVUS_TOKEN"),
    *("CRAG_CHILD", "CRAG_SHARED"),
    *("CRAG_IMAGE", "CRAG_PORT", "CRAG_MEMORY", "CRAG_CPUS", "CRAG_CHECK_INSIDE"),
}
"""Variables that other parts of the program, its deployment and its tests read."""
_FOREIGN = re.compile(r"CRAG_[A-Z0-9_]+_(?:BASE_URL|KEY)|CRAG_(?:BENCH|SOAK|TEST)_[A-Z0-9_]+")
"""Addresses and keys of providers, which other packages may bring, and the variables of benchmarks and tests."""

_log = logging.getLogger(__name__)


def find_unknown_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Each CRAG_… variable that nothing reads, with the nearest name that is read; empty where none is near."""
    known = {f"CRAG_{name.upper()}" for name in SETTINGS} | _OTHER_VARIABLES
    found = [each for each in environment if each.startswith("CRAG_") and each not in known]
    unknown = sorted(each for each in found if not _FOREIGN.fullmatch(each))
    return {each: next(iter(get_close_matches(each, known, 1, 0.8)), "") for each in unknown}


@cache
def _warn_of(name: str, nearest: str) -> None:
    """Once a process, and never with its value: it may be a secret."""
    _log.warning("Nothing reads the environment variable %s.%s", name, f" Did you mean {nearest}?" if nearest else "")
