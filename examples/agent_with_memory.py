"""An agent with memory that answers two tenants, neither of which is ever shown a document of the other.

python -m examples.agent_with_memory

Without a model (CRAG_LLM, CRAG_LLM_MODEL and CRAG_LLM_BASE_URL, as for the app) a fake one says how often it was asked.
"""

import itertools
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from crag import Engine
from crag.integrations.langchain import CragMiddleware

TENANTS = {"pilots": "ntsb-*.html", "clerks": "opm-2017-retirement-*.html"}
QUESTIONS = (
    "Why did the Cessna skid off the runway at Wausau?",
    "And was the pilot injured?",
    "What percent of retirement claims were processed within 60 days in FY 2017?",
)


class Tenant(TypedDict):
    workspace: str


def model(engine: Engine) -> BaseChatModel:
    config = engine.config
    if config.providers.llm == "none":
        return GenericFakeChatModel(messages=(AIMessage(f"Answer {number}.") for number in itertools.count(1)))
    return ChatOpenAI(model=config.providers.llm_model, base_url=config.providers.llm_base_url or None)


engine = Engine()
for tenant, files in TENANTS.items():
    found = sorted(engine.sample().web.glob(files))
    list(engine.add_files([(file.name, file.read_bytes) for file in found], f"examples-{tenant}"))

middleware = CragMiddleware(engine, workspace=lambda state, runtime: runtime.context["workspace"])
agent = create_agent(model(engine), middleware=[middleware], context_schema=Tenant, checkpointer=InMemorySaver())

for tenant, question in itertools.product(TENANTS, QUESTIONS):
    state: dict[str, Any] = agent.invoke(
        {"messages": [{"role": "user", "content": question}]},
        {"configurable": {"thread_id": tenant}},
        context={"workspace": f"examples-{tenant}"},
    )
    told = state["crag"]
    sources = sorted({source["source"] for source in told["sources"]})
    print(f"{tenant} · {told['asked_as'] or question}\n  {told['action']}: {sources or 'nothing'}")
    print(f"  {state['messages'][-1].content}  ({len(state['messages'])} messages remembered)")
engine.close()
