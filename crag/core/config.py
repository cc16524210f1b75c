"""What the process is given: folders, providers and limits, each also an environment variable."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from crag.core.config_groups import (
    ModelSettings,
    PeopleSettings,
    ProviderSettings,
    ServingSettings,
    SettingsGroup,
    StorageSettings,
)
from crag.core.errors import SettingsError
from crag.core.fields import first_problem
from crag.core.limit_settings import LimitSettings, QuotaSettings


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
        named = {each.removeprefix("CRAG_").lower(): each for each in os.environ if each.startswith("CRAG_")}
        values: dict[str, Any] = {each: os.environ[variable] for each, variable in named.items() if _is_address(each)}
        for group in _GROUPS.values():
            values |= EnvSettingsSource(group)()
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
