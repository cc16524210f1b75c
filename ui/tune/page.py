"""The Tune page: all stored runs decided again as sliders move, and where labels say the thresholds should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.analysis.thresholds.recommend import crowding_warning
from crag.analysis.whatif.entries import Outcome
from crag.core.model_ids import maker
from crag.core.settings import Settings
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.messages.tuning import warning_sentence
from ui.app import clicks, fragments, guide
from ui.app.clicks import requires
from ui.app.session import Session
from ui.components.drawing import draw, heading
from ui.tune import advice, exports, outcome_changes, saving, sliders
from ui.tune import scores as tune_scores
from ui.tune import stored as tune_labels
from ui.tune.cache import cached
from ui.tune.sliders import state
from ui.tune.stored import Labels, Learnable, Material, UnreadableRun

_EMPTY = (
    "**No runs yet.** Here you move the thresholds and see at once, without a model call, which past questions would "
    "end in another action and, with labels, where the thresholds should be.\n\n"
    "Ask some questions first, or evaluate a question set: each run is kept."
)


def show(session: Session) -> None:
    """The page below its title. Raises CragError where the library can't be read."""
    runs = tune_labels.read(session)
    _unreadable(runs.unreadable)
    if not runs.runs:
        guide.empty(session, _EMPTY, key="tune", ask="Ask a question", evaluate="Evaluate a question set")
        return
    with st.container(key="tune-choices"):
        first, second = st.columns([7, 5], gap="large")
        with second:
            name = sliders.strategy(session)
        with first:
            found = tune_labels.chosen(session, runs)
    _bench(session, name, found)


def _unreadable(unread: Sequence[UnreadableRun]) -> None:
    """Names the runs that can't be read."""
    if not unread:
        return
    said = f"{words.count(len(unread), 'run')} can't be read and {'is' if len(unread) == 1 else 'are'} left out"
    with st.expander(said, key="tune-unread"):
        rows = [{"Question": markdown(each.question), "Why": markdown(each.why)} for each in unread]
        st.table(rows, border="horizontal", hide_index=True)


@fragments.alone
def _bench(session: Session, name: str, found: Callable[[], Material]) -> None:
    """All that hangs on the sliders; a move of one runs this alone."""
    _moved(session, name, found())


def _moved(session: Session, name: str, material: Material) -> None:
    """What a move of a slider does, all of it."""
    own = session.settings(name)
    lines = st.container()
    left, right = st.columns([3, 9], gap="large")
    with left, st.container(key="tune-rail"):
        settings = sliders.sliders(name, own)
        in_use = settings == own and session.strategy == name
        _buttons(session, name, settings, in_use=in_use)
    with lines:
        tune_scores.draw_lines(settings, own, material)
    with right:
        outcome = cached("outcome", material.labels, settings, lambda: material.ledger.redecide(settings))
        warning = _outcome_changes(session, material, outcome, settings)
        about, labels = (settings.evaluator, settings.grade_chars, settings.k), material.labels
        scores = cached("scores", labels, about, lambda: tune_labels.scores(labels.cases, settings))
        _labelled(material, settings, own, warning)
        questions = {id: entry.question for id, entry in material.entries.items()}
        tables = [exports.runs(outcome, material.entries), exports.scores(scores, questions)]
        exports.offered(session, questions, tables)


def _buttons(session: Session, name: str, settings: Settings, *, in_use: bool) -> None:
    """What can be done with the sliders."""
    chosen = session.known(name)
    clicks.button(
        "Use these",
        "tune-use-these",
        _use,
        session,
        name,
        settings,
        type="primary",
        width="stretch",
        disabled=in_use,
        help=f"The next question in Ask is handled by {chosen.title} with these settings.",
    )
    published = sliders.at(chosen.settings)
    st.button(
        "Reset to defaults",
        key="tune-own",
        width="stretch",
        disabled=all(getattr(settings, each) == value for each, value in published.items()),
        on_click=sliders.move,
        kwargs=published,
    )
    saving.panel(session, chosen, settings)
    done, state().said = state().said, ""
    used = f"Ask uses these ({chosen.title})." if in_use else "Ask does not use these yet."
    draw(h.div("cx")[h.p("small", role="status")[h.b[done] if done else used]])


@requires("edit")
def _use(session: Session, name: str, settings: Settings) -> None:
    """Questions are asked with exactly these from now on."""
    session.change(name, settings)
    session.switch(name)
    state().said = "Ask now uses exactly these."


def _outcome_changes(session: Session, material: Material, outcome: Outcome, settings: Settings) -> DeltaGenerator:
    """What would become of the runs, and the questions of the cell that is opened; returns a place for a warning."""
    warning = st.container()
    cell = outcome_changes.matrix(outcome)
    st.caption("Down: what they were. Across: what they would be. Select a number to list its questions.")
    draw(outcome_changes.figures(outcome))
    if cell is not None:
        outcome_changes.listed(session, outcome, material.entries, cell)
    outcome_changes.unknowns(outcome, material.entries)
    return warning


_NO_LABELS = (
    "None yet. With labels this page recommends a pair of thresholds with its reasons, and shows how far the scores "
    f"can be trusted.\n\n{advice.LABEL_MORE}"
)
_NO_SCORES = "None of these runs was graded the way this strategy grades."


def _labelled(material: Material, settings: Settings, own: Settings, warning: DeltaGenerator) -> None:
    """The recommendation, the map of all pairs and the curves.

    `warning`: where it is said that too much becomes AMBIGUOUS.
    """
    labels = material.labels
    why = advice.why_none(settings)
    heading("What labels say", _origins(labels))
    if why:
        st.markdown(why)
    if settings.evaluator == "none":
        return
    graders = cached("graders", labels, settings.evaluator, lambda: tune_labels.evaluators(labels.cases, settings))
    if not graders:
        st.caption(_NO_SCORES)
        return
    grader = _grader(graders)
    about = settings.evaluator, settings.grade_chars, settings.k, own, grader
    part = cached("part", labels, about, lambda: tune_labels.learnable(labels, settings, grader))
    if not why:
        _crowd(part, settings, warning)
    if not part.labelled and not labels.some:
        st.markdown(_NO_LABELS)
        return
    if not why:
        advice.show((*about, settings.aggregation, settings.ambiguity_margin), part, settings, own)
    fold = st.expander("How far the scores can be trusted", key="tune-curves", on_change="rerun")
    if fold.open:
        scores = cached("curve-scores", part, about, lambda: tune_labels.scores(part.cases, settings))
        with fold:
            tune_scores.show(part, about, scores, settings)


def _origins(labels: Labels) -> str:
    """Where the labels come from, in words."""
    said = [f"{words.count(labels.judged, 'run')} known from question sets"] if labels.judged else []
    said += [words.count(len(labels.thumbs), "chunk") + " labelled by hand"] if labels.thumbs else []
    return ", ".join([*said, "of each question only the newest run counts"]) if said else ""


def _grader(graders: Sequence[str]) -> str:
    """The evaluator of the scores: those of two evaluators are never thrown together."""
    if len(graders) == 1:
        return graders[0]
    if st.session_state.get("tune-grader") not in graders:
        st.session_state["tune-grader"] = graders[0]
    return st.selectbox("Scores by", graders, format_func=maker, key="tune-grader", width=320)


def _crowd(part: Learnable, settings: Settings, where: DeltaGenerator) -> None:
    """The warning where the sliders' pair leaves too much to AMBIGUOUS."""
    warning = crowding_warning(
        part.questions,
        upper=settings.upper,
        lower=settings.lower,
        aggregation=settings.aggregation,
        doubt=settings.ambiguity_margin,
    )
    if warning:
        with where:
            draw(h.div("cx")[h.p("note", role="status")[warning_sentence(warning)]])
