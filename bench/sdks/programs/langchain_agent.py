"""The agent of LangChain, a graph of LangGraph, traced by whichever of three packages is here."""

import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
if sys.argv[1] == "traceloop":
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument(tracer_provider=provider)
elif sys.argv[1] == "openinference":
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)

agent = create_agent(ChatOpenAI(model=MODEL, temperature=0.5), tools=[tool(get_weather)], system_prompt=INSTRUCTIONS)
config = {"metadata": {"thread_id": SESSION, "session_id": SESSION, "user_id": USER}, "tags": ["a tag"]}
agent.invoke({"messages": [{"role": "user", "content": QUESTION}]}, config)
if sys.argv[1] == "langsmith":
    from langsmith import Client

    Client().flush()
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
provider.shutdown()
