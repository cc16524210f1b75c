"""Replies in the forms that servers and models really send, each with the state that a reader expects of the answer."""

import pytest

from crag.engine import Engine
from crag.generation.replies import unwrap
from crag.generation.verification import claims
from tests.engine.test_replies import ACT, ARTHUR, FOUR, PREMIUM, answered, engine, server
from tests.support.model_server import Server

__all__ = ["engine", "server"]  # fixtures

BRIDGE = "Who designed the Tower Bridge of London?"
COMMISSION = "The Act established the United States Civil Service Commission"

WRAPPED = [
    (ACT, f'{{"answer": "{ARTHUR}.", "sources": [1]}}', "answered"),
    (ACT, '{"answer": "President Grover Cleveland signed the Civil Service Act of 1883.", "sources": [1]}', "check"),
    (ACT, f"<p>{ARTHUR} <sup>[1]</sup>.</p>", "answered"),
    (PREMIUM, "<ul><li>The average premium increase was <b>7.9 percent</b> [1]</li></ul>", "check"),
    (ACT, f"```\n{ARTHUR} [1].\n```", "answered"),
    (ACT, f"<|im_start|>assistant\n{ARTHUR} [1].<|im_end|>", "answered"),
    (ACT, f"assistant: {ARTHUR} [1].", "answered"),
    (ACT, f"**Answer:** {ARTHUR} [1].", "answered"),
    # lists of sources behind
    (ACT, f"{ARTHUR} [1].\n\nReferences:\n[1] paper.pdf, page 8", "answered"),
    (ACT, f"{ARTHUR} [1].\n\nSources: [1], [2], [3]", "answered"),
    (ACT, f"{ARTHUR} [^1].\n\n[^1]: paper.pdf, page 8", "answered"),
]
REPLIES = [
    *WRAPPED,
    # lists and tables
    (ACT, f"- {ARTHUR} [1]\n- {COMMISSION} [1]", "answered"),
    (ACT, f"1. {ARTHUR} [1]\n2. {COMMISSION} [1]", "answered"),
    (
        ACT,
        "| Act | Signed by |\n|---|---|\n| Civil Service Act of 1883 | President Chester A. Arthur [1] |",
        "answered",
    ),
    (PREMIUM, "| Plan year | Average premium increase |\n|---|---|\n| 2020 | 7.9 percent [1] |", "check"),
    # marks of other forms
    (ACT, f"{ARTHUR}¹.", "answered"),
    (ACT, f"{ARTHUR} (1).", "answered"),
    (ACT, f"{ARTHUR} [１].", "answered"),
    (ACT, f"According to source 1, {ARTHUR}.", "answered"),
    (ACT, f"Source 1 says that {ARTHUR}.", "answered"),
    # manners, and thoughts said aloud
    (ACT, f"Let me check the sources. {ARTHUR} [1].", "answered"),
    (ACT, f"Okay, the user asks which president signed the Act. {ARTHUR} [1].", "answered"),
    (ACT, f"✅ {ARTHUR} [1] 🎉", "answered"),
    (PREMIUM, f"{FOUR} [1]. The sources do not say what it was for 2021.", "answered"),
    # refusals
    (BRIDGE, "Die Quellen beantworten die Frage nicht.", "not found"),
    (BRIDGE, "Les documents fournis ne contiennent pas cette information.", "not found"),
    (BRIDGE, "根据提供的资料，无法回答这个问题。", "not found"),
    (BRIDGE, "There isn't enough information to answer the question.", "not found"),
    (BRIDGE, "N/A", "not found"),
    (BRIDGE, "None of the sources mention who designed it.", "not found"),
    (BRIDGE, "As an AI language model, I cannot provide that information.", "not found"),
    (BRIDGE, "I don't have access to any documents about the Tower Bridge.", "not found"),
    # figures, names and negations
    (PREMIUM, "The average premium increase negotiated for FEHB plan year 2020 was four percent [1].", "answered"),
    (PREMIUM, "The average premium increase negotiated for FEHB plan year 2020 was 4% [1].", "answered"),
    (PREMIUM, "The average premium increase negotiated for FEHB plan year 2020 was $4.0\\%$ [1].", "answered"),
    (PREMIUM, f"The average premium increase was 7.9 percent [1]. Correction: {FOUR} [1].", "check"),
    (ACT, "President Chester A. Arthur did not sign the Civil Service Act of 1883 [1].", "check"),
    pytest.param(
        *(ACT, "Theodore Roosevelt signed the Civil Service Act of 1883 [1].", "check"),
        marks=pytest.mark.xfail(reason="a name of another sentence, in the right one: no judge sees it", strict=True),
    ),
]


@pytest.mark.parametrize(("question", "reply", "state"), REPLIES)
def test_the_state_is_what_a_reader_expects_of_the_reply(
    engine: Engine, server: Server, question: str, reply: str, state: str
) -> None:
    assert answered(engine, server, question, reply).state == state


def test_what_a_reply_is_wrapped_in_is_not_shown(engine: Engine, server: Server) -> None:
    for question, reply, _ in WRAPPED:
        said = answered(engine, server, question, reply).text
        assert not any(
            mark in said for mark in ('{"', "<p", "<ul", "<|", "```", "assistant:", "References", "Sources:")
        )
    assert answered(engine, server, ACT, f"The tag is `<b>`, closed by `</b>`. {ARTHUR} [1].").text.startswith(
        "The tag is `<b>`"
    )


@pytest.mark.parametrize("each", ['\\"', "<p ", "</p>", "`", "| ", "--", "[1]", "(1)", "<|", "$\\", "Okay, let me "])
def test_a_reply_of_one_thing_without_end_is_read_in_one_go(each: str) -> None:
    for reply in (each * 40_000, '{"' + each * 40_000, f"a | b\n{each * 40_000}x"):
        assert len(unwrap(reply)) <= len(reply) + 40_000 and claims(reply) in (True, False)
