"""What the process is given: folders, providers and limits, each also an environment variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from crag.core.errors import SettingsError
from crag.core.fields import first_problem, setting
from crag.core.limit_settings import LimitSettings
from crag.core.provider_settings import ProviderSettings
from crag.core.serving_settings import ServingSettings
from crag.core.storage_settings import StorageSettings

__all__ = ["AppConfig"]

_ADDRESS = re.compile(r"[a-z][a-z0-9_]*_base_url")


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
        for name in ("servers", "prices", "framed_by", "admins"):
            if isinstance(values.get(name), str):
                values[name] = tuple(each.strip() for each in values[name].split(",") if each.strip())
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(
                first_problem(error), "Correct the option or the CRAG_… environment variable of that name."
            ) from error
