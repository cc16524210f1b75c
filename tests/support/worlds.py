"""Small worlds for what-if: libraries, evaluators, models and webs that answer by what they are asked, nothing else.

So the same settings always meet the same world, and any change of what a part is asked changes what it says.
"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

from crag.core import events as ev
from crag.core.errors import ProviderError, UnreachableError
from crag.core.protocols import Messages
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Action, Aggregation, Chunk, Grade, GradedText, Passage, RetrievedChunk, WebPage
from crag.evaluation.refinement import LlmStripSelector
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import FallbackRewriter, FallbackWeb
from crag.pipeline.graph import run_graph
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FakeChat, FixedWeb, ScriptedEvaluator, ScriptedSetGrader, chunk_of

QUESTION = "How long is the northern bridge over the wide river?"


def drawn(*asked: object) -> int:
    """A number from 0 that hangs on all that was asked, and on nothing else."""
    return crc32(repr(asked).encode())


def score(text: str) -> float | None:
    """Twentieths, so that they meet thresholds and each other, mostly low; one text in nine can't be graded."""
    number = drawn(text)
    most = 4 if "dull" in text else 21
    failed = number % 9 == 0 or "mute" in text
    return None if failed else (number // 9 % 21) * (number // 1000 % most) // 20 / 20


def as_set(texts: Sequence[GradedText]) -> float:
    """The same of all texts together, in any order."""
    return score("set " + "|".join(sorted(each.text for each in texts))) or 0.0


def text_of(name: object, sentences: int) -> str:
    begun = ("Sentence", "It is sentence", "However, sentence")
    told = [
        f"{begun[place % 3]} {place} of {name} speaks of the {drawn(name, place)} matters."
        for place in range(sentences)
    ]
    return " ".join(told)


@dataclass(frozen=True)
class Shelf:
    """A library of `size` chunks: which come, and in which order, hangs on the query and the run's filters."""

    seed: int
    size: int
    settings: Settings

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        near = [place for place in range(self.size) if drawn(self.seed, query, place) % 3]
        near = [place for place in near if not self.settings.where or drawn(str(self.settings.where), place) % 2]
        sure = [place for place in near if drawn(self.seed, place) % 100 / 100 >= self.settings.min_confidence]
        order = sorted(sure or near, key=lambda place: drawn(self.seed, query, place, self.settings.half_life_days))
        name = "dull" if self.seed % 2 else "bright"
        chunks = [
            chunk_of("  " if place == 5 else text_of((name, self.seed, place), place % 4 + 1), ordinal=place)
            for place in order
        ]
        return rank_chunks(chunks[:k])


class Together(ScriptedEvaluator):
    """Its grade over all texts hangs on all of them."""

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        return self._grade("joint", score("|".join(passage.text for passage in passages)))


@dataclass
class Rewriting:
    """A query that hangs on all that the rewriter sees; sometimes one that was tried, sometimes none."""

    seed: int
    by: str = "worlds"

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        number = drawn(self.seed, max_keywords, [chunk.id for chunk in failed], tuple(tried))
        if number % 7 == 0:
            raise UnreachableError("The rewriter did not answer.")
        return question if number % 7 == 1 else f"query {number % 50}"


@dataclass(kw_only=True)
class Online(FixedWeb):
    """Up to five pages that hang on the query; some are long, and of some nothing can be graded."""

    seed: int

    def search(self, query: str, max_results: int) -> list[WebPage]:
        self.texts = [self._text(query, rank) for rank in range(drawn(self.seed, query) % 6)]
        return super().search(query, max_results)

    def _text(self, query: str, rank: int) -> str:
        number = drawn(self.seed, query, rank)
        name = "mute" if number % 5 == 0 else "bright"
        return text_of((name, number), 64 if number % 4 == 0 else rank + 1)


def chosen(messages: Messages) -> str | ProviderError:
    """What a model keeps of a source; one source in six it can't read."""
    asked = messages[-1][1]
    if drawn(asked) % 6 == 0:
        return UnreachableError("The model did not answer.")
    return json.dumps({"keep": [n for n in range(1, asked.count("<sentence ") + 1) if drawn(asked, n) % 2]})


@dataclass(frozen=True)
class World:
    """What every run over it shares."""

    seed: int

    @cached_property
    def size(self) -> int:
        return [0, 1, 3, 8, 14, 20][self.seed % 6]

    def parts(self, settings: Settings) -> RunContext:
        evaluator, local = Together(score=score), ScriptedEvaluator(score=lambda text: score("strip " + text))
        webs = [Online(seed=self.seed), *[Online(seed=self.seed)] * 2, FixedWeb(fails=True), None]
        emitter, meter, web = EventEmitter(), UsageTracker(), webs[self.seed % 5]
        return RunContext(
            settings=settings,
            retriever=Shelf(self.seed, self.size, settings),
            evaluator=evaluator,
            set_grader=ScriptedSetGrader(as_set) if self.seed % 3 != 1 else None,
            strip_evaluator=local if self.seed % 4 == 1 else None,
            rewriter=FallbackRewriter([Rewriting(self.seed)], emitter),
            selector=LlmStripSelector(FakeChat(chosen)) if self.seed % 3 else None,
            web=FallbackWeb([web], emitter, meter) if web else None,
            generator=ExtractiveGenerator(evaluator),
            verifier=CitationVerifier(evaluator),
            meter=meter,
            emitter=emitter,
        )

    def run(self, settings: Settings) -> list[ev.Event]:
        """All events of a run, with its start."""
        start = ev.RunStarted(
            run_id=f"r{self.seed}",
            question=QUESTION,
            strategy="balanced",
            settings=settings.model_dump(mode="json"),
            workspace="w",
            started_at="",
        )
        return [start, *run_graph(QUESTION, self.parts(settings))]

    def trace(self, settings: Settings) -> Trace:
        return Trace.from_events(self.run(settings))


def hundredth(draw: random.Random) -> float:
    return draw.choice([0, 5, 10, 20, 30, 40, 55, 70, 85, 100]) / 100


def some(draw: random.Random) -> tuple[Action, ...]:
    return tuple(action for action in Action if draw.random() < 0.6)


FIELDS: dict[str, Any] = {
    "answer_tokens": lambda draw: draw.choice([16, 700]),
    "temperature": lambda draw: draw.choice([0.0, 1.0]),
    "k": lambda draw: draw.choice([1, 2, 3, 5, 10, 12]),
    "lookup_reach": lambda draw: draw.choice([0, 40]),
    "overview": lambda draw: draw.random() < 0.5,
    "min_confidence": lambda draw: draw.choice([0.0, 0.3, 0.7]),
    "where": lambda draw: draw.choice([{}, {"verified": True}, {"date": {">=": "2024"}}]),
    "half_life_days": lambda draw: draw.choice([0.0, 30.0]),
    "evaluator": lambda draw: draw.choice(["none", "chunk", "chunk", "joint"]),
    "binary": lambda draw: draw.random() < 0.2,
    "grade_chars": lambda draw: draw.choice([0, 30, 100]),
    "upper": hundredth,
    "lower": hundredth,
    "ambiguity_margin": lambda draw: draw.choice([0.0, 0.05, 0.2]),
    "aggregation": lambda draw: draw.choice([Aggregation.ANY, Aggregation.WORST, Aggregation.MEAN, Aggregation.SET]),
    "keep": lambda draw: draw.choice(["all", "relevant"]),
    "forced": lambda draw: draw.choice(["", *Action]),
    "internal_on": some,
    "web_on": some,
    "loop_on": some,
    "max_rewrites": lambda draw: draw.randint(0, 3),
    "loop_merge": lambda draw: draw.choice(["last", "better", "union"]),
    "refine_on": some,
    "strips": lambda draw: draw.choice(["sentences", "windows", "selection"]),
    "strip_judge": lambda draw: draw.choice(["scores", "llm"]),
    "strip_reading": lambda draw: draw.choice(["alone", "in place"]),
    "strip_sentences": lambda draw: draw.randint(1, 3),
    "strip_filter": hundredth,
    "strip_top_k": lambda draw: draw.choice([0, 1, 2, 4, 8]),
    "strip_words": lambda draw: draw.choice([0, 15, 40, 120]),
    "strip_context": lambda draw: draw.random() < 0.5,
    "rewrite_keywords": lambda draw: draw.choice([3, 4]),
    "web_query": lambda draw: draw.choice(["", "northern bridge length"]),
    "web_results": lambda draw: draw.choice([2, 5]),
    "refine_web": lambda draw: draw.random() < 0.6,
    "erase_web_injection": lambda draw: draw.random() < 0.7,
    "verify": lambda draw: draw.random() < 0.5,
    "answer_sentences": lambda draw: draw.randint(1, 4),
    "answer_context": lambda draw: draw.choice([500, 3000]),
    "min_answer_score": hundredth,
    "min_answer_confidence": hundredth,
    "confident_answer": hundredth,
    "short_answer": hundredth,
}
"""A value for every setting, mostly one that makes a difference."""

TUNED = ("upper", "lower", "aggregation", "strip_filter")
"""What a slider moves that asks for nothing new."""


def settled(values: dict[str, Any]) -> Settings:
    """The settings nearest to `values` that hold together."""
    fixed = {**values, "lower": min(values["lower"], values["upper"]), "upper": max(values["lower"], values["upper"])}
    if fixed["binary"]:
        fixed["lower"] = fixed["upper"]
    if fixed["evaluator"] == "joint":
        fixed["aggregation"] = Aggregation.JOINT
    elif fixed["aggregation"] is Aggregation.JOINT:
        fixed["aggregation"] = Aggregation.ANY
    if fixed["evaluator"] == "none":
        fixed["forced"] = ""
    return Settings.checked(fixed)


def first_settings(draw: random.Random) -> Settings:
    """A strategy's settings, with some changed."""
    often = [STRATEGIES["balanced"]] * 5 + [STRATEGIES["loop"]] * 3
    base = draw.choice([*often, *STRATEGIES.values()]).settings.model_dump()
    return _with(draw, base, draw.sample(sorted(FIELDS), draw.choice([0, 2, 6])))


def other_settings(draw: random.Random, settings: Settings) -> Settings:
    """These settings with one changed, or a few, or those that ask for nothing new."""
    subtle = ["k", "loop_merge", "evaluator", "keep", "refine_web", "strip_judge", "strips"]
    names = draw.choice([draw.sample(subtle, 1), draw.sample(sorted(FIELDS), 1), draw.sample(sorted(FIELDS), 2), TUNED])
    return _with(draw, settings.model_dump(), names)


def tuned(draw: random.Random, settings: Settings) -> Settings:
    """These settings with other thresholds, aggregation and strip filter."""
    return _with(draw, settings.model_dump(), TUNED)


def _with(draw: random.Random, values: dict[str, Any], names: Iterable[str]) -> Settings:
    return settled({**values, **{name: FIELDS[name](draw) for name in names}})
