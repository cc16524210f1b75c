"""Where a model is served, and the key that its server gets."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from crag.core.makers import Maker

OPENAI = "https://api.openai.com/v1"
"""Where OpenAI's own models are served, whatever the environment says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is served. `key` is not part of its text forms; many local servers want none."""

    provider: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None

    @property
    def id(self) -> str:
        """Names provider and model, and the server where it is not the provider's own: grades are kept by it."""
        return Maker(model=self.model, provider=self.provider, host=urlsplit(self.base_url or "").netloc).id
