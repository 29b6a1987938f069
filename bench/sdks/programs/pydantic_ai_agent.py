from pydantic_ai import Agent, InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from story import INSTRUCTIONS, MODEL, QUESTION, get_weather, start

provider = start()
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
agent = Agent(OpenAIChatModel(MODEL), instructions=INSTRUCTIONS, tools=[get_weather])
agent.run_sync(QUESTION, conversation_id="session-1")
provider.shutdown()
