"""Every setting, declared once with its range, default, unit and help: forms, checks and docs are made from it.

`Settings` bundle what shapes one run; a strategy is a named bundle. `AppConfig` is what the process is given:
folders, limits and providers, each also an environment variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from crag.core.errors import SettingsError
from crag.core.types import Action, Aggregation

__all__ = ["AppConfig", "Settings", "meta"]

Actions = tuple[Action, ...]
_C, _A, _I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT


def _field(
    default: Any, label: str, help: str, *, group: str, unit: str = "", step: float | None = None, **limits: Any
) -> Any:
    """A setting with what a form needs: label, help, group, unit, slider step."""
    extra: dict[str, Any] = {"label": label, "group": group, "unit": unit, "step": step}
    return Field(default=default, description=help, json_schema_extra=extra, **limits)


class Settings(BaseModel):
    """What shapes one run. Frozen; `model_copy(update=…)` is not checked, `changed(…)` is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = _field(
        10, "Chunks retrieved", "How many chunks the library returns.", group="retrieval", step=1, ge=1, le=50
    )
    min_confidence: float = _field(
        0.0,
        "Document confidence",
        "Only documents whose confidence is at least this are searched; if none is, all are.",
        group="retrieval",
        step=0.05,
        ge=0,
        le=1,
    )
    half_life_days: float = _field(
        0.0,
        "Time decay",
        "A document's similarity halves every so many days since it was added. 0 turns decay off.",
        group="retrieval",
        unit="days",
        step=1,
        ge=0,
        le=3650,
    )
    evaluator: Literal["none", "chunk", "joint"] = _field(
        "chunk",
        "What is graded",
        "Each chunk by itself, all chunks in one grade, or nothing (plain RAG).",
        group="evaluation",
    )
    binary: bool = _field(
        False, "Yes or no grades", "Read a grade as relevant or not: both thresholds are one.", group="evaluation"
    )
    grade_chars: int = _field(
        0,
        "Text graded",
        "Only the first so many characters of a chunk are graded. 0: all of it.",
        group="evaluation",
        unit="characters",
        step=100,
        ge=0,
        le=20_000,
    )
    upper: float = _field(
        0.4, "Upper threshold", "A score of at least this is CORRECT.", group="action", step=0.01, ge=0, le=1
    )
    lower: float = _field(
        0.2,
        "Lower threshold",
        "A score below this is INCORRECT; between the two it is AMBIGUOUS.",
        group="action",
        step=0.01,
        ge=0,
        le=1,
    )
    aggregation: Aggregation = _field(
        Aggregation.ANY,
        "Aggregation",
        "any: one CORRECT chunk is enough. worst: the worst decides. mean: the average. joint: one grade over all.",
        group="action",
    )
    keep: Literal["all", "relevant"] = _field(
        "all", "Chunks kept", "All chunks, or only those scored at least the upper threshold.", group="action"
    )
    internal_on: Actions = _field(
        (_C, _A), "Documents used on", "The actions after which text from the library is used.", group="action"
    )
    web_on: Actions = _field((_A, _I), "Web searched on", "The actions after which the web is searched.", group="web")
    loop_on: Actions = _field(
        (_I,),
        "Library retried on",
        "The actions after which the query is rewritten and the library searched again.",
        group="retrieval",
    )
    max_rewrites: int = _field(
        1,
        "Corrective loops",
        "How often the library is searched again with a rewritten query, before the web.",
        group="retrieval",
        step=1,
        ge=0,
        le=3,
    )
    refine_on: Actions = _field(
        (_C, _A), "Refined on", "The actions after which chunks are cut into strips and filtered.", group="refinement"
    )
    strips: Literal["sentences", "windows", "selection"] = _field(
        "sentences", "Strip", "Sentences, fixed windows of 50 words, or the whole chunk.", group="refinement"
    )
    strip_sentences: int = _field(
        1, "Sentences a strip", "How many sentences make a strip.", group="refinement", step=1, ge=1, le=5
    )
    strip_filter: float = _field(
        0.08, "Strip filter", "Strips scored below this are dropped.", group="refinement", step=0.01, ge=0, le=1
    )
    strip_top_k: int = _field(
        8,
        "Strips kept",
        "At most so many strips are kept, the best ones; separately for documents and web. 0: no limit.",
        group="refinement",
        step=1,
        ge=0,
        le=50,
    )
    rewrite_keywords: int = _field(
        3,
        "Keywords in a web query",
        "The rewritten query has at most so many keywords.",
        group="web",
        step=1,
        ge=1,
        le=10,
    )
    web_results: int = _field(5, "Web results", "How many web results are read.", group="web", step=1, ge=1, le=10)
    refine_web: bool = _field(
        True, "Refine web pages", "Cut web pages into strips and filter them by the same evaluator.", group="web"
    )
    verify: bool = _field(
        True, "Check citations", "Check every sentence of the answer against what it cites.", group="answer"
    )
    answer_sentences: int = _field(
        3,
        "Sentences in an extractive answer",
        "At most so many sentences are quoted when no language model writes.",
        group="answer",
        step=1,
        ge=1,
        le=8,
    )
    answer_context: int = _field(
        3000,
        "Text shown to the model",
        "At most so much of the kept strips is shown to a language model that writes the answer, the best first.",
        group="answer",
        unit="tokens",
        step=250,
        ge=200,
        le=100_000,
    )
    answer_floor: float = _field(
        0.1,
        "Answer floor",
        "If no kept strip is scored at least this, the answer is that the documents do not say.",
        group="answer",
        step=0.01,
        ge=0,
        le=1,
    )

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.lower > self.upper:
            raise ValueError("the lower threshold is above the upper one")
        if self.binary and self.lower != self.upper:
            raise ValueError("yes-or-no grades need both thresholds to be the same")
        if (self.evaluator == "joint") != (self.aggregation is Aggregation.JOINT):
            raise ValueError("joint grading and joint aggregation go together")
        return self

    def changed(self, **changes: Any) -> Settings:
        """A copy with some settings changed, checked. Raises SettingsError naming the setting and its range."""
        return Settings.checked({**self.model_dump(), **changes})

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from plain values. Raises SettingsError naming the setting and its range."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(_first(error)) from error


class AppConfig(BaseModel):
    """What the process is given. Each setting is also the environment variable CRAG_<NAME>."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path = _field(Path("data"), "Data folder", "Where libraries are stored.", group="storage")
    workspaces: Literal["auto", "one", "private"] = _field(
        "auto",
        "Libraries",
        "one: every browser sees the same library. private: each has its own, found by its address. "
        "auto: private where other machines can reach the app.",
        group="storage",
    )
    llm: Literal["none", "openai", "openai-compatible"] = _field(
        "none",
        "Language model",
        "none: local models alone. openai: OpenAI's own service. openai-compatible: any server that speaks its "
        "protocol, at the address below.",
        group="providers",
    )
    llm_base_url: str = _field(
        "", "Model server", "The address of an OpenAI-compatible server, usually ending in /v1.", group="providers"
    )
    llm_model: str = _field("", "Model", "The name of the model, as its server lists it.", group="providers")
    evaluator: Literal["local", "llm", "reranker"] = _field(
        "local",
        "Retrieval evaluator",
        "local: the model that ships. llm: the language model, chunk by chunk. reranker: a server with /rerank.",
        group="providers",
    )
    rerank_base_url: str = _field(
        "", "Reranking server", "The address before /rerank, usually ending in /v1.", group="providers"
    )
    rerank_model: str = _field("", "Reranking model", "Its name, as its server knows it.", group="providers")
    writer: Literal["auto", "extractive", "llm"] = _field(
        "auto",
        "Answers",
        "extractive: sentences quoted from the sources. llm: written by the language model. auto: llm if set.",
        group="providers",
    )
    web: Literal["off", "folder", "tavily", "duckduckgo"] = _field(
        "off", "Web provider", "Where knowledge is searched when the documents do not suffice.", group="providers"
    )
    web_folder: Path | None = _field(
        None,
        "Web folder",
        "A folder of saved pages (HTML, Markdown, text) that stands in for the web.",
        group="providers",
    )
    fetch_pages: bool = _field(
        True,
        "Read result pages",
        "Read the pages behind web results; otherwise the provider's short text of each is all that is used.",
        group="providers",
    )
    ask_before_web: bool = _field(
        False, "Ask before a web search", "Show each web query and wait for a yes before it is sent.", group="providers"
    )
    private_addresses: bool = _field(
        False,
        "Pages of this network",
        "Also read web results whose address lies on this machine or its network. Leave off unless you know why.",
        group="providers",
    )
    servers: tuple[str, ...] = _field(
        (),
        "Servers allowed",
        "Where several people share this program: the only model and reranking servers they may name. None: any.",
        group="providers",
    )
    parallel_calls: int = _field(
        8, "Calls at once", "Model calls that run side by side.", group="limits", step=1, ge=1, le=64
    )
    run_calls: int = _field(
        150, "Calls in a run", "Outside calls that one question may cost.", group="limits", step=10, ge=1, le=5000
    )
    run_tokens: int = _field(
        200_000,
        "Tokens in a run",
        "Tokens, in and out, that one question may cost.",
        group="limits",
        unit="tokens",
        step=10_000,
        ge=1000,
        le=10_000_000,
    )
    run_seconds: int = _field(
        120,
        "Seconds in a run",
        "How long one question may wait for outside services in all.",
        group="limits",
        unit="seconds",
        step=10,
        ge=5,
        le=3600,
    )
    max_file_mb: int = _field(
        100, "Largest file", "Larger files are refused.", group="limits", unit="MB", step=10, ge=1, le=1000
    )
    max_pages: int = _field(
        2000,
        "Most pages",
        "Documents with more pages are refused.",
        group="limits",
        unit="pages",
        step=100,
        ge=1,
        le=20_000,
    )
    read_memory_mb: int = _field(
        1024, "Reader memory", "Memory the PDF reader may take.", group="limits", unit="MB", step=128, ge=256, le=8192
    )
    read_seconds: int = _field(
        20,
        "Reader time",
        "Processor seconds the PDF reader may take, plus a tenth of a second a page.",
        group="limits",
        unit="seconds",
        step=5,
        ge=2,
        le=600,
    )
    threads: int = _field(
        0,
        "Threads",
        "Threads the local models use. 0: as many as there are cores.",
        group="local models",
        step=1,
        ge=0,
        le=64,
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> AppConfig:
        """Given values first, then CRAG_* variables, then defaults. Raises SettingsError naming the variable."""
        source = os.environ if environment is None else environment
        values: dict[str, Any] = {
            name: source[f"CRAG_{name.upper()}"] for name in cls.model_fields if source.get(f"CRAG_{name.upper()}")
        }
        if "servers" in values:
            values["servers"] = tuple(each.strip() for each in values["servers"].split(",") if each.strip())
        values.update({name: value for name, value in given.items() if value is not None})
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(
                _first(error), "Correct the option or the CRAG_… environment variable of that name."
            ) from error


def meta(model: type[BaseModel], name: str) -> dict[str, Any]:
    """What a form needs of one setting: label, help, group, unit, step, default, minimum and maximum (None if open)."""
    field = model.model_fields[name]
    extra = field.json_schema_extra
    found: dict[str, Any] = dict(extra) if isinstance(extra, dict) else {}
    found["help"], found["default"] = field.description, field.default
    found["minimum"] = next((m.ge for m in field.metadata if hasattr(m, "ge")), None)
    found["maximum"] = next((m.le for m in field.metadata if hasattr(m, "le")), None)
    return found


def _first(error: ValidationError) -> str:
    """The first problem as a sentence that names the setting."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "settings"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}."
