"""Writes the tables of docs/reference.md from the code that declares what they list.

python docs/tables.py            rewrites docs/reference.md
python docs/tables.py --check    exits with 1 where docs/reference.md differs
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import typer  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from crag.cli.main import COMMANDS, load_command  # noqa: E402
from crag.cli.options import option_of, provider_settings  # noqa: E402
from crag.core.config import SETTINGS, ProviderSettings  # noqa: E402
from crag.core.filters import EVERY  # noqa: E402
from crag.core.settings import Settings, meta  # noqa: E402
from crag.core.strategies import STRATEGIES  # noqa: E402
from crag.providers import registry  # noqa: E402

PAGE = ROOT / "docs" / "reference.md"


def main(arguments: Sequence[str]) -> int:
    before = PAGE.read_text(encoding="utf-8")
    after = with_tables(before)
    if "--check" in arguments:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


def with_tables(text: str) -> str:
    """The text with every marked block made anew. Raises ValueError where a mark is missing."""
    tables = {
        **{"strategies": strategies(), "keys": keys(), "settings": settings(), "environment": environment()},
        **{"commands": commands(), "options": options()},
    }
    for name, rows in tables.items():
        opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        start, end = text.index(opening) + len(opening), text.index(closing)
        text = text[:start] + "\n".join(rows) + "\n" + text[end:]
    return text


def strategies() -> Iterable[str]:
    yield "| strategy | what is graded | upper / lower | decided by | refined on | web on | design of |"
    yield "|---|---|---|---|---|---|---|"
    for each in STRATEGIES.values():
        s = each.settings
        design = f"[{each.source}]({each.link})" if each.link else each.source
        graded = {"none": "–", "chunk": "each chunk", "joint": "all in one"}[s.evaluator]
        if s.evaluator == "none":
            rest = ["–", "–", "–", "–"]
        else:
            by = f"{s.aggregation}" + (", yes or no" if s.binary else "")
            rest = [f"{s.upper:g} / {s.lower:g}", by, actions(s.refine_on), actions(s.web_on)]
        yield f"| `{each.name}` | {graded} | {' | '.join(rest)} | {design} |"


def actions(chosen: Iterable[str]) -> str:
    return ", ".join(each.capitalize() for each in map(str, chosen)) or "never"


def settings() -> Iterable[str]:
    yield "| name | default | range | what it does |"
    yield "|---|---|---|---|"
    for name in Settings.model_fields:
        found = meta(Settings, name)
        yield f"| `{name}` | {shown(found['default'])} | {range_of(Settings, name, found)} | {found['help']} |"


def environment() -> Iterable[str]:
    yield "| variable | option | default | range | what it does |"
    yield "|---|---|---|---|---|"
    optional = provider_settings()
    for name in (*SETTINGS, *registry.address_settings()):
        found = registry.about(name)
        default = "–" if found["default"] is None else shown(found["default"])
        option = f"`{option_of(name)}`" if name in optional else "–"
        range = ", ".join(f"`{each}`" for each in registry.choices(name)) or range_of(
            SETTINGS.get(name, ProviderSettings), name, found
        )
        yield f"| `CRAG_{name.upper()}` | {option} | {default} | {range} | {found['help']} |"


def keys() -> Iterable[str]:
    yield "| key | variable, or entry of the secrets file |"
    yield "|---|---|"
    for slot, variables in registry.key_variables().items():
        yield f"| {KEYS.get(slot, registry.title(slot))} | {', else '.join(f'`{each}`' for each in variables)} |"


def commands() -> Iterable[str]:
    yield "| command | what it does |"
    yield "|---|---|"
    for name in COMMANDS:
        each = load_command(name)
        pieces = [piece for param in each.params for piece in param.get_usage_pieces(typer.Context(each))]
        yield f"| `{' '.join([name, *pieces])}` | {' '.join(each.help.split())} |"


def options() -> Iterable[str]:
    """Those of every command, but for the outside services that have a column of their own above."""
    yield "| option | of | what it does |"
    yield "|---|---|---|"
    found: dict[tuple[str, str], list[str]] = {}
    for name in COMMANDS:
        for pair in _options_of(name):
            found.setdefault(pair, []).append(name)
    for (option, help), names in found.items():
        where = "all" if len(names) == len(COMMANDS) else ", ".join(f"`{each}`" for each in names)
        yield f"| `{option}` | {where} | {help[0].upper()}{help[1:]}. |"


def _options_of(name: str) -> Iterable[tuple[str, str]]:
    command = load_command(name)
    for param in command.params:
        if param.param_type_name == "option" and param.name not in provider_settings():
            option, help = param.get_help_record(typer.Context(command))
            yield option.replace("|", ", "), help.replace("  [", " (").replace("]", ")").rstrip(".")


KEYS = {
    "llm": "the model server, whichever is chosen",
    "openai": "OpenAI's own service, and no other",
    "rerank": "the reranking server",
    "milvus": "the Milvus server: its token, or user:password",
}


def shown(value: Any) -> str:
    if value in ((), "", EVERY):
        return "–"
    if isinstance(value, tuple):
        return "`" + ",".join(map(str, value)) + "`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def range_of(model: type[BaseModel], name: str, found: dict[str, Any]) -> str:
    """Limits and unit, or the values there are."""
    if found["minimum"] is not None:
        return f"{found['minimum']:,} to {found['maximum']:,}" + (f" {found['unit']}" if found["unit"] else "")
    schema = model.model_json_schema()
    field = schema["properties"].get(name, {"type": "string"})
    for place in (field, field.get("items", {}), *field.get("allOf", []), *field.get("anyOf", [])):
        place = schema["$defs"][place["$ref"].rpartition("/")[2]] if "$ref" in place else place
        if "enum" in place:
            return ", ".join(f"`{each}`" for each in place["enum"] if each)
    kinds = {"boolean": "`true`, `false`", "array": "a list, joined by commas", "string": "text", "object": "a filter"}
    return "a folder" if field.get("format") == "path" else kinds.get(field.get("type"), "a folder")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
