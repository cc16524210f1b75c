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
    example --older-than 90d --unverified. They can be restored for a day. If not set, it removes none."""
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
    """Prices in US dollars per million tokens in and out, and per call, where they differ from the table that ships:
    model=in/out or provider=in/out/call; model=none if the price is unknown."""


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


class ModelSettings(SettingsGroup, title="local models"):
    """The models that run on this machine."""

    embedding: Literal["multilingual", "small"] = setting("multilingual", "Embedding model", at_start=True)
    """The model that finds texts. multilingual: multilingual-e5-small, which finds more and reads many languages.
    small: all-MiniLM-L6-v2, for English, which adds documents twice as fast. After a change, libraries must be
    re-indexed."""
    threads: int = setting(0, "Threads", Range(0, 64, step=1), at_start=True)
    """Threads that the local models use. Set to 0 for one per core."""
