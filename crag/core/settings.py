"""What shapes one run, each setting declared once. A strategy is a named bundle of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from crag.core.errors import FilterError, SettingsError
from crag.core.fields import Range, first_problem, setting
from crag.core.filters.where import parse
from crag.core.types import Action, Aggregation

Actions = tuple[Action, ...]
_C, _A, _I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT

_TOGETHER = ({"lower", "upper", "binary"}, {"evaluator", "aggregation", "forced"})
"""Settings that `Settings` checks against one another."""


class Settings(BaseModel):
    """What shapes one run. Frozen; `model_copy(update=…)` is not checked, `changed(…)` is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = setting(
        10, "Chunks retrieved", "How many chunks the library returns.", Range(1, 50, step=1), group="retrieval"
    )
    lookup_reach: int = setting(
        0,
        "Chunks searched for a figure",
        "How many chunks are searched for a figure that is asked for and that no table of the retrieved chunks has. "
        "The chunk that has it takes the last place. 0 turns this off.",
        Range(0, 100, step=10),
        group="retrieval",
    )
    min_confidence: float = setting(
        0.0,
        "Document confidence",
        "Only documents whose confidence is at least this are searched; if none is, all are.",
        Range(0, 1, step=0.05),
        group="retrieval",
    )
    where: str = setting(
        "",
        "Filter",
        "Only documents whose fields meet this are searched, as: verified and confidence > 0.7 and date >= 2024. "
        "Empty: all.",
        group="retrieval",
    )
    half_life_days: float = setting(
        0.0,
        "Time decay",
        "A document's similarity halves every so many days since it was added. 0 turns decay off.",
        Range(0, 3650, step=1, unit="days"),
        group="retrieval",
    )
    evaluator: Literal["none", "chunk", "joint"] = setting(
        "chunk",
        "What is graded",
        "Each chunk by itself, all chunks in one grade, or nothing (plain RAG).",
        group="evaluation",
    )
    binary: bool = setting(
        False, "Yes or no grades", "Read a grade as relevant or not: both thresholds are one.", group="evaluation"
    )
    grade_chars: int = setting(
        0,
        "Text graded",
        "Only the first so many characters of a chunk are graded. 0: all of it.",
        Range(0, 20_000, step=100, unit="characters"),
        group="evaluation",
    )
    upper: float = setting(
        0.4, "Upper threshold", "A score of at least this is CORRECT.", Range(0, 1, step=0.01), group="action"
    )
    lower: float = setting(
        0.2,
        "Lower threshold",
        "A score below this is INCORRECT; between the two it is AMBIGUOUS.",
        Range(0, 1, step=0.01),
        group="action",
    )
    ambiguity_margin: float = setting(
        0.0,
        "Margin of doubt",
        "After the last retrieval, a score below the lower threshold by no more than this is AMBIGUOUS all the same: "
        "documents stay beside the web. Corrective loops are made as without it. 0: none.",
        Range(0, 0.5, step=0.01),
        group="action",
    )
    aggregation: Aggregation = setting(
        Aggregation.ANY,
        "Aggregation",
        "any: one CORRECT chunk is enough. worst: the worst decides. mean: the average. joint: one grade over all.",
        group="action",
    )
    keep: Literal["all", "relevant"] = setting(
        "all", "Chunks kept", "All chunks, or only those scored at least the upper threshold.", group="action"
    )
    forced: Literal["", "CORRECT", "AMBIGUOUS", "INCORRECT"] = setting(
        "",
        "Forced action",
        "Act as if the scores had led to this, to see what would have followed. Scores and corrective loops stay as "
        "they are; only the action that the answer rests on is replaced.",
        group="action",
    )
    internal_on: Actions = setting(
        (_C, _A), "Documents used on", "The actions after which text from the library is used.", group="action"
    )
    web_on: Actions = setting((_A, _I), "Web searched on", "The actions after which the web is searched.", group="web")
    loop_on: Actions = setting(
        (_I,),
        "Library retried on",
        "The actions after which the query is rewritten and the library searched again.",
        group="retrieval",
    )
    max_rewrites: int = setting(
        1,
        "Corrective loops",
        "How often the library is searched again with a rewritten query, before the web.",
        Range(0, 3, step=1),
        group="retrieval",
    )
    loop_merge: Literal["last", "better", "union"] = setting(
        "last",
        "Result of a corrective loop",
        "last: the last retrieval is acted on. better: the one whose best chunk scored higher. union: the best chunks "
        "of all of them, as many as one retrieval brings.",
        group="retrieval",
    )
    refine_on: Actions = setting(
        (_C, _A), "Refined on", "The actions after which chunks are cut into strips and filtered.", group="refinement"
    )
    strips: Literal["sentences", "windows", "selection"] = setting(
        "sentences", "Strip", "Sentences, fixed windows of 50 words, or the whole chunk.", group="refinement"
    )
    strip_judge: Literal["scores", "llm"] = setting(
        "scores",
        "Strips chosen by",
        "scores: the strip filter below. llm: the language model reads each source and names the strips to keep; "
        "where it fails, or none is set, scores decide.",
        group="refinement",
    )
    strip_reading: Literal["alone", "in place"] = setting(
        "alone",
        "Strips scored",
        "alone: each by itself, as published. in place: within the chunk that it stands in, by the reading that graded "
        "the chunk, which costs no more; the local evaluator can, others score them alone.",
        group="refinement",
    )
    strip_sentences: int = setting(
        1, "Sentences a strip", "How many sentences make a strip.", Range(1, 5, step=1), group="refinement"
    )
    strip_filter: float = setting(
        0.08, "Strip filter", "Strips scored below this are dropped.", Range(0, 1, step=0.01), group="refinement"
    )
    strip_top_k: int = setting(
        8,
        "Strips kept",
        "At most so many strips are kept, the best ones; separately for documents and web. 0: no limit.",
        Range(0, 50, step=1),
        group="refinement",
    )
    strip_words: int = setting(
        0,
        "Words kept",
        "How many words the best strips may have, separately for documents and web. Sources that the search put first "
        "come first, and several sources get words. 0: no limit, and scores alone decide.",
        Range(0, 5_000, step=50, unit="words"),
        group="refinement",
    )
    strip_context: bool = setting(
        False,
        "Context kept",
        "A kept table row brings its table's header and caption, a kept sentence the one it can't be understood "
        "without, as far as the words kept allow.",
        group="refinement",
    )
    rewrite_keywords: int = setting(
        3,
        "Keywords in a web query",
        "The rewritten query has at most so many keywords.",
        Range(1, 10, step=1),
        group="web",
    )
    web_query: str = setting(
        "",
        "Web query",
        "The web is asked exactly this. Empty: a query is made from the question.",
        group="web",
    )
    web_results: int = setting(5, "Web results", "How many web results are read.", Range(1, 10, step=1), group="web")
    refine_web: bool = setting(
        True, "Refine web pages", "Cut web pages into strips and filter them by the same evaluator.", group="web"
    )
    erase_web_injection: bool = setting(
        True,
        "Erase planted orders",
        "Sentences of web pages that speak to a language model are left out of grading, answer and checks. Off: they "
        "stay, marked as untrusted. Your own documents are always read whole.",
        group="web",
    )
    verify: bool = setting(
        True, "Check citations", "Check every sentence of the answer against what it cites.", group="answer"
    )
    answer_sentences: int = setting(
        3,
        "Sentences in an extractive answer",
        "At most so many sentences are quoted when no language model writes.",
        Range(1, 8, step=1),
        group="answer",
    )
    short_answer: float = setting(
        0.6,
        "Short answer from",
        "An extractive answer begins with the few words that answer, where they are at least so likely right. "
        "1: never.",
        Range(0, 1, step=0.01),
        group="answer",
    )
    answer_context: int = setting(
        3000,
        "Text shown to the model",
        "At most so much of the kept strips is shown to a language model that writes the answer, the best first.",
        Range(200, 100_000, step=250, unit="tokens"),
        group="answer",
    )
    min_answer_score: float = setting(
        0.1,
        "Minimum answer score",
        "If no kept strip is scored at least this, the answer is that the documents do not say.",
        Range(0, 1, step=0.01),
        group="answer",
    )
    min_answer_confidence: float = setting(
        0.0,
        "Minimum answer confidence",
        "A quoted answer that is less likely right is not given: the nearest passages are shown. 0: always given.",
        Range(0, 1, step=0.01),
        group="answer",
    )
    confident_answer: float = setting(
        0.0,
        "Confident answer from",
        "A quoted answer that is less likely right is marked as of low confidence. 0: the strips' scores decide that.",
        Range(0, 1, step=0.01),
        group="answer",
    )

    @field_validator("where")
    @classmethod
    def _readable(cls, text: str) -> str:
        """In its canonical text, so that the same filter is the same setting."""
        try:
            return str(parse(text))
        except FilterError as error:
            raise ValueError(error) from error

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
            return StoredSettings(cls.model_validate(values))
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
            settings,
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
