"""What the process is given: folders, providers and limits, each also an environment variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from crag.core.errors import CragError, SettingsError
from crag.core.fields import days_of, first_problem, origins_of, setting

__all__ = ["AppConfig"]

_ADDRESS = re.compile(r"[a-z][a-z0-9_]*_base_url")


class AppConfig(BaseModel):
    """What the process is given. Each setting is also the environment variable CRAG_<NAME>.

    Beside those declared here there is one for the address of each provider that has one, "<name>_base_url", as its
    record says. Which providers there are is known to the registry alone: a name that is none of theirs is no error
    here, but of what is made from the configuration.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, str] = Field(init=False)

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
    parallel_calls: int = setting(
        8, "Calls at once", "Model calls that run side by side.", group="limits", step=1, ge=1, le=64
    )
    run_calls: int = setting(
        150, "Calls in a run", "Outside calls that one question may cost.", group="limits", step=10, ge=1, le=5000
    )
    run_tokens: int = setting(
        200_000,
        "Tokens in a run",
        "Tokens, in and out, that one question may cost.",
        group="limits",
        unit="tokens",
        step=10_000,
        ge=1000,
        le=10_000_000,
    )
    run_seconds: int = setting(
        120,
        "Seconds in a run",
        "How long one question may wait for outside services in all. Each step before the answer takes at most half of "
        "what is left.",
        group="limits",
        unit="seconds",
        step=10,
        ge=5,
        le=3600,
    )
    runs_at_once: int = setting(
        8,
        "Runs at once",
        "Questions that are answered side by side, of all visitors together. The others wait in a queue and see their "
        "place in it.",
        group="limits",
        step=1,
        ge=1,
        le=64,
    )
    readers: int = setting(
        2,
        "Files read at once",
        "Files that are read side by side, of all visitors together, each in a process of its own with the memory and "
        "time below.",
        group="limits",
        step=1,
        ge=1,
        le=32,
    )
    library_mb: int = setting(
        5_000,
        "Largest library",
        "A library that takes as much of the disk takes no more. 0: no limit.",
        group="limits",
        unit="MB",
        step=500,
        ge=0,
        le=10_000_000,
    )
    all_mb: int = setting(
        50_000,
        "All libraries",
        "What all libraries of the data folder together may take of the disk. 0: no limit.",
        group="limits",
        unit="MB",
        step=5_000,
        ge=0,
        le=10_000_000,
    )
    libraries: int = setting(
        1_000,
        "Most libraries",
        "How many libraries there may be, where each browser has its own. An empty one takes no place. 0: no limit.",
        group="limits",
        step=100,
        ge=0,
        le=1_000_000,
    )
    max_file_mb: int = setting(
        100, "Largest file", "Larger files are refused.", group="limits", unit="MB", step=10, ge=1, le=1000
    )
    max_pages: int = setting(
        2000,
        "Most pages",
        "Documents with more pages are refused.",
        group="limits",
        unit="pages",
        step=100,
        ge=1,
        le=20_000,
    )
    read_memory_mb: int = setting(
        1024,
        "Reader memory",
        "Memory the reader of a file may take.",
        group="limits",
        unit="MB",
        step=128,
        ge=256,
        le=8192,
    )
    read_seconds: int = setting(
        20,
        "Reader time",
        "Processor seconds the reader of a file may take, plus a tenth of a second a page.",
        group="limits",
        unit="seconds",
        step=5,
        ge=2,
        le=600,
    )
    recognise_pages: int = setting(
        500,
        "Most scanned pages",
        "Pages of a document without text that are read by text recognition, where it is installed. 0: none.",
        group="limits",
        unit="pages",
        step=50,
        ge=0,
        le=20_000,
    )
    recognise_memory_mb: int = setting(
        2048,
        "Recognition memory",
        "Memory for text recognition.",
        group="limits",
        unit="MB",
        step=128,
        ge=1024,
        le=8192,
    )
    recognise_seconds: int = setting(
        60, "Recognition time", "Processor seconds for a page.", group="limits", unit="seconds", step=10, ge=5, le=600
    )
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

    @field_validator("framed_by")
    @classmethod
    def _origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return origins_of(given)

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

    def get(self, name: str) -> Any:
        """The value of a setting; of a provider's address that is not given, nothing."""
        return getattr(self, name, "")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> AppConfig:
        """Given values first, then CRAG_* variables, then defaults. Raises SettingsError naming the variable."""
        source = os.environ if environment is None else environment
        given_by = {
            each.removeprefix("CRAG_").lower(): each for each in source if re.fullmatch(r"CRAG_[A-Z0-9_]+", each)
        }
        values: dict[str, Any] = {
            name: source[variable]
            for name, variable in given_by.items()
            if source[variable] and (name in cls.model_fields or _ADDRESS.fullmatch(name))
        }
        values.update({name: value for name, value in given.items() if value is not None})
        for name in ("servers", "prices", "framed_by"):
            if isinstance(values.get(name), str):
                values[name] = tuple(each.strip() for each in values[name].split(",") if each.strip())
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(
                first_problem(error), "Correct the option or the CRAG_… environment variable of that name."
            ) from error
