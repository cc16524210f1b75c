"""Where a model is served, and the key that its server gets."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from crag.core.makers import Maker
from crag.providers.gguf import ModelFile

OPENAI = "https://api.openai.com/v1"
"""Where OpenAI's own models are served, whatever the environment says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is served. `key` is not part of its text forms; many local servers want none.

    `file`: the model file that this process runs itself, with so many `threads`, 0 for all cores but one.
    """

    provider: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    file: ModelFile | None = None
    threads: int = 0

    @property
    def line(self) -> tuple[str | None, int]:
        """Tells this address and key from others of the same name; of use to this process alone."""
        return self.base_url, hash(self.key.get_secret_value() if self.key else "")

    @property
    def id(self) -> str:
        """Names provider and model, and the server where it is not the provider's own: grades are kept by it.

        Of a model file the mark of its content stands where the server would.
        """
        host = self.file.mark if self.file else urlsplit(self.base_url or "").netloc
        return Maker(model=self.model, provider=self.provider, host=host).id
