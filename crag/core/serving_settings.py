"""How the process serves others: what it takes from them and shows to them, a part of its configuration."""

from __future__ import annotations

from pydantic import BaseModel, field_validator

from crag.core.fields import origins_of, setting

__all__ = ["ServingSettings"]


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
