"""What one browser session may choose of the configuration, and what stays with your administrator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from crag.core.config import SETTINGS, AppConfig
from crag.core.settings import meta
from crag.pipeline.resolve import bare
from crag.providers import registry
from crag.providers.registry import GGUF
from crag.runtime.provider import Provider

_DECLARED = tuple(
    name for name, kind in SETTINGS.items() if meta(kind, name)["group"] == "providers" and name != "servers"
)
_OWNERS = ("web_folder", "private_addresses")
"""What reaches into the machine or its network: where others can reach the app, the owner's alone."""


def choices() -> tuple[str, ...]:
    """The settings that a session may change for itself."""
    return (*_DECLARED, *registry.address_settings())


def permitted(own: AppConfig, changes: Mapping[str, Any], *, shared: bool) -> AppConfig:
    """`own`, the program's configuration, with those of the changes that may be made; the others are left out.

    What can't be read as an address counts as none at all. `shared`: other people than the owner can reach the app.
    Raises SettingsError for a value that is none.
    """
    kept = {name: value for name, value in changes.items() if _may(own, name, value, shared)}
    if shared and kept.get("llm", own.providers.llm) == GGUF.name:
        kept.pop("llm_model", None)  # a path reaches into the machine
    kept |= {name: "" for name in kept if holds_address(name) and not readable(kept[name])}
    only = addresses(own, shared=shared)
    if only:
        kept["servers"] = only
    return own.changed(**kept)


def overridden(name: str) -> bool:
    """Whether the environment sets this, so that Settings can't."""
    return bool(os.environ.get(f"CRAG_{name.upper()}"))


def free(name: str, *, shared: bool) -> bool:
    """Whether a session may choose this."""
    owners = name in _OWNERS or (holds_address(name) and not named(name))
    return name in choices() and not overridden(name) and not (shared and owners)


def why_fixed(name: str) -> str:
    """Where a setting is fixed, in words; empty where it is not."""
    variable = f"CRAG_{name.upper()}"
    return f"Set by the environment variable {variable}; change it there." if overridden(name) else ""


def addresses(own: AppConfig, *, shared: bool) -> tuple[str, ...] | None:
    """The only servers that may be named, the program's own among them. None: any."""
    if not shared and not own.providers.servers:
        return None
    given = (*own.providers.servers, *(own.get(name) for name in choices() if named(name)))
    return tuple(dict.fromkeys(bare(each) for each in given if each.strip()))


def offered(setting: str, own: AppConfig, *, shared: bool) -> list[str]:
    """The providers among which this setting may choose: those of a server only where one may be named.

    Where others can reach the app, a model file is the owner's to choose.
    """
    only = addresses(own, shared=shared)
    known = registry.providers(setting)
    return [
        name
        for name in registry.choices(setting)
        if not shared or name != GGUF.name or own.get(setting) == name
        if only is None or only or own.get(setting) == name or name not in known or not known[name].server
    ]


def holds_address(setting: str) -> bool:
    return _whose(setting) is not None


def named(setting: str) -> bool:
    """Whether a setting holds the address of a server of a person's own, of which only some may be allowed."""
    whose = _whose(setting)
    return whose is not None and bool(whose.server)


def _whose(setting: str) -> Provider | None:
    """The provider whose address a setting holds."""
    if not setting.endswith("_base_url"):
        return None
    known = (*registry.models().values(), *registry.evaluators().values(), *registry.webs().values())
    return next((each for each in known if each.address == setting), None)


def readable(address: str) -> bool:
    """Whether it can be taken apart as an address, whatever is there."""
    try:
        return urlsplit(address.strip()).port != 0
    except ValueError:
        return False


def _may(own: AppConfig, name: str, value: Any, shared: bool) -> bool:
    if not free(name, shared=shared):
        return False
    only = addresses(own, shared=shared)
    if name == "llm":
        return value in offered(name, own, shared=shared)
    return not named(name) or only is None or not bare(value) or bare(value) in only
