"""What becomes of a language model's reply: as a scripted server writes it, and the answer that the run ends with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.trace import Trace
from crag.core.types import Answer
from crag.engine import Engine
from crag.export.markdown import closing, turn
from crag.integrations.langchain import crag_tool
from crag.testing.fakes import FixedRetriever, chunk_of
from tests.support.model_server import Server, serving

ACT = "Which president signed the Civil Service Act of 1883?"
PREMIUM = "What average premium increase was negotiated for FEHB plan year 2020?"
CHUNKS = [
    chunk_of(
        "On January 16, 1883, President Chester A. Arthur signed the Civil Service Act of 1883. Among other things, "
        "the Act established the United States Civil Service Commission. Theodore Roosevelt served as a Civil Service "
        "Commissioner from 1889 to 1895. His energetic and reform-minded outlook made him a strong proponent of the "
        "merit system.",
        page=8,
    ),
    chunk_of(
        "In addition, OPM successfully negotiated FEHB rates and benefits for plan year 2020, with a 4.0 percent "
        "average premium increase for non-Postal employees and annuitants. The increase is competitive with premium "
        "increases reported by other large employers, which range from 4.5 to 6.5 percent.",
        page=4,
    ),
    chunk_of("The average premium index of FEHB plans was 0.644 in plan year 2019.", page=38),
]
ARTHUR = "President Chester A. Arthur signed the Civil Service Act of 1883"
FOUR = "The average premium increase negotiated for FEHB plan year 2020 was 4.0 percent"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def engine(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    given = {"llm": "openai-compatible", "llm_base_url": server.address, "llm_model": "ok"}
    with Engine(AppConfig.of(data=Path(tmp_path_factory.mktemp("replies")), **given), Keys()) as made:
        yield made


def run(engine: Engine, server: Server, question: str, reply: str) -> Trace:
    server.words = [reply[at : at + 7] for at in range(0, len(reply), 7)]
    return engine.trace(RunRequest(question, retriever=FixedRetriever(chunks=CHUNKS)))


def answered(engine: Engine, server: Server, question: str, reply: str) -> Answer:
    answer = run(engine, server, question, reply).answer
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("question", "reply", "text"),
    [
        (ACT, f"{ARTHUR} [1].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR}.", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [^1].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} 【1†L2】.", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [source 1].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} (Source 1).", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [1-2].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [1][2][3][4].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [99].", f"{ARTHUR} [1]."),
        (ACT, f"{ARTHUR} [1-1000000].", f"{ARTHUR} [1]."),
        (ACT, "Sure! **Chester A. Arthur** [1].", "Sure! **Chester A. Arthur** [1]."),
        (
            ACT,
            f"{ARTHUR}, and Theodore Roosevelt later served as a Commissioner [1].",
            f"{ARTHUR}, and Theodore Roosevelt later served as a Commissioner [1].",
        ),
        (PREMIUM, f"{FOUR} [1].", f"{FOUR} [1]."),
        (PREMIUM, f"<think>Was it 7.9?</think>{FOUR} [1].", f"{FOUR} [1]."),
        (PREMIUM, f"{FOUR}. I hope this helps!", f"{FOUR} [1]. I hope this helps!"),
    ],
)
def test_what_the_sources_say_is_given_with_the_marks_that_hold(
    engine: Engine, server: Server, question: str, reply: str, text: str
) -> None:
    answer = answered(engine, server, question, reply)
    assert answer.text == text and not answer.abstained and not answer.low_confidence
    assert [each.number for each in answer.citations] == [1]
    assert answer.confidence is not None and 0.3 < answer.confidence < 1


@pytest.mark.parametrize(
    "said",
    [
        "The average premium increase for FEHB plan year 2020 was 7.9 percent",
        "The average premium increase negotiated for FEHB plan year 2020 was 0.644",
        "The average premium increase for plan year 2020 was 6.5 percent",
        "The average premium increase for plan year 2019 was 4.0 percent",
        "**The average premium increase for FEHB plan year 2020 was 7.9 percent**",
        "## The average premium increase was 7.9 percent",
        "The average premium increase was 7.9 percent, right?",
        "- The average premium increase was 7.9 percent",
        "Penguins live in Antarctica",
        "The average premium incr",
    ],
)
@pytest.mark.parametrize("marks", ["", " [1]", " [1][2][3]", " [99]"])
def test_what_they_do_not_say_is_of_low_confidence_whatever_it_cites(
    engine: Engine, server: Server, said: str, marks: str
) -> None:
    trace = run(engine, server, PREMIUM, f"{said}{marks}.")
    answer = trace.answer
    assert answer is not None and answer.low_confidence and not answer.abstained
    assert answer.confidence == 0.0 and trace.faithfulness == 0.0


def test_half_a_right_answer_has_half_its_confidence(engine: Engine, server: Server) -> None:
    right = answered(engine, server, PREMIUM, f"{FOUR} [1].")
    half = answered(engine, server, PREMIUM, f"{FOUR} [1]. Penguins live in Antarctica [1].")
    assert half.low_confidence and half.confidence == pytest.approx((right.confidence or 0) / 2)


@pytest.mark.parametrize(
    "reply",
    [
        "NO ANSWER",
        "no answer.",
        "NO ANSWER\nThe sources are about other things.",
        "The provided sources do not answer the question.",
        "I'm sorry, but I cannot answer that based on the information given. Please provide more context.",
    ],
)
def test_a_reply_without_an_answer_gives_way_to_a_sure_quote_and_is_named(
    engine: Engine, server: Server, reply: str
) -> None:
    answer = answered(engine, server, ACT, reply)
    assert answer.quoted and "Arthur" in answer.text and answer.remarks == ("no answer",)
    assert answer.low_confidence and answer.instead_of.startswith("openai-compatible:ok")
    nothing = answered(engine, server, "Who designed the Tower Bridge of London?", reply)
    assert nothing.abstained and not nothing.citations


def test_the_quote_is_there_at_once_and_what_is_written_takes_its_place(engine: Engine, server: Server) -> None:
    server.words = [f"{ARTHUR} [1].", " It is so [1]."]
    request = RunRequest(ACT, retriever=FixedRetriever(chunks=CHUNKS))
    shown = [event for event in engine.ask(request) if isinstance(event, ev.Answered | ev.Token)]
    assert isinstance(shown[0], ev.Answered) and shown[0].answer.quoted
    assert isinstance(shown[1], ev.Token) and isinstance(shown[-1], ev.Answered) and not shown[-1].answer.quoted
    assert Trace.from_events(shown[:2]).answer is None and Trace.from_events(shown).answer == shown[-1].answer


def test_whoever_reads_the_answer_as_text_reads_what_is_to_be_checked(engine: Engine, server: Server) -> None:
    reply = "The average premium increase for FEHB plan year 2020 was 7.9 percent [1]."
    trace = run(engine, server, PREMIUM, reply)
    tool = crag_tool(engine, retriever=FixedRetriever(chunks=CHUNKS))
    asked = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": PREMIUM}}
    for said in (turn(trace), closing(trace), tool.invoke(asked).content):
        assert "Check this: " in said and "7.9 percent" in said
