from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from openinference.instrumentation import using_attributes
from openinference.instrumentation.haystack import HaystackInstrumentor
from haystack import Pipeline
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
HaystackInstrumentor().instrument(tracer_provider=provider)
agent = Agent(
    chat_generator=OpenAIChatGenerator(model=MODEL),
    tools=[create_tool_from_function(get_weather)],
    system_prompt=INSTRUCTIONS,
)
pipeline = Pipeline()
pipeline.add_component("agent", agent)
with using_attributes(session_id=SESSION, user_id=USER):
    pipeline.run({"agent": {"messages": [ChatMessage.from_user(QUESTION)]}})
provider.shutdown()
