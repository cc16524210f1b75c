"""What the drawing functions make of a trace at every moment of a run."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.core.types import Answer
from crag.export.html import answer, evidence, pages
from crag.export.html.passage import Passage, View, draw_surroundings
from tests.support.inspector import Inspector
from tests.support.whole_run import events, strip


def test_a_long_page_is_cut_to_what_was_kept_and_the_cited_strip_is_framed():
    sentences = [f"Sentence number {number} of a long page with words." for number in range(400)]
    whole, strips, at = " ".join(sentences), [], 0
    for number, sentence in enumerate(sentences):
        strips.append(strip("w1", "external", at, sentence, 0.9 if number in (200, 300) else 0.1, number in (200, 300)))
        at += len(sentence) + 1
    said = draw_surroundings(Passage(text=whole, strips=strips, cited=strips[200].id), View(upper=0.7, lower=0.3))
    assert said.count("<mark") == 2 and said.count('class="cited"') == 1 and len(said) < 4000
    assert "number 197 " in said and "number 203 " in said and "number 204 " not in said and "number 196 " not in said
    none = draw_surroundings(Passage(text=whole), View(upper=0.7, lower=0.3))
    assert "Sentence number 0" in none and len(none) < 3500


def test_an_address_that_is_no_web_address_is_only_text():
    trace = Trace.from_events(events())
    search = trace.searches[0]
    page = replace(search.pages[0], url="javascript:alert(1)")
    trace = replace(trace, searches=(replace(search, pages=(page,)),))
    seen = Inspector(evidence.web(trace, evidence.View.of(trace)))
    assert "a" not in seen.tags and "javascript:alert(1)" in seen.said


def test_only_the_exports_own_script_may_run():
    made = pages.page(Trace.from_events(events()), events())
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", made, re.DOTALL)
    data = [f' type="application/json" class="{name}"' for name in ("railed", "states")]
    assert [about for about, _ in scripts] == [*data, ' type="module"']
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in scripts[2:])
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    assert f"script-src {allowed};" in made and not re.search(r"script-src[^;]*unsafe", made)
    assert "<" not in scripts[0][1] + scripts[1][1]


def moments(made):
    """What each frame shows."""
    return ["".join(made["pieces"][id] for part in frame["parts"] for id in part) for frame in made["frames"]]


def test_replayed_states_begin_with_the_run_and_end_with_the_whole():
    trace = Trace.from_events(events())
    made = json.loads(pages.states(trace, events()))
    drawn = moments(made)
    assert drawn[-1] == "".join(pages.sections(trace)) and len(drawn) > 15
    assert all(one != other for one, other in itertools.pairwise(drawn)), "a moment that changes nothing is none"
    assert drawn[0] == "".join(pages.sections(Trace.from_events(events()[:1])))
    assert len(set(made["pieces"])) == len(made["pieces"])
    assert [frame["at"] for frame in made["frames"]] == sorted(frame["at"] for frame in made["frames"])


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
def test_a_run_too_long_skips_moments_but_never_its_end(share):
    trace = Trace.from_events(events())
    whole = pages.states(trace, events())
    budget = int(share * len(whole.encode()))
    less = pages.states(trace, events(), budget)
    assert len(less.encode()) <= budget
    shown, every = moments(json.loads(less)), moments(json.loads(whole))
    if share > 0.5:
        assert shown[-1] == every[-1] and len(shown) < len(every)


def test_how_a_run_ended_is_announced_by_its_state_and_a_sentence_without_marks():
    over = Trace.from_events(events())
    told = answer.announcement(over)
    assert told.startswith("Answered: ") and "[1]" not in told
    stopped = answer.announcement(replace(over, answer=None, cancelled=True))
    assert stopped.startswith("Stopped.")
    none = Answer(text="Not said. Nothing near it.", by="extractive", abstained=True)
    assert answer.announcement(replace(over, answer=none)) == "Not found: Not said."
    assert "data-announce" not in answer.question(over), "only in the tab that asked"
    assert Inspector(answer.question(over, announced=True)).open == []
    assert "data-announce" not in answer.question(Trace.from_events(events()[:6]), announced=True), "it is not over"
