"""Where a model is served, with which key, and the object that was asked for in what it replied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError

from crag.core.errors import ReplyError
from crag.core.model_ids import Maker
from crag.core.protocols import Parsed
from crag.text.characters import read_json

OPENAI = "https://api.openai.com/v1"
"""Where OpenAI's own models are served, whatever the environment says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is served. `key` is not part of its text forms; many local servers want none.

    `file`: the model file that this process runs itself, with `threads` threads, 0 for all cores but one. `mark` is
    another where its content is.
    """

    provider: str
    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    file: Path | None = None
    mark: str = ""
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
        host = self.mark or urlsplit(self.base_url or "").netloc
        return Maker(model=self.model, provider=self.provider, host=host).id


def read(schema: type[Parsed], reply: str) -> Parsed:
    """The object in a reply. Raises ReplyError, which says what is wrong with it."""
    begin, end = reply.find("{"), reply.rfind("}")
    if not 0 <= begin < end:
        raise ReplyError("it holds no JSON object")
    try:
        return schema.model_validate(read_json(reply[begin : end + 1]))
    except (ValueError, RecursionError) as error:  # JSON's and pydantic's; and objects in objects without end
        problem = "it is no valid JSON"
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ReplyError(problem) from error


def strict(schema: type[BaseModel]) -> dict[str, Any]:
    """The schema as servers of strict output want it: all properties required, no others allowed, no ranges."""
    form = schema.model_json_schema()
    for part in (form, *form.get("$defs", {}).values()):
        if "properties" in part:
            part["required"], part["additionalProperties"] = list(part["properties"]), False
            for each in part["properties"].values():
                for limit in ("minimum", "maximum", "maxLength", "minLength", "default", "title"):
                    each.pop(limit, None)
    return form
