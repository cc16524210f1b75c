"""Which models, graders and webs the process uses, and what their calls cost: a part of its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from crag.core.fields import setting

__all__ = ["ProviderSettings"]


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
