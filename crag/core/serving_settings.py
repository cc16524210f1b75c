"""How the process serves others: what it takes from them and shows to them, a part of its configuration."""

from __future__ import annotations

from typing import Literal

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

    metrics: Literal["off", "local", "token"] = setting(
        "off",
        "Metrics",
        "Who may read /metrics, for Prometheus. off: nobody. local: this machine, where no others are led here. token: "
        "whoever sends what CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names.",
        group="serving",
        at_start=True,
    )

    @field_validator("framed_by")
    @classmethod
    def _origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return origins_of(given)
