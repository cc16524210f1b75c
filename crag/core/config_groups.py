"""The groups of settings that a process is given, each setting declared once with its help, range and unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from crag.core.errors import CragError
from crag.core.fields import Range, days_of, origins_of, setting


def _split(given: object) -> object:
    return tuple(each.strip() for each in given.split(",") if each.strip()) if isinstance(given, str) else given


CommaList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Texts, which a variable or an option gives as one text with commas between them."""


class SettingsGroup(BaseSettings):
    """Part of `AppConfig`. Each setting is also the environment variable CRAG_<NAME>, without the name of its group.

    The constructor does not read them: what code makes is what the code says. `AppConfig.from_environment` does.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="CRAG_", env_ignore_empty=True, use_attribute_docstrings=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class StorageSettings(SettingsGroup, title="storage"):
    """Where documents and runs are stored and how long they stay."""

    data: Path = setting(Path("data"), "Data folder")
    """Where libraries are stored."""
    database_url: str = setting("", "Database", group="database", at_start=True, repr=False)
    """The PostgreSQL database that holds the libraries, as postgresql+psycopg://user:password@host:5432/database; none:
    a file each in the data folder. Taken from the environment alone."""
    workspaces: Literal["auto", "one", "private"] = setting("auto", "Libraries")
    """one: every browser sees the same library. private: each has its own, found by its address. auto: private where
    other machines can reach the app. Callers that a proxy brings are let in from the next start."""
    index: Literal["embedded", "milvus"] = setting("embedded", "Chunk index", at_start=True)
    """Where chunks are searched. embedded: files beside each library. milvus: a server, at the address below."""
    milvus_uri: str = setting("", "Milvus server", at_start=True)
    """http://host:19530, the https:// address of a cloud, or a path that ends in .db for Milvus Lite, which one process
    alone can use. Without user and password: these go into CRAG_MILVUS_TOKEN."""
    purge: str = setting("", "Purge")
    """Documents that the running app takes out by itself, looking once an hour, in the words of the command purge, as
    --older-than 90d --unverified. For a day they can be brought back. None: it takes out none."""
    refresh: str = setting("", "Fetch web pages again")
    """Documents from the web that the running app looks at again by itself, once an hour, where that was longer ago
    than this, as 7d or 2w; one that changed is replaced. None: it looks at none."""

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
    """none: local models alone. openai: OpenAI's own service. openai-compatible: any server that speaks its protocol,
    at the address below. gguf: a model file, run on this machine."""
    llm_base_url: str = setting("", "Model server")
    """The address of an OpenAI-compatible server, usually ending in /v1."""
    llm_model: str = setting("", "Model")
    """The name of the model, as its server lists it. Of gguf: the path of the file, or its name in models/ of the data
    folder."""
    evaluator: str = setting("local", "Retrieval evaluator")
    """local: the model that ships. llm: the language model, chunk by chunk. reranker: a server with /rerank."""
    rerank_base_url: str = setting("", "Reranking server")
    """The address before /rerank, usually ending in /v1."""
    rerank_model: str = setting("", "Reranking model")
    """Its name, as its server knows it."""
    writer: Literal["auto", "extractive", "llm"] = setting("auto", "Answers")
    """extractive: sentences quoted from the sources. llm: written by the language model. auto: llm if set."""
    web: str = setting("off", "Web provider")
    """Where knowledge is searched when the documents do not suffice."""
    web_fallback: str = setting("none", "When that fails")
    """The web provider that is asked where the first one fails."""
    web_folder: Path | None = setting(None, "Web folder")
    """A folder of saved pages (HTML, Markdown, text) that stands in for the web."""
    fetch_pages: bool = setting(True, "Read result pages")
    """Read the pages behind web results; otherwise the provider's short text of each is all that is used."""
    web_cache_hours: int = setting(24, "Web results remembered", Range(0, 8760, step=1, unit="hours"))
    """The same query to the same provider is answered from memory for so long, with the time it was found. 0: never."""
    ask_before_web: bool = setting(False, "Ask before a web search")
    """Show each web query and wait for a yes before it is sent."""
    private_addresses: bool = setting(False, "Pages of this network")
    """Also read web results, and add web pages, whose address lies on this machine or its network. Leave off unless you
    know why."""
    servers: CommaList = setting((), "Servers allowed")
    """The only servers of models, reranking and web search that may be chosen. None: any; but where other machines can
    reach the app, then only OpenAI and those that are configured here."""
    prices: CommaList = setting((), "Prices", group="prices")
    """US dollars for a million tokens in and out, and for one call, where they differ from the table that ships:
    model=in/out or provider=in/out/call; model=none where none is known."""


class ServingSettings(SettingsGroup, title="serving"):
    """How the app is served."""

    uploads_mb: int = setting(1000, "Uploads in memory", Range(1, 100_000, step=100, unit="MB"), at_start=True)
    """What all visitors together have sent and is not yet read; more is refused for the time being."""
    framed_by: CommaList = setting((), "Pages that may frame the app", at_start=True)
    """Origins such as https://portal.example.org whose pages may show the app in a frame. None: no page may."""
    audit_days: int = setting(365, "Audit log", Range(0, 3650, step=30, unit="days"))
    """How long entries are kept of who signed in, deleted, shared, changed a setting or was refused. 0: for good."""
    metrics: Literal["off", "local", "token"] = setting("off", "Metrics", at_start=True)
    """Who may read /metrics, for Prometheus. off: nobody. local: this machine, where no others are led here. token:
    anyone who sends what CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names."""

    @field_validator("framed_by")
    @classmethod
    def _origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return origins_of(given)


class PeopleSettings(SettingsGroup, title="people"):
    """Who is let in and as what, where people sign in."""

    admins: CommaList = setting((), "Admins")
    """With sign-in: e-mails or subjects, commas between them, of people who are admin whatever else says so."""
    admins_group: str = setting("", "Admins' group")
    """With sign-in: who is in this group at the provider is admin."""
    editors_group: str = setting("", "Editors' group")
    """With sign-in: who is in this group at the provider is editor at least."""
    groups_claim: str = setting("groups", "Groups claim")
    """The claim of the sign-in's token that lists a person's groups."""
    new_people: Literal["viewer", "editor", "none"] = setting("viewer", "New people")
    """What people are who sign in for the first time. none: only those who are invited, named or in a group above are
    let in."""
    show_admins: bool = setting(True, "Show who the admins are")
    """With sign-in: people who can't add documents see the admins' names and e-mails, to know whom to ask. Turn this
    off where strangers may sign in."""
    signin_hours: int = setting(12, "Hours of a sign-in", Range(0, 720, step=1, unit="hours"))
    """The hours after which people are asked to sign in again; until then they keep the role of a group they have left.
    0: when the provider's token ends, often within one."""
    keys_for: Literal["admins", "everyone"] = setting("admins", "Keys of the program")
    """With sign-in: who may use the program's own keys for providers that it has not turned on."""


class ModelSettings(SettingsGroup, title="local models"):
    """The models that run on this machine."""

    embedding: Literal["multilingual", "small"] = setting("multilingual", "Embedding model", at_start=True)
    """What texts are found by. multilingual: multilingual-e5-small, which finds more and reads many languages. small:
    all-MiniLM-L6-v2, for English; documents are added in half the time. A library indexed by the other one has to be
    re-indexed."""
    threads: int = setting(0, "Threads", Range(0, 64, step=1), at_start=True)
    """Threads the local models use. 0: as many as there are cores."""
