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
    admins: tuple[str, ...] = setting(
        (),
        "Admins",
        "With sign-in: e-mails or subjects, commas between them, of people who are admin whatever else says so.",
        group="people",
    )
    admins_group: str = setting(
        "",
        "Admins' group",
        "With sign-in: who is in this group at the provider is admin.",
        group="people",
    )
    editors_group: str = setting(
        "",
        "Editors' group",
        "With sign-in: who is in this group at the provider is editor at least.",
        group="people",
    )
    groups_claim: str = setting(
        "groups",
        "Groups claim",
        "The claim of the sign-in's token that lists a person's groups.",
        group="people",
    )
    new_people: Literal["viewer", "editor", "none"] = setting(
        "viewer",
        "New people",
        "What people are who sign in for the first time. none: only those who are invited, named or in a group above "
        "are let in.",
        group="people",
    )
    show_admins: bool = setting(
        True,
        "Show who the admins are",
        "With sign-in: people who can't add documents see the admins' names and e-mails, to know whom to ask. "
        "Turn this off where strangers may sign in.",
        group="people",
    )
    signin_hours: int = setting(
        12,
        "Hours of a sign-in",
        "After so many hours people are asked to sign in again; so long they keep the role of a group they have left. "
        "0: when the provider's token ends, often within one.",
        group="people",
        unit="hours",
        step=1,
        ge=0,
        le=720,
    )
    keys_for: Literal["admins", "everyone"] = setting(
        "admins",
        "Keys of the program",
        "With sign-in: who may use the program's own keys for providers that it has not turned on.",
        group="people",
    )
    audit_days: int = setting(
        365,
        "Audit log",
        "How long entries are kept of who signed in, deleted, shared, changed a setting or was refused. 0: for good.",
        group="serving",
        unit="days",
        step=30,
        ge=0,
        le=3650,
    )

    metrics: Literal["off", "local", "token"] = setting(
        "off",
        "Metrics",
        "Who may read /metrics, for Prometheus. off: nobody. local: this machine, where no others are led here. token: "
        "whoever sends what CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names.",
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
