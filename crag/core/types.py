"""The values a run is made of: grades, strips, web pages, answers; and those of documents, by their own names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, Literal, get_args

from pydantic import AliasChoices, BeforeValidator, Field

from crag.core.documents import INDEXED_AS as INDEXED_AS
from crag.core.documents import Calculation as Calculation
from crag.core.documents import CalculationKind as CalculationKind
from crag.core.documents import Chunk as Chunk
from crag.core.documents import Document as Document
from crag.core.documents import FromWeb as FromWeb
from crag.core.documents import LineBox as LineBox
from crag.core.documents import Media as Media
from crag.core.documents import Rect as Rect
from crag.core.documents import ShortAnswer as ShortAnswer
from crag.core.errors import Reason
from crag.text.characters import InjectionSpan as InjectionSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier question as it stood alone, with its answer: the words that answer, or else the whole text."""

    question: str
    answer: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """What is asked in place of a question, and the earlier questions that it holds, the latest first.

    `read`: words that no text has, each with what it is read as; `left`: the questions behind the first one.
    """

    question: str
    follows: tuple[str, ...] = ()
    read: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()


class Action(StrEnum):
    """What the retrieval evaluator's scores lead to (paper §4.3)."""

    CORRECT = "CORRECT"
    AMBIGUOUS = "AMBIGUOUS"
    INCORRECT = "INCORRECT"


class Aggregation(StrEnum):
    """How the verdicts on single chunks become one action."""

    ANY = "any"
    WORST = "worst"
    MEAN = "mean"
    JOINT = "joint"
    SET = "set"


OutputMode = Literal["answer", "evidence"]
"""What a run ends with: an answer, or the strips that one may rest on."""

Origin = Literal["internal", "external"]
"""internal: from the library. external: from the web. Never mixed without a mark."""

Step = Literal["contextualize", "retrieve", "evaluate", "act", "refine", "rewrite", "search", "answer", "verify"]


KeepReason = Literal["", "score", "selected", "unscored", "context", "neighbour", "whole"]
"""Why a strip is kept. score: it is among the best. selected: a language model named it. unscored: nothing of its
source could be scored. deciding: it was of the best chunk's best passage, in a run of an earlier build. context: it
heads a table of which a row is kept. neighbour: a kept sentence can't be understood without it. whole: its text is
taken as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedChunk:
    """A chunk with the retriever's own score. `similarity` is for ranking: never a relevance, never thresholded.

    `round`: which retrieval of the run brought it, from 0. `injections`: what of its text speaks to a language model;
    it is marked, and the text is read whole.
    """

    chunk: Chunk
    rank: int
    similarity: float
    dense: float | None = None
    bm25: float | None = None
    round: int = 0
    injections: tuple[InjectionSpan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What an evaluator is asked about: a text and the id its grade will carry."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What an evaluator says of one passage: a calibrated score 0..1, or an explicit failure.

    Exactly one of `score` and `error` is set. `instead_of`: the evaluator that was to grade it, and `why` how that
    failed. Both `error` and `why` are sentences, or what is said of `who`, the id of a model. `failed_before`: so
    many times it had failed when it was given up for this run; 0 where it was asked. `fault`: what kind of failure it
    was, where that is known. `english`: question and passage are; in other languages a judgement is less sure.
    """

    passage_id: str
    score: float | None
    reason: str = ""
    evaluator: str = ""
    seconds: float = 0.0
    error: str | None = None
    cached: bool = False
    instead_of: str = ""
    why: str = ""
    who: str = ""
    failed_before: int = 0
    fault: Reason | Literal[""] = ""
    english: bool = True

    def __post_init__(self) -> None:
        if (self.score is None) == (self.error is None):
            raise ValueError("a grade has either a score or an error")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score lies in 0..1, not {self.score}")

    @property
    def failed(self) -> bool:
        return self.score is None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradePart:
    """What one reading of a text, `value`, adds to the log-odds of its score; None of what is always added."""

    name: str
    value: float | None
    adds: float


SET = "set"
"""The `passage_id` of a grade of all retrieved texts together, made from their own grades (`SetGrade`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedText:
    """A text as it was graded, with its score 0..1."""

    text: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReadings:
    """What a set of retrieved texts says of a question.

    `best` is the best text's score 0..1, `rank` its place in the search, from 0, `words` counts the words of its
    likeliest answer, `closeness` is its cosine with the question. `agreeing` of the next best three have the same
    likeliest answer. `covered` is the share of the question's words that stand in any text, 0..1, by rarity; `absent`
    are the rarest of the others, `years` those of the question in no text, of `years_asked`. `keywords`: how
    rare all of the question's words are that the text with most of them has, beyond what the texts have on average.
    """

    best: float
    agreeing: int
    covered: float
    absent: tuple[str, ...]
    years: tuple[str, ...]
    years_asked: int
    keywords: float
    closeness: float
    words: int
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGrade:
    """How likely all retrieved texts together answer the question, 0..1, and what that rests on."""

    score: float
    readings: SetReadings
    evaluator: str = ""

    @property
    def grade(self) -> Grade:
        """The same as a grade that a decision can rest on."""
        return Grade(passage_id=SET, score=self.score, evaluator=self.evaluator)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The action for a whole retrieval and what it rests on.

    `deciding_id` is the chunk whose score decided; None where no single chunk did (mean, joint, set, none graded).
    `score` is the value compared with the thresholds; None where nothing was graded.
    `unknown` counts failed grades. `instead_of`: what the scores say, where the action was forced. `doubt`: the
    margin within which the score lay below `lower`, where that made an INCORRECT AMBIGUOUS; else 0.
    """

    action: Action
    deciding_id: str | None
    score: float | None
    upper: float
    lower: float
    aggregation: Aggregation
    graded: int
    unknown: int = 0
    instead_of: Action | None = None
    doubt: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One or a few sentences of a chunk or web page, scored alone (paper §4.4).

    `source_id` is the chunk's or web page's id; [start, end) are offsets into that text. `selected` is what a
    language model said of it; None where none was asked, or failed. `why` it is kept, where it is, and that is known.
    """

    id: str
    source_id: str
    origin: Origin
    start: int
    end: int
    text: str
    score: float | None
    kept: bool
    selected: bool | None = None
    why: KeepReason = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """One web result: `text` is the page's main text, or the provider's snippet where there was no page.

    `injections`: what of it speaks to a language model, and whether the run erased it.
    """

    id: str
    url: str
    title: str
    text: str
    provider: str
    query: str
    rank: int
    published: str | None = None
    fetched: bool = False
    injections: tuple[InjectionSpan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What is to be known of a web search: the page or file `name` was not read, and `why`; else that is a sentence."""

    why: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A numbered pointer from the answer to the text it rests on.

    `page` from 1, None for the web; `url`: of a web page, and of a document that came from the web. `place` and
    `from_web` as a chunk's. `recognised` 0..1: how sure text recognition is to have read what is cited right; None
    where it read none of it. `found`: the answer did not cite it; it was found afterwards to support a sentence.
    """

    number: int
    strip_id: str
    source_id: str
    origin: Origin
    source: str
    quote: str
    page: int | None = None
    url: str | None = None
    rects: tuple[Rect, ...] = ()
    place: str = ""
    recognised: float | None = None
    from_web: FromWeb = ""
    found: bool = False

    @property
    def where(self) -> str:
        """Where in its document a person finds it, as "page 3"; empty for the web."""
        return self.place or (f"page {self.page}" if self.page else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanReading:
    """Where in a text the likeliest answer stands, as [start, end), and how sure it is to be right, 0..1."""

    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The value of a cell as its table gives it, its citation, and its document's date in ISO 8601, empty for none."""

    value: str
    citation: int
    dated: str = ""


Unmet = Literal["several", "other row", "no figure", "opposite", "no period", "empty"]
LookupOutcome = Literal["found", "no item", Unmet]
"""How a look-up in tables ended: with one cell; without a row that means what is asked; with several that do not agree,
a quote of the opposite, rows of another period, a form's empty field; in earlier builds another row, no figure."""
UNMET: Final = frozenset[Unmet](get_args(Unmet))
"""Those after which an answer is to be checked, whatever its grades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedAnswer:
    """What tells how likely a quote is right: the `text` of its source behind its title, and how sure its words are.

    `facts`, by name: those by which it was chosen; "chance", its log-odds among all that could be quoted; "formula", 1
    where a result is asked for.
    """

    text: str
    confidence: float | None = None
    facts: Mapping[str, float] = field(default_factory=dict)


Remark = Literal["cut", "overlong", "looped", "other language", "no answer"]
"""What is to be said of a model's reply; `crag.messages.wording` has the words."""
AnswerState = Literal["answered", "web", "check", "not found", "overview"]
"""How far one can rely on an answer. web: it cites the web alone. check: it has doubts. overview: whole documents."""
Doubt = Literal[
    "unsupported", "no answer", "unnamed", "not relevant", Unmet, "contradicts", "unsure", "not graded", "weak"
]
"""What is to be checked of an answer; `crag.messages.answers` has the words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`text` holds citation marks like [1]. `by` names what wrote it: `extractive`, a model, or `outline` of an answer
    of a whole document, from its headings and properties.

    An abstaining answer says so in `text` and cites nothing. `doubts`: what weighs most first; of an abstaining one
    why. `instead_of`: the model that was to write it. `short`: the words of a quoted sentence that answer, where that
    is sure enough. `unnamed`: what the question names and nothing found does. `differing`: what each document gives for
    the cell that is asked for, where they differ. `lookup`: how the look-up in tables ended; empty where none was made.
    `contradicts`: the cell that was looked up, where it gives another amount than the model does. `calculation`: what
    the question wants worked out, which is then the short answer. `confidence` 0..1: how likely it is right, of an
    abstaining one how likely what was held back is; None where that is not known. Of a written one it is that of the
    quotes in its place times the share of its sentences that hold.
    """

    text: str
    by: str
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    doubts: Annotated[
        tuple[Doubt, ...],
        # Records of earlier builds say `low_confidence` alone.
        Field(validation_alias=AliasChoices("doubts", "low_confidence")),
        BeforeValidator(lambda given: ("weak",) * given if isinstance(given, bool) else given),
    ] = ()
    instead_of: str = ""
    short: ShortAnswer | None = None
    unnamed: tuple[str, ...] = ()
    differing: tuple[Reported, ...] = ()
    remarks: tuple[Remark, ...] = ()
    lookup: LookupOutcome | Literal[""] = ""
    contradicts: Reported | None = None
    confidence: float | None = None
    calculation: Calculation | None = None

    @property
    def state(self) -> AnswerState:
        """How far one can rely on it."""
        if self.abstained:
            return "not found"
        if self.doubts:
            return "check"
        if self.by == "outline":
            return "overview"
        return "web" if {each.origin for each in self.citations} == {"external"} else "answered"

    @property
    def low_confidence(self) -> bool:
        """Whether one can't rely on it."""
        return self.state in ("check", "not found")

    @property
    def places(self) -> tuple[ShortAnswer, ...]:
        """What is marked in what it cites: the words that answer, or the cells that it is worked out from."""
        return self.calculation.cells if self.calculation else (self.short,) if self.short else ()

    @property
    def brief(self) -> str:
        """The few words that answer, a cell with its row and column, a result with its formula; empty of no such."""
        return self.calculation.equation if self.calculation else self.short.labelled if self.short else ""

    @property
    def quoted(self) -> bool:
        """Whether it is quoted word for word, and no language model wrote it."""
        return self.by in ("extractive", "outline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge says of a sentence and what it cites. `supported` None: it can't tell, or failed.

    `judge`: words (is it there literally), figures (do its numbers, dates and names stand there), evaluator, model.
    `by`: the id of the one that scored. `why` it failed is a sentence, or what is said of `who`, the id of a model.
    """

    judge: Literal["words", "figures", "evaluator", "model"]
    supported: bool | None
    score: float | None = None
    by: str = ""
    why: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureCheck:
    """Whether a number, date or name of a sentence stands in what the sentence cites.

    It is the characters [start, end) of `SentenceCheck.sentence`. stands: the same value is there, written so or
    otherwise. missing: it is not. `source_id` and `strip_id` say where it stands; empty where it is missing.
    """

    start: int
    end: int
    text: str
    kind: Literal["number", "date", "name"]
    state: Literal["stands", "missing"]
    source_id: str = ""
    strip_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCheck:
    """Whether the cited strips support one sentence of the answer. `supported` None: not checkable.

    `note` says how that was found; `by`: the evaluator that scored. `why` it was not scored is a sentence, or what is
    said of `who`, the id of a model. `citations` are the marks that it keeps, `dropped` those that it had beside them,
    and `invented` those that stand for no source. `attributed`: what it cited does not support it, or it cited nothing,
    and `citations` were found for it. `judgements`: all that judged it, each with its word.
    """

    sentence: str
    citations: tuple[int, ...]
    supported: bool | None
    score: float | None = None
    note: Literal["", "no citation", "nothing shown", "invented", "quoted", "scored", "not scored", "figures"] = ""
    by: str = ""
    why: str = ""
    who: str = ""
    invented: tuple[int, ...] = ()
    attributed: bool = False
    dropped: tuple[int, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    figures: tuple[FigureCheck, ...] = ()

    @property
    def objecting(self) -> tuple[Judgement, ...]:
        """The judges that see it otherwise than it was decided."""
        return tuple(each for each in self.judgements if each.supported not in (None, self.supported))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the check of an answer comes to: one check a sentence, in order, and the answer with the marks that hold."""

    checks: tuple[SentenceCheck, ...]
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One outside call. Tokens as the provider counted them, None where it did not.

    `error`, if it failed, is a sentence, or what is said of `who`, the id of a model.
    """

    step: Step
    provider: str
    model: str
    seconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    attempt: int = 1
    error: str | None = None
    who: str = ""
