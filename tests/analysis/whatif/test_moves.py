"""The moves of a threshold that bring in documents that a run did without."""

import pytest

from crag.analysis.whatif.whatif import redecide, relaxing_moves
from crag.core.policy import uses_documents
from crag.core.strategies import STRATEGIES
from tests.support.paths import BAD, GOOD, SOSO, Case


@pytest.mark.parametrize("name", [name for name, each in STRATEGIES.items() if each.settings.evaluator == "chunk"])
@pytest.mark.parametrize("texts", [[GOOD, SOSO, BAD], [BAD], ["It is broken.", SOSO], []])
def test_a_relaxing_move_brings_the_documents_in_and_one_hundredth_less_does_not(name: str, texts: list[str]) -> None:
    trace = Case(name, texts, changes={"max_rewrites": 0}).trace
    moves = relaxing_moves(trace)
    for move in moves:
        assert move.after < move.before and move.decision.action is not trace.action
        assert redecide(trace, trace.run_settings.changed(**move.settings)).action is move.decision.action
        less = dict.fromkeys(move.settings, round(move.after + 0.01, 2))
        assert redecide(trace, trace.run_settings.changed(**less)).action is trace.action
    if uses_documents(trace.action, trace.run_settings):
        assert moves == ()
    assert relaxing_moves(Case(name, texts, changes={"forced": "INCORRECT"}).trace) == ()
