"""What one browser session may choose of the configuration, and what stays with whoever runs the program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crag.core.config import AppConfig
from crag.core.errors import NotFoundError
from crag.core.fields import meta
from crag.sample import load_sample
from ui.app.program import overridden

__all__ = [
    "ADDRESSES",
    "CHOICES",
    "addresses",
    "bare",
    "free",
    "permitted",
    "readable",
    "sample_web",
    "services",
    "why_fixed",
]

CHOICES = tuple(
    name for name in AppConfig.model_fields if meta(AppConfig, name)["group"] == "providers" and name != "servers"
)
"""The settings that a session may change for itself."""

_OWNERS = ("web_folder", "private_addresses", "tavily_base_url")
"""Of these, what reaches into the machine or its network: where others can reach the app, the owner's alone."""

ADDRESSES = ("llm_base_url", "rerank_base_url", "tavily_base_url")


def permitted(own: AppConfig, changes: Mapping[str, Any], *, shared: bool) -> AppConfig:
    """`own`, the program's configuration, with those of the changes that may be made; the others are left out.

    What can't be read as an address counts as none at all. `shared`: other people than the owner can reach the app.
    Raises SettingsError for a value that is none.
    """
    kept = {name: value for name, value in changes.items() if _may(own, name, value, shared)}
    kept |= {name: "" for name in ADDRESSES if name in kept and not readable(kept[name])}
    only = addresses(own, shared=shared)
    if only:
        kept["servers"] = only
    return AppConfig.from_environment({}, **{**own.model_dump(), **kept})


def sample_web() -> Path | None:
    """The sample's own pages, which any session may search in place of the web; None where the sample is missing."""
    try:
        return load_sample().web
    except NotFoundError:
        return None


def free(name: str, value: Any = None, *, shared: bool) -> bool:
    """Whether a session may choose this, or just this `value` of it: the sample's pages are anybody's."""
    if name == "web_folder" and value is not None and value == sample_web():
        return not overridden(name)
    return name in CHOICES and not overridden(name) and not (shared and name in _OWNERS)


def why_fixed(name: str) -> str:
    """Where a setting is fixed, in words; empty where it is not."""
    variable = f"CRAG_{name.upper()}"
    return f"Set by the environment variable {variable}; change it there." if overridden(name) else ""


def addresses(own: AppConfig, *, shared: bool) -> tuple[str, ...] | None:
    """The only servers that may be named, the program's own among them. None: any."""
    if not shared and not own.servers:
        return None
    named = (*own.servers, own.llm_base_url, own.rerank_base_url)
    return tuple(dict.fromkeys(bare(each) for each in named if each.strip()))


def services(own: AppConfig, *, shared: bool) -> list[str]:
    """The language model services that may be chosen."""
    only = addresses(own, shared=shared)
    found = ["none", "openai"]
    return [*found, "openai-compatible"] if only is None or only or own.llm == "openai-compatible" else found


def bare(address: str) -> str:
    """An address as it is compared: without blanks around it or a stroke at its end."""
    return address.strip().rstrip("/")


def readable(address: str) -> bool:
    """Whether it can be taken apart as an address, whatever is there."""
    try:
        return urlsplit(address.strip()).port != 0
    except ValueError:
        return False


def _may(own: AppConfig, name: str, value: Any, shared: bool) -> bool:
    if not free(name, value, shared=shared):
        return False
    only = addresses(own, shared=shared)
    if name == "llm":
        return value in services(own, shared=shared)
    if name in ("llm_base_url", "rerank_base_url"):
        return only is None or not bare(value) or bare(value) in only
    return True
