"""What shapes one run: each setting declared once, with its range, default, unit and help.

Forms, checks and docs are made from the declaration. A strategy is a named bundle of settings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationError, model_validator

from crag.core.errors import FilterError, SettingsError
from crag.core.filters import EVERY, Filter, filter_of
from crag.core.types import Action, Aggregation
from crag.text.sentences import ends_as_sentence

_ORIGIN = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")
_DAYS = {"d": 1, "w": 7}


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most that a number may be, the step of its slider, and its unit."""

    least: float
    most: float
    step: float
    unit: str = ""


def setting(
    default: Any,
    label: str,
    within: Range | None = None,
    *,
    group: str = "",
    at_start: bool = False,
    **others: Any,
) -> Any:
    """A setting with what a form needs: label, range, group (the title of its class, if not given).

    Its help is its docstring. `at_start`: it is read at the start. `others` are options of pydantic's `Field`.
    """
    extra: dict[str, Any] = {"label": label, "group": group, "at_start": at_start}
    extra |= {"unit": within.unit, "step": within.step} if within else {"unit": "", "step": None}
    others |= {"ge": within.least, "le": within.most} if within else {}
    return Field(default=default, json_schema_extra=extra, **others)


def meta(model: type[BaseModel], name: str) -> dict[str, Any]:
    """What a form needs of one setting: label, help, group, unit, step, default, minimum and maximum (None if open).

    And whether it applies `at_start` alone.
    """
    field = model.model_fields[name]
    extra = field.json_schema_extra
    found: dict[str, Any] = dict(extra) if isinstance(extra, dict) else {}
    found["group"] = found["group"] or model.model_config.get("title")
    said = " ".join(_read_helps(model.__module__)[model.__name__, name].split())
    found.update(help=f"{said} Applies from the next start." if found["at_start"] else said, default=field.default)
    found["minimum"] = next((m.ge for m in field.metadata if hasattr(m, "ge")), None)
    found["maximum"] = next((m.le for m in field.metadata if hasattr(m, "le")), None)
    return found


@cache
def _read_helps(module: str) -> dict[tuple[str, str], str]:
    """What stands below each setting in the source of a module, by class and setting.

    Read when a form needs it: pydantic would read the source of every class at the start, which takes a tenth of a
    second.
    """
    parts = ast.parse(inspect.getsource(sys.modules[module])).body
    return {
        (kind.name, ast.unparse(setting.target)): ast.literal_eval(said.value)
        for kind in parts
        if isinstance(kind, ast.ClassDef)
        for setting, said in pairwise(kind.body)
        if isinstance(setting, ast.AnnAssign) and isinstance(said, ast.Expr)
    }


def first_problem(error: ValidationError) -> str:
    """The first problem as a sentence that names the setting."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "settings"
    ours = problem.get("ctx", {}).get("error") if problem["type"] == "value_error" else None
    said = str(ours or problem["msg"])
    return f"{where}: {said}" if ends_as_sentence(said) else f"{where}: {said}."


def origins_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """Origins as they are compared. Raises ValueError naming one that is none."""
    plain = tuple(each.strip().lower().rstrip("/") for each in given)
    for each in plain:
        if not _ORIGIN.fullmatch(each):
            raise ValueError(f"{each[:80]} is no origin; one is https:// or http://, a host, and perhaps a port")
    return plain


def days_of(text: str) -> int:
    """How many days an age is, as 30d or 8w. Raises ValueError, saying what is wrong."""
    found = re.fullmatch(r"([0-9]{1,5})([dw])", text.strip())
    if not found:
        raise ValueError(f"{text!r} is no number of days or weeks, as 30d or 8w")
    return int(found[1]) * _DAYS[found[2]]


Actions = tuple[Action, ...]
_C, _A, _I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT

_TOGETHER = ({"lower", "upper", "binary"}, {"evaluator", "aggregation", "forced"})
"""Settings that `Settings` checks against one another."""


def _read_filter(said: Any) -> Filter:
    try:
        return filter_of(said)
    except FilterError as error:
        raise ValueError(error) from error


def _dictionary(where: Filter) -> dict[str, Any]:
    return where.dictionary


class Settings(BaseModel):
    """What shapes one run. Frozen; `model_copy(update=…)` is not checked, `changed(…)` is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = setting(10, "Chunks retrieved", Range(1, 50, step=1), group="retrieval")
    """How many chunks the library returns."""
    lookup_reach: int = setting(0, "Chunks searched for a figure", Range(0, 100, step=10), group="retrieval")
    """How many chunks are searched for figures that the question asks for. Chunks whose table alone has the figure, or
    has a better cell, take the last places of the retrieved chunks. Set to 0 to turn this off."""
    overview: bool = setting(False, "Questions about a whole document", group="retrieval")
    """Answers what is asked of a document as a whole (what it is about, who wrote it, which parts it has) from its
    headings, its properties and their pages. Nothing is graded for such an answer. Where a language model writes, it
    reads the text too, in as many calls as it needs and the limits of a run allow, and says what it is about."""
    min_confidence: float = setting(0.0, "Document confidence", Range(0, 1, step=0.05), group="retrieval")
    """Only documents with at least this confidence are searched. If no document has it, all are searched."""
    where: Annotated[
        Filter, PlainValidator(_read_filter, json_schema_input_type=dict[str, Any]), PlainSerializer(_dictionary)
    ] = setting(EVERY, "Filter", group="retrieval")
    """Only documents that meet all these conditions on their fields are searched, each as date >= 2024, tags has audit
    or verified. Leave empty to search all."""
    half_life_days: float = setting(0.0, "Time decay", Range(0, 3650, step=1, unit="days"), group="retrieval")
    """The number of days after which a document's similarity has halved, counted from the day it was added. Set to 0
    to turn decay off."""
    evaluator: Literal["none", "chunk", "joint"] = setting("chunk", "What is graded", group="evaluation")
    """Each chunk by itself, all chunks in one grade, or nothing (plain RAG)."""
    binary: bool = setting(False, "Yes or no grades", group="evaluation")
    """Reads each grade as relevant or not, at one threshold."""
    grade_chars: int = setting(0, "Text graded", Range(0, 20_000, step=100, unit="characters"), group="evaluation")
    """How many characters of a chunk are graded, from its start. Set to 0 to grade all of it."""
    upper: float = setting(0.4, "Upper threshold", Range(0, 1, step=0.01), group="action")
    """A score of at least this is CORRECT."""
    lower: float = setting(0.2, "Lower threshold", Range(0, 1, step=0.01), group="action")
    """A score below this is INCORRECT; between the two it is AMBIGUOUS."""
    ambiguity_margin: float = setting(0.0, "Margin of doubt", Range(0, 0.5, step=0.01), group="action")
    """After the last retrieval, a score below the lower threshold by at most this is still AMBIGUOUS: documents are
    used beside the web. Corrective loops ignore it. Set to 0 to turn it off."""
    aggregation: Aggregation = setting(Aggregation.ANY, "Aggregation", group="action")
    """any: one CORRECT chunk is enough. worst: the worst chunk decides. mean: the average decides. joint: one grade
    for all chunks together. set: the best chunk decides together with what the chunks hold as a set: words and years
    of the question that none of them has, and whether they agree. Only the local evaluator can; with others, set is
    any."""
    keep: Literal["all", "relevant"] = setting("all", "Chunks kept", group="action")
    """All chunks, or only those that score at least the upper threshold."""
    forced: Literal["", "CORRECT", "AMBIGUOUS", "INCORRECT"] = setting("", "Forced action", group="action")
    """Acts as if the scores had led to this action, to see what would follow. Scores and corrective loops do not
    change; only the action behind the answer does."""
    internal_on: Actions = setting((_C, _A), "Documents used on", group="action")
    """The actions after which text from the library is used."""
    web_on: Actions = setting((_A, _I), "Web searched on", group="web")
    """The actions after which the web is searched."""
    loop_on: Actions = setting((_I,), "Library retried on", group="retrieval")
    """The actions after which the query is rewritten and the library searched again."""
    max_rewrites: int = setting(1, "Corrective loops", Range(0, 3, step=1), group="retrieval")
    """How often the library is searched again with a rewritten query, before the web."""
    loop_merge: Literal["last", "better", "union"] = setting("last", "Result of a corrective loop", group="retrieval")
    """last: the last retrieval is used. better: the retrieval whose best chunk scored higher is used. union: the best
    chunks of all retrievals are used, as many as one retrieval returns."""
    refine_on: Actions = setting((_C, _A), "Refined on", group="refinement")
    """The actions after which chunks are cut into strips and filtered."""
    strips: Literal["sentences", "windows", "selection"] = setting("sentences", "Strip", group="refinement")
    """Sentences, fixed windows of 50 words, or the whole chunk."""
    strip_judge: Literal["scores", "llm"] = setting("scores", "Strips chosen by", group="refinement")
    """scores: the strip filter below decides. llm: the language model reads each source and names the strips to keep.
    If it fails or is not set, scores decide."""
    strip_reading: Literal["alone", "in place"] = setting("alone", "Strips scored", group="refinement")
    """alone: each strip by itself, as published. in place: within its chunk, in the same reading that graded the
    chunk, at no extra cost. Only the local evaluator can; others score strips alone."""
    strip_sentences: int = setting(1, "Sentences a strip", Range(1, 5, step=1), group="refinement")
    """How many sentences make a strip."""
    strip_filter: float = setting(0.08, "Strip filter", Range(0, 1, step=0.01), group="refinement")
    """Strips with a lower score are dropped."""
    strip_top_k: int = setting(8, "Strips kept", Range(0, 50, step=1), group="refinement")
    """How many of the best strips are kept at most, separately for documents and web. Set to 0 for no limit."""
    strip_words: int = setting(0, "Words kept", Range(0, 5_000, step=50, unit="words"), group="refinement")
    """How many words the kept strips may have, separately for documents and web. Sources with a better rank come
    first, and several sources get words. Set to 0 for no limit: then scores alone decide."""
    strip_context: bool = setting(False, "Context kept", group="refinement")
    """A kept table row also keeps its table's header and caption; a kept sentence also keeps the sentence that it
    needs to be understood, if there is room."""
    rewrite_keywords: int = setting(3, "Keywords in a web query", Range(1, 10, step=1), group="web")
    """How many keywords the rewritten query has at most."""
    web_query: str = setting("", "Web query", group="web")
    """The exact query for the web search. Leave empty to build one from the question."""
    web_results: int = setting(5, "Web results", Range(1, 10, step=1), group="web")
    """How many web results are read."""
    refine_web: bool = setting(True, "Refine web pages", group="web")
    """Web pages are cut into strips and filtered by the same evaluator."""
    erase_web_injection: bool = setting(True, "Erase planted orders", group="web")
    """Sentences of web pages that address a language model are left out of grading, answer and checks. If off, they
    stay and are marked as untrusted. Your own documents are always read in full."""
    verify: bool = setting(True, "Check citations", group="answer")
    """Every sentence of the answer is checked against its citations."""
    answer_sentences: int = setting(3, "Sentences in an extractive answer", Range(1, 8, step=1), group="answer")
    """How many sentences are quoted at most when no language model writes the answer."""
    short_answer: float = setting(0.6, "Short answer from", Range(0, 1, step=0.01), group="answer")
    """A quoted answer starts with the few words that answer the question, if their confidence is at least this. Set to
    1 to turn this off."""
    answer_context: int = setting(
        3000, "Text shown to the model", Range(200, 100_000, step=250, unit="tokens"), group="answer"
    )
    """How much of the kept strips the language model that writes the answer is shown at most, the best first. A model
    file, or one whose name says that it is under 8 B, is shown 500 tokens at most."""
    answer_tokens: int = setting(
        700, "Length of a written answer", Range(16, 8_000, step=50, unit="tokens"), group="answer"
    )
    """How long an answer that a language model writes may be at most."""
    temperature: float = setting(0.0, "Temperature", Range(0, 2, step=0.1), group="answer")
    """How freely a language model words an answer. At 0 it words the same sources alike."""
    min_answer_score: float = setting(0.1, "Minimum answer score", Range(0, 1, step=0.01), group="answer")
    """If no kept strip scores at least this, the answer is that the documents do not say."""
    min_answer_confidence: float = setting(0.0, "Minimum answer confidence", Range(0, 1, step=0.01), group="answer")
    """A quoted answer with a lower confidence is not given; the nearest passages are shown instead. Set to 0 to always
    give it."""
    confident_answer: float = setting(0.0, "Confident answer from", Range(0, 1, step=0.01), group="answer")
    """A quoted answer with a lower confidence is to be checked. Set to 0 to let the strips' scores decide."""

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.lower > self.upper:
            raise ValueError("the lower threshold is above the upper one")
        if self.binary and self.lower != self.upper:
            raise ValueError("yes-or-no grades need both thresholds to be the same")
        if (self.evaluator == "joint") != (self.aggregation is Aggregation.JOINT):
            raise ValueError("joint grading and joint aggregation go together")
        if self.forced and self.evaluator == "none":
            raise ValueError("nothing is graded, so there is no action to force")
        return self

    def changed(self, **changes: Any) -> Settings:
        """A copy with some settings changed, checked. Raises SettingsError naming the setting and its range."""
        return Settings.checked({**self.model_dump(), **changes})

    def under(self, given: Settings | Mapping[str, Any] | None) -> Settings:
        """These settings with those that `given` names in their place, checked. Raises SettingsError as `changed`.

        Settings name those that they were made with: `Settings(k=5)` names `k`, a strategy's own name all.
        """
        if isinstance(given, Settings):
            given = {name: getattr(given, name) for name in given.model_fields_set}
        elif not isinstance(given, Mapping | None):
            problem = f"settings: a mapping of names to values is wanted, and it is of type {type(given).__name__}."
            raise SettingsError(problem, "For example settings={'k': 5}.")
        return self.changed(**given) if given else self

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from plain values. Raises SettingsError naming the setting and its range."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(first_problem(error)) from error

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> StoredSettings:
        """Settings as a run's record has them, whichever build wrote it. Never raises: what is lost is named."""
        try:
            return StoredSettings(cls.model_validate(values).changed())
        except ValidationError as error:
            bad = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        for others in (set[str](), *_TOGETHER, set(values)):
            kept = {name: value for name, value in values.items() if name not in bad | others}
            try:
                settings = cls.model_validate(kept)
                break
            except ValidationError:
                continue
        known = [name for name in values if name in cls.model_fields]
        return StoredSettings(
            settings.changed(),
            unknown=tuple(name for name in values if name not in cls.model_fields),
            invalid=tuple(name for name in known if name not in kept and values[name] != getattr(settings, name)),
        )


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The settings of a stored run as far as this build knows them.

    `unknown` are names that are no setting here. `invalid` are settings whose stored value is not taken here, by itself
    or beside the others; they stand at their default.
    """

    settings: Settings
    unknown: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
