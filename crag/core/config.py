"""What the process is given: folders, providers and limits, each also an environment variable."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from crag.core.errors import CragError, SettingsError
from crag.core.fields import days_of, first_problem, origins_of, setting
from crag.core.limit_settings import LimitSettings

__all__ = ["AppConfig", "Keys", "ProviderSettings", "ServingSettings", "StorageSettings", "find_unknown_variables"]


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


class StorageSettings(BaseModel):
    """Part of `AppConfig`."""

    data: Path = setting(Path("data"), "Data folder", "Where libraries are stored.", group="storage")
    database_url: str = setting(
        "",
        "Database",
        "The PostgreSQL database that holds the libraries, as postgresql+psycopg://user:password@host:5432/database; "
        "none: a file each in the data folder. Taken from the environment alone.",
        group="database",
        at_start=True,
        repr=False,
    )
    workspaces: Literal["auto", "one", "private"] = setting(
        "auto",
        "Libraries",
        "one: every browser sees the same library. private: each has its own, found by its address. "
        "auto: private where other machines can reach the app. Callers that a proxy brings are let in from the next "
        "start.",
        group="storage",
    )
    index: Literal["embedded", "milvus"] = setting(
        "embedded",
        "Chunk index",
        "Where chunks are searched. embedded: files beside each library. milvus: a server, at the address below.",
        group="storage",
        at_start=True,
    )
    milvus_uri: str = setting(
        "",
        "Milvus server",
        "http://host:19530, the https:// address of a cloud, or a path that ends in .db for Milvus Lite, which one "
        "process alone can use. Without user and password: these go into CRAG_MILVUS_TOKEN.",
        group="storage",
        at_start=True,
    )
    purge: str = setting(
        "",
        "Purge",
        "Documents that the running app takes out by itself, looking once an hour, in the words of the command "
        "purge, as --older-than 90d --unverified. For a day they can be brought back. None: it takes out none.",
        group="storage",
    )
    refresh: str = setting(
        "",
        "Fetch web pages again",
        "Documents from the web that the running app looks at again by itself, once an hour, where that was longer ago "
        "than this, as 7d or 2w; one that changed is replaced. None: it looks at none.",
        group="storage",
    )

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


class ProviderSettings(BaseModel):
    """Part of `AppConfig`."""

    llm: str = setting(
        "none",
        "Language model",
        "none: local models alone. openai: OpenAI's own service. openai-compatible: any server that speaks its "
        "protocol, at the address below. gguf: a model file, run on this machine.",
        group="providers",
    )
    llm_base_url: str = setting(
        "", "Model server", "The address of an OpenAI-compatible server, usually ending in /v1.", group="providers"
    )
    llm_model: str = setting(
        "",
        "Model",
        "The name of the model, as its server lists it. Of gguf: the path of the file, or its name in models/ of the "
        "data folder.",
        group="providers",
    )
    evaluator: str = setting(
        "local",
        "Retrieval evaluator",
        "local: the model that ships. llm: the language model, chunk by chunk. reranker: a server with /rerank.",
        group="providers",
    )
    rerank_base_url: str = setting(
        "", "Reranking server", "The address before /rerank, usually ending in /v1.", group="providers"
    )
    rerank_model: str = setting("", "Reranking model", "Its name, as its server knows it.", group="providers")
    writer: Literal["auto", "extractive", "llm"] = setting(
        "auto",
        "Answers",
        "extractive: sentences quoted from the sources. llm: written by the language model. auto: llm if set.",
        group="providers",
    )
    web: str = setting(
        "off", "Web provider", "Where knowledge is searched when the documents do not suffice.", group="providers"
    )
    web_fallback: str = setting(
        "none", "When that fails", "The web provider that is asked where the first one fails.", group="providers"
    )
    web_folder: Path | None = setting(
        None,
        "Web folder",
        "A folder of saved pages (HTML, Markdown, text) that stands in for the web.",
        group="providers",
    )
    fetch_pages: bool = setting(
        True,
        "Read result pages",
        "Read the pages behind web results; otherwise the provider's short text of each is all that is used.",
        group="providers",
    )
    web_cache_hours: int = setting(
        24,
        "Web results remembered",
        "The same query to the same provider is answered from memory for so long, with the time it was found. "
        "0: never.",
        group="providers",
        unit="hours",
        step=1,
        ge=0,
        le=8760,
    )
    ask_before_web: bool = setting(
        False, "Ask before a web search", "Show each web query and wait for a yes before it is sent.", group="providers"
    )
    private_addresses: bool = setting(
        False,
        "Pages of this network",
        "Also read web results, and add web pages, whose address lies on this machine or its network. Leave off unless "
        "you know why.",
        group="providers",
    )
    servers: tuple[str, ...] = setting(
        (),
        "Servers allowed",
        "The only servers of models, reranking and web search that may be chosen. None: any; but where other machines "
        "can reach the app, then only OpenAI and those that are configured here.",
        group="providers",
    )
    prices: tuple[str, ...] = setting(
        (),
        "Prices",
        "US dollars for a million tokens in and out, and for one call, where they differ from the table that ships: "
        "model=in/out or provider=in/out/call; model=none where none is known.",
        group="prices",
    )


class ServingSettings(BaseModel):
    """Part of `AppConfig`."""

    uploads_mb: int = setting(
        1000,
        "Uploads in memory",
        "What all visitors together have sent and is not yet read; more is refused for the time being.",
        group="serving",
        at_start=True,
        unit="MB",
        step=100,
        ge=1,
        le=100_000,
    )
    framed_by: tuple[str, ...] = setting(
        (),
        "Pages that may frame the app",
        "Origins such as https://portal.example.org whose pages may show the app in a frame. None: no page may.",
        group="serving",
        at_start=True,
    )
    admins: tuple[str, ...] = setting(
        (),
        "Admins",
        "With sign-in: e-mails or subjects, commas between them, of people who are admin whatever else says so.",
        group="people",
    )
    admins_group: str = setting(
        "",
        "Admins' group",
        "With sign-in: who is in this group at the provider is admin.",
        group="people",
    )
    editors_group: str = setting(
        "",
        "Editors' group",
        "With sign-in: who is in this group at the provider is editor at least.",
        group="people",
    )
    groups_claim: str = setting(
        "groups",
        "Groups claim",
        "The claim of the sign-in's token that lists a person's groups.",
        group="people",
    )
    new_people: Literal["viewer", "editor", "none"] = setting(
        "viewer",
        "New people",
        "What people are who sign in for the first time. none: only those who are invited, named or in a group above "
        "are let in.",
        group="people",
    )
    show_admins: bool = setting(
        True,
        "Show who the admins are",
        "With sign-in: people who can't add documents see the admins' names and e-mails, to know whom to ask. "
        "Turn this off where strangers may sign in.",
        group="people",
    )
    signin_hours: int = setting(
        12,
        "Hours of a sign-in",
        "After so many hours people are asked to sign in again; so long they keep the role of a group they have left. "
        "0: when the provider's token ends, often within one.",
        group="people",
        unit="hours",
        step=1,
        ge=0,
        le=720,
    )
    keys_for: Literal["admins", "everyone"] = setting(
        "admins",
        "Keys of the program",
        "With sign-in: who may use the program's own keys for providers that it has not turned on.",
        group="people",
    )
    audit_days: int = setting(
        365,
        "Audit log",
        "How long entries are kept of who signed in, deleted, shared, changed a setting or was refused. 0: for good.",
        group="serving",
        unit="days",
        step=30,
        ge=0,
        le=3650,
    )

    metrics: Literal["off", "local", "token"] = setting(
        "off",
        "Metrics",
        "Who may read /metrics, for Prometheus. off: nobody. local: this machine, where no others are led here. token: "
        "anyone who sends what CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names.",
        group="serving",
        at_start=True,
    )

    processes: int = setting(
        1,
        "Server processes",
        "So many processes serve the app behind its one address, each browser one of them. More than one pays where "
        "many people work at once and there are cores and memory: each holds its own models, about half a GB.",
        group="serving",
        at_start=True,
        step=1,
        ge=1,
        le=64,
    )

    @field_validator("framed_by")
    @classmethod
    def _origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return origins_of(given)


_ADDRESS = re.compile(r"[a-z][a-z0-9_]*_base_url")
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
    known = {f"CRAG_{name.upper()}" for name in AppConfig.model_fields} | _OTHER_VARIABLES
    found = [each for each in environment if each.startswith("CRAG_") and each not in known]
    unknown = sorted(each for each in found if not _FOREIGN.fullmatch(each))
    return {each: next(iter(get_close_matches(each, known, 1, 0.8)), "") for each in unknown}


@cache
def _warn_of(name: str, nearest: str) -> None:
    """Once a process, and never with its value: it may be a secret."""
    _log.warning("Nothing reads the environment variable %s.%s", name, f" Did you mean {nearest}?" if nearest else "")


class AppConfig(ServingSettings, LimitSettings, ProviderSettings, StorageSettings):
    """What the process is given. Each setting is also the environment variable CRAG_<NAME>.

    Beside those declared here there is one for the address of each provider that has one, "<name>_base_url", as its
    record says. Which providers there are is known to the registry alone: a name that is none of theirs is no error
    here, but of what is made from the configuration.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, str] = Field(init=False)

    embedding: Literal["multilingual", "small"] = setting(
        "multilingual",
        "Embedding model",
        "What texts are found by. multilingual: multilingual-e5-small, which finds more and reads many languages. "
        "small: all-MiniLM-L6-v2, for English; documents are added in half the time. A library indexed by the other "
        "one has to be re-indexed.",
        group="local models",
        at_start=True,
    )
    threads: int = setting(
        0,
        "Threads",
        "Threads the local models use. 0: as many as there are cores.",
        group="local models",
        at_start=True,
        step=1,
        ge=0,
        le=64,
    )

    @model_validator(mode="before")
    @classmethod
    def _addresses(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Of what is not declared, only addresses; an empty one is none."""
        unknown = given.keys() - cls.model_fields.keys()
        for name in unknown:
            if not _ADDRESS.fullmatch(name):
                raise ValueError(f"there is no setting {name!r}")
        return {name: value for name, value in given.items() if value != "" or name not in unknown}

    def get(self, name: str) -> Any:
        """The value of a setting; of a provider's address that is not given, nothing."""
        return getattr(self, name, "")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> AppConfig:
        """Given values first, then CRAG_* variables, then defaults. Raises SettingsError naming the variable.

        A CRAG_… variable of the process that nothing reads is named in the log, once, with the nearest name.
        """
        source = os.environ if environment is None else environment
        if environment is None:
            for name, nearest in find_unknown_variables(source).items():
                _warn_of(name, nearest)
        given_by = {
            each.removeprefix("CRAG_").lower(): each for each in source if re.fullmatch(r"CRAG_[A-Z0-9_]+", each)
        }
        values: dict[str, Any] = {
            name: source[variable]
            for name, variable in given_by.items()
            if source[variable] and (name in cls.model_fields or _ADDRESS.fullmatch(name))
        }
        values.update({name: value for name, value in given.items() if value is not None})
        for name in ("servers", "prices", "framed_by", "admins"):
            if isinstance(values.get(name), str):
                values[name] = tuple(each.strip() for each in values[name].split(",") if each.strip())
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(
                first_problem(error), "Correct the option or the CRAG_… environment variable of that name."
            ) from error
