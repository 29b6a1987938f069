import asyncio

from agent_framework import Agent
from agent_framework.observability import enable_instrumentation
from agent_framework.openai import OpenAIChatClient
from story import INSTRUCTIONS, MODEL, QUESTION, get_weather, start

provider = start()
enable_instrumentation(enable_sensitive_data=True)
agent = Agent(client=OpenAIChatClient(model=MODEL), name="weather", instructions=INSTRUCTIONS, tools=[get_weather])
asyncio.run(agent.run(QUESTION))
provider.shutdown()
