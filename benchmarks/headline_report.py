"""The headline benchmark's figures as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.pages import figure, share, table

Figures = Mapping[str, Any]

HEAD = """# CRAG against RAG, with a language model

Made by `python -m benchmarks.headline`: model `{model}`, {answered} of {questions} questions, {cores} cores. Long-tail
questions of PopQA, each with its own texts and web passages, the paper's authors' own: {texts}.

The evidence of an arm is what a run of the product's graph keeps (the shipped evaluator, the published strategies; the
web finds the question's own passages). The model then answers in a few words, greedily, {max_tokens} tokens at most,
with one prompt for all arms; where nothing was kept it answers from what it knows, as the paper's does. The data is
marked test: nothing was chosen by it.

*Accuracy*: the paper's rule, an accepted answer occurs in the output, letter by letter. *As whole words*: by the
product's own comparison. *Unless it abstains*: accuracy where the answers that the product would not have given (no
evidence, or none above the minimum answer score) count as wrong. *Evidence holds it*: an accepted answer is in what was
kept.
*Words*: of the evidence kept. *Calls*: of the language model; the evaluator makes none. *Seconds*: of a whole run on
this machine, with what the model took in brackets. Other brackets: 95 % intervals, by bootstrap over questions."""
PART = "**The run is not finished: these figures are of {answered} of {questions} questions, see the arms.**"
KINDS = {
    "all": ("All questions", ""),
    "retrieved texts": (
        "Texts as they were retrieved",
        "Five passages each, with their titles, best first. This is the paper's comparison.",
    ),
    "the authors' refined texts": (
        "The authors' refined texts",
        "For these questions the data holds only what the paper's code had already refined: plain RAG is given text "
        "that CRAG has cleaned.",
    ),
}
PUBLISHED = """## Beside the paper

Yan et al. 2024 (third version), all 1,399 questions, SelfRAG-LLaMA2-7b as writer: RAG 52.8, CRAG 59.8. The model here
is another, and the questions are some of theirs: differences between arms can be compared, levels can't."""


def report(results: Figures) -> str:
    """Markdown: all questions first, then by kind of text."""
    parts = [_head(results)]
    if not results["finished"]:
        parts.append(PART.format(**results))
    for name, found in results["figures"].items():
        title, about = KINDS.get(name, (name.capitalize(), ""))
        parts += [f"## {title}", f"{found['questions']} questions. {about}".strip(), _arms(found["arms"])]
        parts += _less(found["less"])
    parts += [PUBLISHED, f"The prompt: “{results['instructions']}”, then the passages, then the question."]
    return "\n\n".join(parts) + "\n"


def _head(results: Figures) -> str:
    kinds = {name: each for name, each in results["figures"].items() if name != "all"}
    return HEAD.format(
        model=results["model"],
        answered=results["answered"],
        questions=results["questions"],
        cores=results["machine"]["cores"],
        max_tokens=results["max_tokens"],
        texts=", ".join(f"{each['questions']} questions with {name}" for name, each in kinds.items()),
    )


def _arms(arms: Mapping[str, Figures]) -> str:
    head = (
        *("arm", "questions", "accuracy", "as whole words", "unless it abstains", "evidence holds it", "words"),
        *("prompt tokens", "calls", "searches", "seconds", "nothing kept", "CORRECT", "AMBIGUOUS", "INCORRECT"),
    )
    return table(head, [_arm(name, each) for name, each in arms.items()])


def _arm(name: str, found: Figures) -> tuple[str, ...]:
    evidence = name != "no-retrieval"
    return (
        f"`{name}`" if evidence else "no retrieval",
        str(found["questions"]),
        _with_interval(found["right"]),
        figure(found["stated"]["value"]),
        figure(found["unless_abstaining"]["value"]) if evidence else "–",
        figure(found["evidence"]["value"]),
        figure(found["words"]["value"], 0),
        figure(found["input_tokens"], 0),
        figure(found["calls"]["value"], 2),
        figure(found["searches"]["value"], 2),
        f"{figure(found['seconds']['value'], 1)} ({figure(found['writing']['value'], 1)})",
        share(found["empty"]) if evidence else "–",
        *(share(found["actions"].get(each, 0.0)) if found["actions"] else "–" for each in _ACTIONS),
    )


_ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")


def _with_interval(found: Figures) -> str:
    if found["low"] is None:
        return figure(found["value"])
    return f"{figure(found['value'])} ({figure(found['low'])}–{figure(found['high'])})"


def _less(less: Mapping[str, Figures]) -> Iterator[str]:
    if not less:
        return
    yield "Against plain RAG, question by question (*it alone is right* / *plain RAG alone is right*):"
    head = ("arm", "questions", "accuracy, points", "unless it abstains", "words", "seconds", "alone right", "verdict")
    yield table(head, [_difference(name, each) for name, each in less.items()])


def _difference(name: str, found: Figures) -> tuple[str, ...]:
    return (
        "no retrieval" if name == "no-retrieval" else f"`{name}`",
        str(found["questions"]),
        _signed(found["right"], 100),
        _signed(found["unless_abstaining"], 100),
        _signed(found["words"], 1, 0),
        _signed(found["seconds"], 1),
        f"{found['gained']} / {found['lost']}",
        verdict(found["right"]),
    )


def verdict(right: Figures) -> str:
    """What a difference in accuracy and its interval allow to say."""
    if right["low"] is None or right["low"] <= 0 <= right["high"]:
        return "may be chance"
    return "ahead" if right["value"] > 0 else "behind"


def _signed(found: Figures, times: float, places: int = 1) -> str:
    if found["value"] is None:
        return "–"
    interval = ""
    if found["low"] is not None:
        interval = f" ({found['low'] * times:+.{places}f} to {found['high'] * times:+.{places}f})"
    return f"{found['value'] * times:+.{places}f}{interval}"
