"""Sentences about where the answers of a question set are lost: the steps, each loss, what is left out, the lever."""

from __future__ import annotations

from crag.analysis.funnel import STEPS, Followed, Funnel, LeftOut, Step
from crag.messages.misses import change_sentence, miss_sentence, setting_text
from crag.text.formats import count, join_names

STEP_TITLES: dict[Step, str] = {
    "library": "In the library",
    "search": "Retrieved",
    "grade": "Above the lower threshold",
    "evidence": "Kept in the evidence",
    "answer": "Cited or said",
    "support": "Supported",
}
"""What a question has done that passed a step."""
LOST_TITLES: dict[Step, str] = {
    "library": "Not in the library",
    "search": "In the search",
    "grade": "Below the lower threshold",
    "evidence": "Between grade and evidence",
    "answer": "Between evidence and answer",
    "support": "Cited without support",
}
"""Where a question was lost that did not pass a step."""
_LOST: dict[Step, str] = {
    "library": "before the search",
    "search": "in the search",
    "grade": "below the lower threshold",
    "evidence": "between grade and evidence",
    "answer": "between evidence and answer",
    "support": "for a citation that does not support the answer",
}
_LEFT_OUT: dict[LeftOut, str] = {
    "no place": "without a known place of the answer",
    "no answer": "without an answer",
    "failed": "whose run did not end",
    "deleted": "whose run was deleted or can't be read",
}


def shown_steps(funnel: Funnel) -> list[Step]:
    """The steps that the runs took: without grades none is passed by them, without checks neither."""
    absent = {"grade": not funnel.graded, "support": not funnel.checked}
    return [step for step in STEPS if not absent.get(step)]


def funnel_sentence(funnel: Funnel, *, lever: bool = True) -> str:
    """How many questions are lost where, and with `lever` what mends most of it."""
    if not funnel.followed:
        number = sum(funnel.left_out.values())
        if not number:
            return "No question has a result yet, so there is nothing to follow."
        none = "The question can't" if number == 1 else f"None of the {number:,} questions can"
        return f"{none} be followed from the library to the answer."
    asked = count(funnel.followed, "question")
    if not funnel.losses:
        none = "The question is not lost" if funnel.followed == 1 else f"None of {asked} is lost"
        return f"{none}: the answer cites the expected place, or says what is accepted."
    where = [f"{number:,} {lost_text(step, funnel)}" for step, number in funnel.lost.items()]
    first, _, rest = where[0].partition(" ")
    lost = join_names([f"{first} {'is' if first == '1' else 'are'} lost {rest}", *where[1:]])
    best = f"; the best lever is {lever_text(funnel)}" if lever and funnel.lever is not None else ""
    return f"Of {asked}, {lost}{best}."


def step_sentence(step: Step, funnel: Funnel) -> str:
    """How many are lost at one step."""
    number = funnel.lost.get(step, 0)
    asked = count(funnel.followed, "question")
    return f"Of {asked}, {number:,} {'is' if number == 1 else 'are'} lost {lost_text(step, funnel)}."


def lost_text(step: Step, funnel: Funnel) -> str:
    """Where something was lost, as a part of a sentence."""
    return "between search and evidence" if step == "evidence" and not funnel.graded else _LOST[step]


def lever_text(funnel: Funnel) -> str:
    """The best lever and what is known of it, as a part of a sentence; empty without one."""
    lever = funnel.lever
    if lever is None:
        return ""
    whole = funnel.passed["support"]
    did = "found" if lever.setting == "k" else "kept"
    parts = [f"{lever.mended:,} lost {'place' if lever.mended == 1 else 'places'} would be {did} for certain"]
    if known := whole - lever.unknown:
        some = f"{lever.broken:,}" if lever.broken else "none"
        parts.append(f"{some} of {known:,} that pass would be lost")
    if lever.unknown:
        parts.append(f"for {lever.unknown:,} that pass only a new run can tell")
    return f"{setting_text(lever.setting, lever.value)}: {join_names(parts)}"


def left_out_sentence(funnel: Funnel) -> str:
    """Which questions are not followed; empty where all are."""
    parts = [f"{number:,} {_LEFT_OUT[reason]}" for reason, number in funnel.left_out.items()]
    return f"Left out: {join_names(parts)}." if parts else ""


def beside_sentence(funnel: Funnel) -> str:
    """What is to be known of those that pass; empty where there is nothing."""
    cite, passes = ("cites", "counts") if funnel.elsewhere == 1 else ("cite", "count")
    say = ("cites the expected place and does", "cite the expected place and do")[funnel.wrong != 1]
    parts = [
        f"{funnel.elsewhere:,} that {cite} another place for an accepted answer {passes} as passed."
        if funnel.elsewhere
        else "",
        f"{funnel.wrong:,} {say} not say an accepted answer." if funnel.wrong else "",
    ]
    return " ".join(filter(None, parts))


def loss_sentence(loss: Followed) -> str:
    """Why one question was lost, and what would have kept it."""
    said = miss_sentence(loss.miss)
    if loss.lost == "support":
        said = f"{said[:-1]}, but does not support what the answer says of it."
    return " ".join(filter(None, (said, change_sentence(loss.miss))))
