from agents import Agent, Runner, function_tool, set_trace_processors
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
set_trace_processors([])
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
agent = Agent(name="weather", instructions=INSTRUCTIONS, model=MODEL, tools=[function_tool(get_weather)])
with using_attributes(session_id=SESSION, user_id=USER):
    Runner.run_sync(agent, QUESTION)
provider.shutdown()
