"""What the evaluator could learn from the labels: its worth on labels left out, what would change, and its use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from crag.analysis.adaptation import Learned, correct_entry, labelled_chunks, learn, use_adaptation
from crag.analysis.metrics.calibration import reliability
from crag.analysis.whatif.entries import Outcome
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.core.settings import Settings
from crag.evaluation.adaptation import Adaptation, Lesson, read_adaptation
from crag.export.html import elements as h
from crag.export.html.safe_text import markdown
from crag.messages.tuning import (
    HOW,
    NAMES,
    changes_sentence,
    deleted_sentence,
    learning_refusal_sentence,
    lesson_sentence,
    use_sentence,
)
from ui.app import clicks
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import charts
from ui.components.drawing import draw, heading
from ui.tune.cache import cached
from ui.tune.stored import Material


def show(session: Session, material: Material, settings: Settings, shipped: Outcome) -> None:
    """The section below what labels say; nothing where there are none, nor anything in use. Raises StorageError.

    `shipped`: what the runs become under `settings` with the scores that they have.
    """
    stored, labels = read_adaptation(session.library.labels.adaptation()), material.labels
    if not (labels.some or stored) or settings.evaluator == "none":
        return
    evaluator = program().engine.evaluator.id
    documents = session.library.documents

    def learned_now() -> Learned:
        return learn(labels.cases, evaluator, documents.existing_chunks(labelled_chunks(labels.cases)))

    learned = cached("learned", labels, (evaluator, documents.version()), learned_now)
    found = learned.adaptation
    heading("Learn from your labels")
    draw(h.div("cx")[h.p(role="status")[use_sentence(stored, evaluator)]])
    _lessons(learned)
    if found is not None:
        key = found.id, settings
        after = cached("adapted", labels, key, lambda: _decide(material, found, settings))
        st.markdown(markdown(changes_sentence(_changes(shipped, after), len(after.rows))))
    _buttons(session, found, stored)


def _lessons(learned: Learned) -> None:
    """Both kinds of scores, side by side: what was learned, or why nothing was."""
    theme = charts.current_theme()
    parts = (("chunks", learned.chunks), ("sets", learned.sets))
    for (name, part), column in zip(parts, st.columns(2, gap="large"), strict=True):
        with column:
            said = lesson_sentence(part) if isinstance(part, Lesson) else learning_refusal_sentence(name, part)
            st.markdown(f"**{NAMES[name]}**")
            st.caption(markdown(said))
            if name in learned.held:
                held = learned.held[name]
                before, after = (reliability(scores, held.labels) for scores in (held.before, held.after))
                charts.shown(charts.reliability(after, theme, before), f"tune-learned-{name}")
    if learned.deleted:
        st.caption(deleted_sentence(learned.deleted))
    if learned.held:
        st.caption(f"Dashed: the shipped scores; the line: the corrected ones, labels left out. {HOW}")


def _decide(material: Material, adaptation: Adaptation, settings: Settings) -> Outcome:
    return StoredDecisions(correct_entry(each, adaptation) for each in material.ledger.entries).redecide(settings)


def _changes(before: Outcome, after: Outcome) -> Sequence[tuple[str, str, int]]:
    """From which action to which, and how many runs, the most first."""
    pairs = zip(before.rows, after.rows, strict=True)
    counts = Counter((str(was.becomes), str(now.becomes)) for was, now in pairs if was.becomes != now.becomes)
    return [(*kind, number) for kind, number in counts.most_common()]


def _buttons(session: Session, found: Adaptation | None, stored: Adaptation | None) -> None:
    same = found is not None and stored is not None and found.id == stored.id
    with st.container(horizontal=True):
        clicks.button(
            "Use the corrected scores",
            "tune-adapt",
            _use,
            session,
            found,
            disabled=found is None or same,
            help="From the next question on, for everyone who uses this workspace.",
        )
        if stored is not None:
            clicks.button("Use the shipped scores", "tune-unadapt", _stop, session)


@requires("edit")
def _use(session: Session, adaptation: Adaptation) -> None:
    use_adaptation(session.library, adaptation)
    session.note("setting", "adaptation", adaptation.id)


@requires("edit")
def _stop(session: Session) -> None:
    session.library.labels.delete_adaptation()
    session.note("setting", "adaptation", "removed")
