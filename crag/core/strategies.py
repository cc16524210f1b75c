"""Every published Corrective RAG variant as a value: one engine, many presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from crag.core.errors import SettingsError
from crag.core.settings import Settings
from crag.core.types import Action, Aggregation

_C, _A, _I = Action.CORRECT, Action.AMBIGUOUS, Action.INCORRECT
_ALWAYS = (_C, _A, _I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A named bundle of settings. `source` names the design that it reproduces, `link` is where that is published.

    `base` is empty of a published one; of one that was saved, the published one that it changes.
    """

    name: str
    title: str
    help: str = ""
    source: str = ""
    link: str = ""
    base: str = ""
    settings: Settings

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", self.settings.changed())  # names all, its defaults too


_BALANCED = Settings(
    aggregation=Aggregation.SET,
    lookup_reach=40,
    overview=True,
    ambiguity_margin=0.05,
    loop_merge="union",
    strip_filter=0.02,
    strip_top_k=0,
    strip_words=400,
    strip_context=True,
    strip_reading="in place",
    min_answer_score=0.07,
    min_answer_confidence=0.15,
    confident_answer=0.7,
)

_THREE_WAY = Settings(
    upper=0.7,
    lower=0.3,
    aggregation=Aggregation.WORST,
    grade_chars=2000,
    refine_on=(_A,),
    max_rewrites=0,
    loop_on=(),
    rewrite_keywords=10,
    web_results=3,
    refine_web=False,
    strip_top_k=0,
    verify=False,
)

_BINARY = Settings(
    binary=True,
    upper=0.5,
    lower=0.5,
    keep="relevant",
    internal_on=_ALWAYS,
    refine_on=(),
    web_on=(_I,),
    loop_on=(),
    max_rewrites=0,
    rewrite_keywords=10,
    web_results=3,
    refine_web=False,
    verify=False,
)

_ALL = (
    Strategy(
        name="balanced",
        title="Balanced",
        help="The default: every chunk graded, one corrective loop, strips always, citations checked.",
        source="this project",
        settings=_BALANCED,
    ),
    Strategy(
        name="paper",
        title="Paper",
        help="Corrective RAG as published: the best chunk decides, top five strips, web pages refined too.",
        source="Yan et al. 2024, Corrective Retrieval Augmented Generation",
        link="https://arxiv.org/abs/2401.15884",
        settings=Settings(
            loop_on=(),
            max_rewrites=0,
            upper=0.76,
            lower=0.07,
            strip_sentences=3,
            strip_filter=0.08,
            strip_top_k=5,
            rewrite_keywords=3,
            web_results=5,
            verify=False,
        ),
    ),
    Strategy(
        name="three-way",
        title="Three-way",
        help="The worst chunk decides: one irrelevant chunk discards the retrieval.",
        source="a tutorial with FAISS",
        settings=_THREE_WAY,
    ),
    Strategy(
        name="three-way-conservative",
        title="Three-way, conservative",
        help="Three-way with high thresholds, for medicine and finance.",
        source="a tutorial with FAISS",
        settings=_THREE_WAY.changed(upper=0.8, lower=0.4),
    ),
    Strategy(
        name="three-way-aggressive",
        title="Three-way, aggressive",
        help="Three-way with low thresholds, for speed and stable documents.",
        source="a tutorial with FAISS",
        settings=_THREE_WAY.changed(upper=0.6, lower=0.2),
    ),
    Strategy(
        name="joint",
        title="Joint",
        help="One grade over the three best chunks together; confident and recent documents first.",
        source="middleware with a vector database",
        settings=Settings(
            k=3,
            evaluator="joint",
            aggregation=Aggregation.JOINT,
            grade_chars=500,
            upper=0.9,
            lower=0.5,
            min_confidence=0.7,
            half_life_days=30,
            strip_top_k=9,
            loop_on=(),
            max_rewrites=0,
            web_results=3,
            rewrite_keywords=10,
            refine_web=False,
            verify=False,
        ),
    ),
    Strategy(
        name="binary-any",
        title="Binary, any",
        help="Chunks are relevant or not; the web is searched only when none is.",
        source="a LangGraph tutorial over PDFs",
        settings=_BINARY,
    ),
    Strategy(
        name="binary-strict",
        title="Binary, strict",
        help="Chunks are relevant or not; a single irrelevant one turns on the web.",
        source="a LangGraph article",
        settings=_BINARY.changed(aggregation=Aggregation.WORST),
    ),
    Strategy(
        name="loop",
        title="Loop",
        help="One yes or no over three chunks; on no the query is rewritten, at most twice. No web.",
        source="a production write-up",
        settings=Settings(
            k=3,
            evaluator="joint",
            aggregation=Aggregation.JOINT,
            binary=True,
            upper=0.5,
            lower=0.5,
            internal_on=_ALWAYS,
            refine_on=(),
            web_on=(),
            loop_on=(_I,),
            max_rewrites=2,
            rewrite_keywords=10,
            verify=True,
        ),
    ),
    Strategy(
        name="plain-rag",
        title="Plain RAG",
        help="The baseline: whatever was retrieved is answered from, unchecked.",
        source="Lewis et al. 2020, Retrieval-Augmented Generation",
        link="https://arxiv.org/abs/2005.11401",
        settings=Settings(
            evaluator="none",
            internal_on=_ALWAYS,
            refine_on=(),
            web_on=(),
            loop_on=(),
            max_rewrites=0,
            verify=False,
            min_answer_score=0.0,
        ),
    ),
)

STRATEGIES: dict[str, Strategy] = {each.name: each for each in _ALL}


def strategy(name: str, known: Mapping[str, Strategy] = STRATEGIES) -> Strategy:
    """The strategy of that name. Raises SettingsError naming the ones there are."""
    try:
        return known[name]
    except KeyError:
        raise SettingsError(f"There is no strategy {name[:100]!r}.", f"Use one of: {', '.join(known)}.") from None
