import asyncio

from google.adk.agents import Agent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
agent = Agent(name="weather", model=LiteLlm(f"openai/{MODEL}"), instruction=INSTRUCTIONS, tools=[get_weather])


async def main():
    runner = InMemoryRunner(agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id=USER, session_id=SESSION)
    message = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    async for _ in runner.run_async(user_id=USER, session_id=SESSION, new_message=message):
        pass


asyncio.run(main())
provider.shutdown()
