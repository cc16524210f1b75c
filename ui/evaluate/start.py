"""Running a set: the strategies, what it will cost, the start, its progress, and what can go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from crag.analysis.evaluate import Evaluation
from crag.core.config import AppConfig
from crag.core.errors import CragError
from crag.core.filters import EVERY, Scope, narrow_filter
from crag.core.settings import Settings
from crag.core.trace import Approval, Trace
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.messages.evaluations import parts_sentence
from crag.pipeline.resolve import ProviderPlan
from crag.runtime.jobs import Job
from crag.storage.evaluations import StoredSet
from crag.text.formats import money
from ui.app import clicks, fragments
from ui.app.clicks import once, requires
from ui.app.session import REFUSALS, Session
from ui.components import forms, problems
from ui.evaluate.evaluation_job import Event, Plan, State, start
from ui.evaluate.numbers import name
from ui.evaluate.sets import loaded
from ui.run import approval

_FIRST = ("balanced", "plain-rag")
"""What is compared first: the default against the baseline."""


def form(session: Session, stored: StoredSet, *, busy: bool) -> None:
    """Strategies and the start. Raises CragError. `busy`: another evaluation is under way."""
    st.header("Run", anchor=False)
    if not session.may("edit"):
        st.caption(REFUSALS["edit"])
        return
    known = session.strategies
    chosen = st.pills(
        "Strategies",
        list(known),
        default=list(dict.fromkeys((session.strategy, *_FIRST)))[:2],
        selection_mode="multi",
        format_func=lambda key: known[key].title,
        key="eval-strategies",
        persist_state="session",
        help="Each is run over all questions, one after another, with this session's settings.",
    )
    scope = _scope(session)
    plans = [
        Plan(strategy=key, settings=settings.changed(where=narrow_filter(settings.where, scope)))
        for key, settings in ((key, session.settings(key)) for key in known if key in chosen)
    ]
    mine = [
        f"{known[key].title}: {', '.join(words.describe_settings(session.changes(key)))}"
        for key in chosen
        if session.changes(key)
    ]
    if mine:
        st.caption(markdown(f"With your settings. {'. '.join(mine)}."))
    config = _asking(session, scope)
    said = estimate_sentence(
        [plan.settings for plan in plans], stored.questions, session.resolve_providers(config), config.limits.run_calls
    )
    st.caption(markdown(said))
    empty = session.library.documents.count() == 0
    if empty:
        st.info("The library is empty. Add documents, or the sample library, on the page Documents.")
    count = f"{words.count(len(plans), 'strategy')}" if len(plans) == 1 else f"{len(plans)} strategies"
    pressed = st.button(
        f"Run {count} over {words.count(stored.questions, 'question')}",
        key="eval-run",
        type="primary",
        disabled=busy or empty or not plans,
        help="An evaluation is under way."
        if busy
        else "Stop it at any time: finished questions are kept, and you can resume.",
    )
    if pressed and not busy:
        start(session, stored.id, stored.name, plans, config)
        st.rerun()


def _scope(session: Session) -> Scope:
    """What the questions are asked of: all, or where the person wants that, what Ask is limited to. StorageError."""
    ids = session.scope.documents and tuple(session.library.documents.names(session.scope.documents))
    scope = Scope(ids, session.scope.tags)
    if not scope:
        return scope
    said = [words.count(len(ids), "document")] if ids else []
    named = ", ".join([*said, *(f"tag {tag}" for tag in scope.tags)])
    label = f"Only the documents chosen in Ask ({markdown(named)})"
    return scope if st.checkbox(label, key="eval-scoped", persist_state="session") else Scope()


def _asking(session: Session, scope: Scope) -> AppConfig:
    """The configuration to run with: where each query waits for a word, the person may do without the web instead."""
    config = session.config_for(narrow_filter(EVERY, scope))
    providers = session.resolve_providers(config)
    if not providers.asks:
        return config
    titles = {"ask": "Ask me about each", "none": "Send none"}
    help = "Settings ask you to approve each web query. Turn that off there to send all of them."
    how = forms.one_of("Web queries", titles, "eval-queries", label_visibility="visible", help=help)
    if how == "none":
        return without_outside(config, providers)
    st.caption("The evaluation waits for your answer to each query. No answer within half an hour counts as no.")
    return config


def unfinished(session: Session, made: Sequence[Evaluation]) -> None:
    """Evaluations that were stopped or broken off, each to be resumed or deleted. For when none is under way."""
    for each in (one for one in made if not one.finished_at):
        with st.container(horizontal=True, vertical_alignment="center", key=f"eval-unfinished-{each.id}"):
            st.markdown(
                f"**{markdown(name(each, session.called))}** over {markdown(each.set_name)}: {each.done:,} of "
                f"{each.questions:,} done, started {words.ago(each.started_at)}."
            )
            if not session.may("edit"):
                continue
            clicks.button(
                "Resume",
                f"eval-resume-{each.id}",
                once(_resume),
                session,
                each,
                type="primary",
                help=markdown(parts_sentence(each)),
            )
            said = f"Delete it with its {words.count(each.done, 'result')}? Its runs stay in the history."
            clicks.confirm("Delete", said, f"eval-drop-{each.id}", _drop, session, each.id)


@requires("edit")
def _resume(session: Session, each: Evaluation) -> None:
    plan = Plan(strategy=each.strategy, settings=each.settings, resumes=each.id)
    config = session.config_for(each.settings.where)
    providers = session.resolve_providers(config)
    others = [without_outside(config, providers)] if providers.asks else []
    start(session, each.set_id, each.set_name, [plan], config, *others)


@requires("edit")
def _drop(session: Session, id: str) -> None:
    session.library.evaluations.delete(id)
    session.note("delete", "evaluation", id)


_SENTENCES = 4
"""Of an answer that a model writes: each may be checked by a call. A usual number, not a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Outside calls of one question, at least and at most; `searches` at most."""

    least: int = 0
    most: int = 0
    searches: int = 0


def without_outside(config: AppConfig, providers: ProviderPlan) -> AppConfig:
    """The same without the webs that lie outside; a folder of pages stays."""
    local = [each.provider.name for each in providers.webs if not each.provider.leaves]
    return config.changed(web=local[0] if local and config.providers.web != "off" else "off", web_fallback="none")


def estimate_calls(settings: Settings, providers: ProviderPlan, limit: int) -> Calls:
    """What one question takes of models and webs under these settings, with nothing remembered of earlier runs.

    `limit`: the calls that one may cost.
    """
    model, searches = providers.model is not None, bool(settings.web_on and providers.webs)
    grader = providers.grader.provider
    grading = 0
    if settings.evaluator != "none" and grader.calls != "none":
        grading = settings.k if grader.calls == "chunk" and settings.evaluator == "chunk" else 1
    again = settings.max_rewrites if settings.loop_on and settings.evaluator != "none" else 0
    sources = settings.k + (settings.web_results if searches else 0)
    written = providers.writer is not None
    most = grading * (1 + again)
    most += (again + searches) * model  # each new query is written by the model
    most += sources * (model and settings.strip_judge == "llm")
    most += written + _SENTENCES * (settings.verify and grader.calls != "none")
    return Calls(least=min(grading + written, most), most=min(most, limit), searches=int(searches))


def estimate_sentence(plans: Sequence[Settings], questions: int, providers: ProviderPlan, limit: int) -> str:
    """What the evaluation of this many questions with each of these settings may take, in words."""
    each = [estimate_calls(settings, providers, limit) for settings in plans]
    least, most = (questions * sum(getattr(one, name) for one in each) for name in ("least", "most"))
    searches = questions * sum(one.searches for one in each) if providers.outside_webs else 0
    said = []
    if most:
        span = f"{least:,} to {most:,}" if least != most else f"{most:,}"
        said.append(f"about {span} model calls (grades of earlier runs are remembered and cost none)")
    if searches:
        price = providers.outside_webs[0].price
        cost = f", {money(searches * price.call)} in all" if price is not None and price.call else ""
        said.append(f"up to {searches:,} web searches, with the pages they lead to{cost}")
    if not said or not providers.leaving:
        return "Everything runs on this machine: no outside calls, no cost."
    return f"Estimated: {' and '.join(said)}."


_BEAT = 1.0
"""Seconds between two looks at the job."""


def show_live(session: Session, job: Job[Event]) -> None:
    """Follow the evaluation to its end."""
    fragments.follow(session, lambda: job.running, partial(_show_live, session, job), _BEAT)


def _show_live(session: Session, job: Job[Event]) -> None:
    state = State(job.events())
    with st.container(key="eval-live", border=True):
        st.markdown(f"**Evaluating {markdown(job.label)}**{_which(state)}")
        st.progress(state.done / state.total if state.total else 0.0, _figures(job, state))
        if state.done:
            st.caption("Results shows what is known so far.")
        if asked := _at_hand(session, state):
            st.caption(f"Now: {markdown(excerpt(asked, 160))}")
        if session.may("edit"):
            _ask(session, job, state)
        help = "Stops after the questions in progress. Finished ones are kept, and you can resume later."
        clicks.stop_button(session, [job], "eval-stop", help)


def _at_hand(session: Session, state: State) -> str:
    """The question that is being answered; nothing where that is not known."""
    if state.started is None or not state.parts:
        return ""
    done = {row.question_id for row in state.parts[-1].rows}
    try:
        questions = loaded(session, state.started.set_id).questions
    except CragError:
        return ""
    return next((each.question for each in questions if each.id not in done), "")


def _figures(job: Job[Event], state: State) -> str:
    """How far it is, how fast, how long it still takes, and what failed."""
    facts = [f"{state.done:,} of {state.total:,} questions" if state.total else "starting"]
    if state.rate:
        each = f"{words.format_duration(1 / state.rate)} each"
        facts.append(f"{state.rate:.1f} a second" if state.rate >= 1 else each)
    if _waits(job, state):
        facts.append("waiting for your approval")
    elif state.left is not None and not job.stopping:
        facts.append(f"about {_rough(state.left)} left")
    facts.append(f"{state.failed:,} failed" if state.failed else "none failed")
    return " · ".join(facts)


def _rough(seconds: float) -> str:
    return words.format_duration(seconds) if seconds >= 60 else f"{max(1.0, seconds):.0f} s"


def _which(state: State) -> str:
    if not state.parts or state.started is None:
        return ""
    number, all = len(state.parts), len(state.started.strategies)
    place = f", strategy {number} of {all}" if all > 1 else ""
    return f" with {markdown(words.strategy(state.parts[-1].strategy))}{place}"


def _waits(job: Job[Event], state: State) -> bool:
    return bool(state.queries) and not job.answered(len(state.queries)) and not job.stopping


def _ask(session: Session, job: Job[Event], state: State) -> None:
    """The query that waits for a word, if one does."""
    if state.started is None or not _waits(job, state):
        return
    provider = state.started.provider
    asked = [Approval(query=query, provider=provider, approved=True) for query in state.queries[:-1]]
    waiting = Approval(query=state.queries[-1], provider=provider)
    approval.ask(session, job, Trace(approvals=(*asked, waiting)))  # type: ignore[arg-type]


def show_outcome(job: Job[Event]) -> None:
    """What came of a job that is over."""
    state = State(job.events())
    kept = f"{words.count(state.done, 'result')} kept" if state.done else "nothing was done yet"
    if job.problem:
        problems.show(job.problem)
    elif job.stopping and state.done < state.total:
        said = f"Stopped: {kept}. Press Resume to continue."
        st.success(markdown(said), icon=":material/check:")
    else:
        failed = f", {state.failed:,} failed" if state.failed else ""
        took = words.format_duration(state.seconds)
        said = f"Done: {job.label}, {words.count(state.made, 'question')} in {took}{failed}."
        st.success(markdown(said), icon=":material/check:")
