import asyncio

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function
from story import INSTRUCTIONS, MODEL, QUESTION, get_weather, start

provider = start()


class Weather:
    get_weather = staticmethod(kernel_function(name="get_weather")(get_weather))


class Plugin:
    @kernel_function(name="get_weather")
    def get_weather(self, city: str) -> str:
        """The weather in a city."""
        return get_weather(city)


agent = ChatCompletionAgent(
    service=OpenAIChatCompletion(ai_model_id=MODEL), name="weather", instructions=INSTRUCTIONS, plugins=[Plugin()]
)
asyncio.run(agent.get_response(QUESTION))
provider.shutdown()
