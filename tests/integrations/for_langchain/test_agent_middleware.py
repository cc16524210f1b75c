"""The middleware in an agent: context for one call alone, a typed verdict in the state, each tenant by itself."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from crag.core.errors import BudgetError, EmptyLibraryError, InputError, ProviderError, QuestionError, SettingsError
from crag.core.types import RetrievedChunk
from crag.engine import Engine
from crag.integrations.langchain import CragMiddleware
from crag.testing.fakes import FixedRetriever, FixedWeb, ScriptedEvaluator, chunk_of
from tests.integrations.for_langchain.conftest import ONLINE
from tests.support.told_model import ToldModel, calling, told_model

QUESTION = "How long did hiring take in 2019?"
THREAD: Any = {"configurable": {"thread_id": "1"}}


@dataclass
class Tenant:
    name: Any


def of_context(state: Any, runtime: Any) -> Any:
    return runtime.context.name


def agent_of(model: ToldModel, middleware: CragMiddleware, **more: Any) -> Any:
    return create_agent(model, middleware=[middleware], **more)


def asked(agent: Any, text: Any = QUESTION, **more: Any) -> Any:
    return agent.invoke({"messages": [HumanMessage(text)]}, **more)


def said(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(each.type, str(each.text)) for each in messages]


def runs(engine: Engine, workspace: str = "acme") -> list[Any]:
    return [engine.library(workspace).runs.trace(each.run_id) for each in engine.library(workspace).runs.latest()]


@tool
def clock() -> str:
    """The time."""
    return "noon"


# ---- the published flow --------------------------------------------------------------------------------------------


def test_the_published_middleware_s_flow(engine: Engine, evaluator: ScriptedEvaluator, web: FixedWeb) -> None:
    """A tenant, hybrid retrieval, one verdict over three chunks, refinement, the web, context for this call alone."""
    evaluator.joint = 0.7
    model = told_model()
    middleware = CragMiddleware(engine, of_context, "joint", client="assistant")
    agent = agent_of(model, middleware, context_schema=Tenant, system_prompt="Be kind.")
    state = asked(agent, context=Tenant("acme"))
    shown = agent.get_output_jsonschema()
    assert {"crag", "messages"} <= set(shown["properties"]) and "crag_injected" not in str(shown)

    assert said(state["messages"]) == [("human", QUESTION), ("ai", "Reply 1.")]
    found = state["crag"]
    assert (found["action"], found["score"], found["upper"], found["lower"]) == ("AMBIGUOUS", 0.7, 0.9, 0.5)
    assert (found["workspace"], found["strategy"], found["problem"]) == ("acme", "joint", None)
    assert {each["origin"] for each in found["sources"]} == {"internal", "external"}
    assert [each["number"] for each in found["sources"]] == list(range(1, len(found["sources"]) + 1))
    assert web.queries and not {"crag_injected", "jump_to"} & set(state)

    system = model.system()
    assert system.startswith("Be kind.\n\n") and "Verdict AMBIGUOUS" in system
    assert "Hiring took eighty days" in system
    assert f'origin="web" place="web page: Page 1">\n{ONLINE}' in system

    (run,) = runs(engine)
    assert (run.run_id, run.via, run.wanted, run.client) == (found["run_id"], "agent", "evidence", "assistant")
    assert runs(engine, "globex") == []


def test_two_tenants_never_see_one_another_s_text(engine: Engine) -> None:
    model = told_model()
    agent = agent_of(model, CragMiddleware(engine, workspace=of_context), context_schema=Tenant)
    for name, own, other in (
        ("acme", "eighty", "eleven"),
        ("globex", "eleven", "eighty"),
        ("acme", "eighty", "eleven"),
    ):
        state = asked(agent, context=Tenant(name))
        assert own in model.system() and other not in model.system() + str(state)
        assert state["crag"]["workspace"] == name
    for nobody in (None, "no-such-tenant", "../acme"):
        state = asked(agent, context=Tenant(nobody))
        problem = state["crag"]["problem"]
        assert problem["message"] and problem["remedy"] and state["crag"]["sources"] == []
        assert "nothing could be retrieved" in model.system() and "eighty" not in model.system() + str(problem)


# ---- the history ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_history_of_twenty_turns_is_that_of_an_agent_without_it(engine: Engine) -> None:
    saver, bare_saver = InMemorySaver(), InMemorySaver()
    agent = agent_of(told_model(), CragMiddleware(engine, workspace="acme"), checkpointer=saver)
    bare = create_agent(told_model(), checkpointer=bare_saver)
    for turn in range(20):
        text = f"How long did hiring take in {2000 + turn}?"
        before = agent.get_state(THREAD).values.get("messages", [])
        state = asked(agent, text, config=THREAD)
        assert state["messages"][:-2] == before
        assert said(state["messages"]) == said(asked(bare, text, config=THREAD)["messages"])
    stored = [each for each in saver.list(THREAD)]
    assert not any("Hiring took" in str(each) for each in stored), "the context text is in a checkpoint"
    assert {each.config["configurable"]["checkpoint_ns"] for each in stored} == {""}, "a run wrote checkpoints"
    assert stored[0].checkpoint["channel_values"]["crag"]["run_id"] == state["crag"]["run_id"]
    assert len(runs(engine)) == 20


def test_streamed_and_asynchronous_it_is_the_same(engine: Engine) -> None:
    given: Any = {"messages": [HumanMessage(QUESTION)]}
    expected = [("human", QUESTION), ("ai", "Reply 1.")]

    def made(**more: Any) -> tuple[ToldModel, Any]:
        model = told_model()
        return model, agent_of(model, CragMiddleware(engine, workspace="acme"), **more)

    model, agent = made(checkpointer=InMemorySaver())
    pieces = [piece for piece, _ in agent.stream(given, THREAD, stream_mode="messages")]
    assert "".join(str(piece.text) for piece in pieces) == "Reply 1."
    assert said(agent.get_state(THREAD).values["messages"]) == expected and "eighty" in model.system()

    model, agent = made()
    updates = [name for update in agent.stream(given, stream_mode="updates", subgraphs=True) for name in update[1]]
    assert updates == ["CragMiddleware.before_model", "model"]
    assert "Hiring took" not in str(list(agent.stream(given, stream_mode=["values", "updates", "custom"])))

    async def streamed() -> list[Any]:
        return [each async for each in agent.astream(given, stream_mode="values")]

    *_, last = asyncio.run(streamed())
    assert said(last["messages"])[0] == expected[0] and last["crag"]["action"] == "CORRECT"
    assert all("eighty" in model.system(call) for call in range(3))

    model, agent = made(checkpointer=InMemorySaver())
    state = asyncio.run(agent.ainvoke(given, THREAD))
    assert said(state["messages"]) == expected and "eighty" in model.system()


# ---- once a message ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_turn_that_was_interrupted_goes_on_with_what_it_had_found(engine: Engine, asynchronous: bool) -> None:
    model = told_model([calling("clock"), "Noon."])
    middleware = CragMiddleware(engine, workspace="acme")
    agent = agent_of(model, middleware, tools=[clock], checkpointer=InMemorySaver(), interrupt_before=["tools"])
    before = asked(agent, config=THREAD)["crag"]
    after = asyncio.run(agent.ainvoke(None, THREAD)) if asynchronous else agent.invoke(None, THREAD)
    assert after["crag"] == before and len(runs(engine)) == 1
    assert model.system(0) == model.system(1) and "eighty" in model.system(1)


def test_an_agent_that_loops_is_bounded(engine: Engine) -> None:
    """A tenant that changes at each call wants a run at each: no turn makes more of them than it may."""
    names = [f"tenant-{number}" for number in range(9)]
    model = told_model([calling("clock", number) for number in range(5)])
    middleware = CragMiddleware(engine, workspace=lambda state, runtime: names.pop(), max_runs=2)
    state = asked(agent_of(model, middleware, tools=[clock]))
    assert state["crag"]["problem"]["reason"] == BudgetError.reason and "2 runs" in state["crag"]["problem"]["message"]
    assert len(model.told) == 6


def test_a_follow_up_is_asked_as_what_it_means_in_the_thread(engine: Engine) -> None:
    agent = agent_of(told_model(), CragMiddleware(engine, workspace="acme"), checkpointer=InMemorySaver())
    asked(agent, config=THREAD)
    assert asked(agent, "And in 2018?", config=THREAD)["crag"]["asked_as"] == "And in 2018? (How long did hiring take?)"
    assert asked(agent, "And in 2017?", config=THREAD)["crag"]["asked_as"] == "And in 2017? (How long did hiring take?)"
    assert asked(agent, "Who examined twelve programs?", config=THREAD)["crag"]["asked_as"] == ""


# ---- what is asked with --------------------------------------------------------------------------------------------


def test_any_strategy_and_any_retriever(engine: Engine, evaluator: ScriptedEvaluator) -> None:
    hits = FixedRetriever(chunks=[chunk_of("Hiring took sixty days in 2019.", name="elsewhere.pdf")])
    model = told_model()
    for given in (hits, lambda state, runtime: hits):
        middleware = CragMiddleware(engine, "acme", "plain-rag", retriever=given)
        state = asked(agent_of(model, middleware))
        assert "sixty" in model.system() and "eighty" not in model.system()
        assert (state["crag"]["action"], state["crag"]["sources"][0]["source"]) == (None, "elsewhere.pdf")
    assert hits.asked == [QUESTION, QUESTION]
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts(["Hiring took seventy days in 2019."], [{"source": "store.pdf", "tenant": "acme"}])
    state = asked(agent_of(model, CragMiddleware(engine, "acme", "joint", retriever=store)))
    assert "seventy" in model.system() and state["crag"]["sources"][0]["source"] == "store.pdf"
    narrow = CragMiddleware(engine, "acme", "paper", {"k": 1, "where": {"confidence": {">": 0.99}}})
    found = asked(agent_of(model, narrow))["crag"]["run_id"]
    assert len(engine.library("acme").runs.trace(found).chunks) == 1
    for wrong in ({"k": 0}, {"no_such": 1}, {"where": {"confidence": {"$gt": 1}}}):
        with pytest.raises(SettingsError):
            CragMiddleware(engine, settings=wrong)
    with pytest.raises(SettingsError, match="no strategy"):
        CragMiddleware(engine, strategy="best")


# ---- bad input and failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "said_so"),
    [
        ([], "no message of a person"),
        ([AIMessage("Hello.")], "no message of a person"),
        ([HumanMessage("")], "is empty"),
        ([HumanMessage([{"type": "image", "base64": "aGk=", "mime_type": "image/png"}])], "is empty"),
        ([HumanMessage("x" * 100_000)], "has 100,000 characters"),
    ],
)
def test_what_can_t_be_asked_is_said_in_the_state(engine: Engine, messages: list[BaseMessage], said_so: str) -> None:
    model = told_model()
    state = agent_of(model, CragMiddleware(engine, workspace="acme")).invoke({"messages": messages})
    assert said_so in state["crag"]["problem"]["message"] and state["crag"]["problem"]["reason"] == "input"
    assert len(state["crag"]["question"]) <= 2_000
    assert "nothing could be retrieved" in model.system() and str(state["messages"][-1].text) == "Reply 1."
    with pytest.raises(QuestionError):
        agent_of(model, CragMiddleware(engine, workspace="acme", on_error="raise")).invoke({"messages": messages})


class Broken:
    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        raise ProviderError("The store did not answer.")


def test_a_failure_is_told_or_raised_and_its_run_stored(engine: Engine) -> None:
    model = told_model([calling("clock"), "Sorry."])
    state = asked(agent_of(model, CragMiddleware(engine, workspace="acme", retriever=Broken()), tools=[clock]))
    problem = state["crag"]["problem"]
    assert problem == {
        "reason": "provider",
        "message": "The store did not answer.",
        "remedy": ProviderError.default_remedy,
    }
    assert [run.run_id for run in runs(engine)] == [state["crag"]["run_id"]], "a failure is not tried again in its turn"
    assert "nothing could be retrieved" in model.system() and "store" not in model.system()
    with pytest.raises(ProviderError):
        asked(agent_of(model, CragMiddleware(engine, workspace="acme", retriever=Broken(), on_error="raise")))
    with pytest.raises(EmptyLibraryError):
        asked(agent_of(model, CragMiddleware(engine, on_error="raise")))
    with pytest.raises(InputError):
        nobody: Any = None
        asked(agent_of(model, CragMiddleware(engine, workspace=lambda *_: nobody, on_error="raise")))
