"""What a run does, step by step. Each function reads the state, uses the parts, emits events, returns what changed.

Order of display is the order of arrival; order of record is the order of retrieval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crag.core import events as ev
from crag.core.errors import ProviderError, ReplyError
from crag.core.policy import acted_on, chunks_acted_on, keeps_chunk, loops, refines
from crag.core.ranking import rank_chunks
from crag.core.trace import Round
from crag.core.types import (
    Action,
    Answer,
    Chunk,
    Decision,
    Grade,
    Origin,
    Passage,
    RetrievedChunk,
    SetGrade,
    Strip,
    WebPage,
)
from crag.evaluation.refinement import RefinementParts, make_strip, score_strips
from crag.evaluation.trigger import decide, graded_texts, set_grades
from crag.generation.arithmetic import looks_up, reach_cells
from crag.generation.ground import finish, lacks_support, without_floor
from crag.generation.reading import Progress
from crag.generation.verification import faithfulness
from crag.pipeline.context import RunContext, State
from crag.pipeline.guiding import guide
from crag.pipeline.questions import WholeAnswer
from crag.text.guard import detect_injection, mask_injection
from crag.web.searching import outgoing

PAGE_CHARS = 2_000
"""How much of a web page is used where the strategy takes pages as they are."""


def contextualize(state: State, parts: RunContext) -> State:
    """A question as it is asked in its place: read as it was meant, and made to stand alone where it follows on others.

    What a person worded is neither.
    """
    asked, history, read = state["question"], state["history"], state["read"]
    if state["standalone"]:
        made, by = read, "person"
    elif history:
        assert parts.contextualizer is not None
        made = parts.contextualizer.standalone(read.question, history)
        by = "reading" if made.question == read.question != asked else parts.contextualizer.by
    else:
        made, by = read, "reading"
    parts.emit(
        ev.QuestionRewritten(
            question=asked,
            standalone=made.question,
            by=by,
            follows=made.follows,
            after=history[-1].run_id if history else "",
            read=read.read,
            left=read.left,
        )
    )
    return {"question": made.question, "query": made.question, "tried": (made.question,)}


def retrieve(state: State, parts: RunContext) -> State:
    """Retrieve the k chunks most similar to the query, and those whose tables have the figures that are asked for.

    Where the question is about a whole document, what its answer cites takes their place.

    What of them speaks to a model is marked; they stay whole.
    """
    round, k, reach = state["round"], parts.settings.k, parts.settings.lookup_reach
    reach = reach if looks_up(state["question"]) else 0
    retrieved = parts.retriever.search(state["query"], max(k, reach))
    asks = parts.settings.overview and parts.wanted == "answer" and not round
    whole = parts.questions.answer(state["question"], retrieved[:k]) if asks and parts.questions else None
    near = whole.chunks if whole else reach_cells(state["question"], retrieved, k) if reach else retrieved
    found = tuple(replace(each, round=round, injections=detect_injection(each.chunk.text)) for each in near)
    parts.emit(ev.Retrieved(query=state["query"], chunks=found, round=round))
    following: State = {"retrieved": found, "acted": found, "grades": {}, "joint": None, "decision": None}
    return {**following, "whole": whole} if whole else following


def evaluate(state: State, parts: RunContext) -> State:
    """A grade for every chunk, or one over all of them; always of the question as it was asked."""
    limit = parts.settings.grade_chars
    passages = [Passage(id=found.chunk.id, text=found.chunk.graded_text(limit)) for found in state["retrieved"]]
    if not passages:
        return {}
    if parts.settings.evaluator == "joint":
        joint = parts.evaluator.grade_joint(state["question"], passages)
        parts.emit(ev.Graded(grade=joint, joint=True, round=state["round"]))
        return {"joint": joint}
    grades: dict[str, Grade] = {}
    for grade in parts.evaluator.grade(state["question"], passages):
        parts.check()
        parts.emitter.emit_pending()
        grades[grade.passage_id] = grade
        parts.emit(ev.Graded(grade=grade, round=state["round"]))
    return {"grades": grades}


def act(state: State, parts: RunContext) -> State:
    """The action that the grades lead to; a forced one, where the library is not searched again."""
    settings, own = parts.settings, state["retrieved"]
    here = Round(query=state["query"], chunks=own, grades=state["grades"], joint=state.get("joint"))
    rounds = (*state.get("rounds", ()), here)
    places = chunks_acted_on(
        [[(found.chunk.id, each.grades.get(found.chunk.id)) for found in each.chunks] for each in rounds],
        [each.joint for each in rounds],
        settings,
    )
    acted = tuple(rounds[number].chunks[place] for number, place in places)
    graded = {id: grade for each in reversed(rounds) for id, grade in each.grades.items()}
    joint = rounds[places[0][0] if places else -1].joint
    grades = [joint] if joint else [graded[found.chunk.id] for found in acted]
    together = None if joint else _grade_set(state["question"], acted, graded, parts)
    deciding = set_grades(grades, together, settings.aggregation)
    decision = decide(deciding, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
    if not loops(decision.action, round=state["round"], settings=settings):
        decision = acted_on(decision, settings)
    following: State = {"rounds": rounds, "acted": acted, "grades": graded, "joint": joint, "together": together}
    return {**following, **_record_decision(decision, {**state, **following}, parts)}


def _record_decision(decision: Decision, state: State, parts: RunContext) -> State:
    acted, own = ([found.chunk.id for found in each] for each in (state["acted"], state["retrieved"]))
    chunks = () if acted == own else tuple(acted)
    together = state["together"]
    parts.emit(ev.ActionTaken(decision=decision, together=together, round=state["round"], chunks=chunks))
    return {"decision": decision}


def _grade_set(
    question: str, acted: Sequence[RetrievedChunk], grades: Mapping[str, Grade], parts: RunContext
) -> SetGrade | None:
    """The grade of all chunks together, where one can be made of their own."""
    if parts.set_grader is None:
        return None
    return parts.set_grader.grade_set(question, graded_texts(acted, grades, parts.settings.grade_chars))


def rewrite_for_library(state: State, parts: RunContext) -> State:
    """Another query for the library, with the chunks that failed in view; where there is none, the loop ends here."""
    failed = [found.chunk for found in state["retrieved"]]
    tried, keywords = state["tried"], parts.settings.rewrite_keywords
    query = parts.rewriter.rewrite(state["question"], max_keywords=keywords, failed=failed, tried=tried)
    following: State = {"query": query, "tried": (*tried, query), "round": state["round"] + 1}
    if query not in tried:
        parts.emit(ev.Rewritten(question=state["question"], query=query, purpose="library", by=parts.rewriter.by))
    elif (decision := state["decision"]) and (last := acted_on(decision, parts.settings)) != decision:
        following.update(_record_decision(last, state, parts))
    return following


def refine_documents(state: State, parts: RunContext) -> State:
    """The chunks' strips, scored and filtered; or the chunks whole, where the strategy does not refine."""
    settings = parts.settings
    chunks = [found.chunk for found in state["acted"] if keeps_chunk(_grade(state, found.chunk), settings)]
    if refines(action_of(state), settings):
        strips = _refine(chunks, "internal", state["question"], parts)
    else:
        strips = tuple(
            make_strip(chunk.id, chunk.text, "internal", 0, len(chunk.text), _score(_grade(state, chunk)), kept=True)
            for chunk in chunks
        )
    _emit_strips([chunk.id for chunk in chunks], "internal", strips, parts)
    return {"strips": strips}


def rewrite_for_web(state: State, parts: RunContext) -> State:
    """The query that leaves for the web: the one that was given, else the question rewritten, or as it is."""
    question = state["question"]
    query, by = outgoing(parts.settings.web_query), "given"
    if not query:
        query = outgoing(parts.rewriter.rewrite(question, max_keywords=parts.settings.rewrite_keywords))
        by = parts.rewriter.by
    parts.emit(ev.Rewritten(question=question, query=query, purpose="web", by=by))
    return {"web_query": query}


def search(state: State, parts: RunContext) -> State:
    """Web pages for the rewritten query; none, said openly, where the provider failed."""
    assert parts.web is not None
    found = parts.web.search(state["web_query"], parts.settings.web_results)
    if found is None:
        return {"pages": ()}
    erases = parts.settings.erase_web_injection
    found = replace(found, pages=tuple(_mark_page(page, erases) for page in found.pages))
    parts.emit(found)
    return {"pages": tuple(_mask_page(page) for page in found.pages) if erases else found.pages}


def refine_pages(state: State, parts: RunContext) -> State:
    """The web pages' strips, scored and filtered by the same evaluator; a page's grade is its best strip's."""
    pages = state["pages"]
    if not pages:
        return {}
    scorer = parts.scorer
    if parts.settings.refine_web:
        strips = _refine(pages, "external", state["question"], parts)
    else:
        passages = [Passage(id=page.id, text=page.text[:PAGE_CHARS]) for page in pages]
        scores = {grade.passage_id: grade.score for grade in scorer.grade(state["question"], passages)}
        strips = tuple(
            make_strip(page.id, page.text, "external", 0, min(len(page.text), PAGE_CHARS), scores[page.id], kept=True)
            for page in pages
        )
    for page in pages:
        scores_here = [strip.score for strip in strips if strip.source_id == page.id and strip.score is not None]
        grade = (
            Grade(passage_id=page.id, score=max(scores_here), evaluator=scorer.id, reason="its best passage")
            if scores_here
            else Grade(passage_id=page.id, score=None, evaluator=scorer.id, error="Nothing on it was scored.")
        )
        parts.emit(ev.Graded(grade=grade, origin="external", round=state["round"]))
    _emit_strips([page.id for page in pages], "external", strips, parts)
    return {"web_strips": strips}


def answer(state: State, parts: RunContext) -> State:
    """The answer to the question as it was asked, from the strips that were kept."""
    if overview := state.get("whole"):
        _emit_strips([each.chunk.id for each in overview.chunks], "internal", overview.strips, parts)
        parts.emit(ev.Answered(answer=overview.answer))
        return _read_whole(state, overview, parts) if overview.text and parts.reader else {"answer": overview.answer}
    knowledge, sources = _knowledge(state), _sources(state)
    decision, settings = state.get("decision"), parts.settings
    if parts.strip_evaluator is not None:
        settings = without_floor(settings, decision)
    grades = [*state.get("grades", {}).values(), *filter(None, [state.get("joint")])]
    whole: Answer | None = None
    for piece in parts.generator.answer(state["question"], knowledge, sources, settings):
        parts.check()
        if isinstance(piece, Answer):
            whole = finish(piece, decision, knowledge, settings, grades)
            parts.emit(ev.Answered(answer=whole))
        else:
            parts.emit(ev.Token(text=piece))
    if whole is None:
        raise ReplyError("The answer ended before it was complete.", "Ask again.")
    if whole.abstained or lacks_support(decision, knowledge):
        _guide(state, parts)
    return {"answer": whole}


def _read_whole(state: State, overview: WholeAnswer, parts: RunContext) -> State:
    """The answer that a model writes of a whole document; where it fails or finds nothing, the outline, marked."""
    reader, text = parts.reader, overview.text
    assert reader is not None and text is not None
    read: tuple[Strip, ...] = ()
    answer = replace(overview.answer, instead_of=reader.by)
    try:
        for piece in reader.answer(state["question"], text, parts.settings, *parts.meter.spare):
            parts.check()
            parts.emitter.emit_pending()
            match piece:
                case Progress(done, portions, calls, tokens, share, read):
                    parts.emit(ev.PortionRead(done=done, portions=portions, calls=calls, tokens=tokens, share=share))
                case Answer():
                    answer = replace(answer, remarks=("no answer",)) if piece.abstained else piece
                case _:
                    parts.emit(ev.Token(text=piece))
    except ProviderError as error:
        parts.emitter.worked_around("answer", error, "outline", "outline")
    if answer.quoted:
        parts.emit(ev.Answered(answer=answer))
        return {"answer": answer}
    chunks = {id: source for id, source in text.sources.items() if isinstance(source, Chunk)}
    following: State = {"answer": answer, "strips": read, "acted": tuple(rank_chunks(chunks.values()))}
    return {**following, "whole": _show_read({**state, **following}, answer, parts)}


def _show_read(state: State, answer: Answer, parts: RunContext) -> WholeAnswer:
    """Tells the answer that a model wrote of a whole document, and what it cites beside what was told before."""
    cited = {each.source_id for each in answer.citations}
    known = {each.chunk.id: each for each in state["whole"].chunks}
    more = [each for each in state["acted"] if each.chunk.id in cited and each.chunk.id not in known]
    chunks = tuple(replace(each, rank=rank) for rank, each in enumerate([*known.values(), *more], 1))
    parts.emit(ev.Retrieved(query=state["query"], chunks=chunks))
    _emit_strips([each.chunk.id for each in more], "internal", state["strips"], parts)
    parts.emit(ev.Answered(answer=answer))
    return state["whole"]._replace(chunks=chunks)


def _guide(state: State, parts: RunContext) -> None:
    """Guidance after an answer that there is none."""
    if parts.web_offered is None:
        return
    grades = {id: grade for each in state.get("rounds", ()) for id, grade in each.grades.items()}
    chunks = {found.chunk.id: found.chunk for each in state.get("rounds", ()) for found in each.chunks}
    chunks.update({found.chunk.id: found.chunk for found in state["acted"]})
    found = [(chunk, _score(grades.get(id))) for id, chunk in chunks.items()]
    question, strips, query = state["question"], state.get("strips", ()), state.get("web_query", "")
    guidance = guide(question, found, strips, parts.settings.rewrite_keywords, query, web=parts.web_offered)
    parts.emit(ev.GuidanceOffered(guidance=guidance))


def verify(state: State, parts: RunContext) -> State:
    """Every sentence of the answer against the strips it cites, or all that its writer was shown."""
    made = parts.verifier.verify(state["answer"], _knowledge(state), _sources(state), parts.settings)
    if "whole" in state:
        _show_read(state, made.answer, parts)
    elif made.answer != state["answer"]:
        parts.emit(ev.Answered(answer=made.answer))
    parts.emit(ev.Verified(checks=made.checks, faithfulness=faithfulness(made.checks)))
    return {"answer": made.answer}


def _mark_page(page: WebPage, erases: bool) -> WebPage:
    """The page with the spans that speak to a model, each with whether the run erases it."""
    return replace(page, injections=tuple(replace(each, erased=erases) for each in detect_injection(page.text)))


def _mask_page(page: WebPage) -> WebPage:
    """The page with blanks in place of what speaks to a model."""
    return replace(page, text=mask_injection(page.text), title=mask_injection(page.title).strip())


def _refine(sources: Sequence[Chunk | WebPage], origin: Origin, question: str, parts: RunContext) -> tuple[Strip, ...]:
    asks = parts.settings.strip_judge == "llm"
    if asks and parts.selector is None:
        missing = ProviderError("Strips are to be chosen by a language model, and none is set.", "Set one in Settings.")
        parts.emitter.worked_around("refine", missing, "scores alone")
    refinement = RefinementParts(
        scorer=parts.strip_scorer,
        check=parts.check,
        selector=parts.selector if asks else None,
        report=lambda error: parts.emitter.worked_around("refine", error, "scores"),
    )
    return score_strips(sources, origin, question, parts.settings, refinement)


def _emit_strips(sources: Sequence[str], origin: Origin, strips: Sequence[Strip], parts: RunContext) -> None:
    for source in sources:
        own = tuple(strip for strip in strips if strip.source_id == source)
        parts.emit(ev.Refined(source_id=source, origin=origin, strips=own))


def _knowledge(state: State) -> list[Strip]:
    """Recomposed: kept strips in reading order, documents first, then the web."""
    return [strip for strip in (*state.get("strips", ()), *state.get("web_strips", ())) if strip.kept]


def _sources(state: State) -> dict[str, Chunk | WebPage]:
    """What the ids of strips' sources stand for."""
    chunks: dict[str, Chunk | WebPage] = {found.chunk.id: found.chunk for found in state["acted"]}
    return {**chunks, **{page.id: page for page in state.get("pages", ())}}


def action_of(state: State) -> Action | None:
    """The action that was decided on last; None before, and where nothing was graded."""
    decision = state.get("decision")
    return decision.action if decision else None


def _grade(state: State, chunk: Chunk) -> Grade | None:
    return state["grades"].get(chunk.id)


def _score(grade: Grade | None) -> float | None:
    return grade.score if grade else None
