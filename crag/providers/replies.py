"""What a model replied: its text, or the object that was asked for."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

from crag.core.errors import ReplyError

__all__ = ["read", "strict", "text_of"]

Parsed = TypeVar("Parsed", bound=BaseModel)


def read(schema: type[Parsed], reply: str) -> Parsed:
    """The object in a reply. Raises ReplyError, which says what is wrong with it."""
    found = re.search(r"\{.*\}", reply, re.DOTALL)
    if found is None:
        raise ReplyError("it holds no JSON object")
    try:
        return schema.model_validate(json.loads(found.group()))
    except ValueError as error:  # JSON's and pydantic's are both of this kind
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


def text_of(message: Any) -> str:
    return message.text if isinstance(message, AIMessage) else ""
