"""One run of the graph over fixed parts: texts that are good, bad or between, and what each part was asked."""

from collections.abc import Callable, Sequence

from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.verification import CitationVerifier
from crag.pipeline.context import EventEmitter, RunContext
from crag.pipeline.fallback import FallbackWeb
from crag.pipeline.graph import run_graph
from crag.retrieval.rewriting import KeywordRewriter
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FixedRetriever, FixedWeb, ScriptedAnswerGrader, ScriptedEvaluator, chunk_of

QUESTION = "What is the capital of France?"
GOOD = "Paris is the capital of France. It has been the capital for a very long time indeed."
SOSO = "France has many large cities. Some of them were capitals of a province in earlier times."
BAD = "The recipe calls for three eggs and a cup of flour. Beat the eggs before adding the flour."
SCORES = {"Paris": 0.95, "capital": 0.9, "France": 0.35, "capitals": 0.35, "province": 0.35}
WEB = ["Paris is the capital of France, says the page. The page also speaks of other things at length."]


def score(text: str) -> float | None:
    if "broken" in text:
        return None
    return max((value for word, value in SCORES.items() if word in text.split()), default=0.02)


class Case:
    """One run over fixed parts, kept with what its parts were asked."""

    def __init__(
        self,
        strategy: str,
        texts: Sequence[str],
        *,
        joint: float | None = 0.5,
        web: FixedWeb | None = None,
        again: Sequence[str] | None = None,
        changes: dict[str, object] | None = None,
        score: Callable[[str], float | None] = score,
        web_offered: bool | None = None,
        confidence: float | None = None,
    ) -> None:
        chunks = [chunk_of(text, ordinal=place) for place, text in enumerate(texts)]
        later = [chunk_of(text, ordinal=100 + place) for place, text in enumerate(again or texts)]
        self.settings: Settings = STRATEGIES[strategy].settings.changed(**(changes or {}))
        self.retriever = FixedRetriever(chunks=later, by_query={QUESTION: chunks})
        self.evaluator = ScriptedEvaluator(score=score, joint=joint)
        self.web = web
        emitter, meter = EventEmitter(), UsageTracker()
        self.parts = RunContext(
            settings=self.settings,
            retriever=self.retriever,
            evaluator=self.evaluator,
            rewriter=KeywordRewriter(),
            web=FallbackWeb([web], emitter, meter) if web else None,
            generator=ExtractiveGenerator(self.evaluator, grader=ScriptedAnswerGrader(confidence)),
            verifier=CitationVerifier(self.evaluator),
            meter=meter,
            emitter=emitter,
            web_offered=web_offered,
        )
        start = ev.RunStarted(
            run_id="r",
            question=QUESTION,
            strategy=strategy,
            settings=self.settings.model_dump(mode="json"),
            workspace="w",
            started_at="",
        )
        self.events = [start, *run_graph(QUESTION, self.parts)]
        self.trace = Trace.from_events(self.events)

    @property
    def path(self) -> list[str]:
        return [record.step for record in self.trace.steps]

    @property
    def kept_sources(self) -> set[str]:
        return {strip.origin for strip in self.trace.kept()}
