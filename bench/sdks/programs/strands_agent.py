from strands import Agent, tool
from strands.models.openai import OpenAIModel
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
agent = Agent(
    model=OpenAIModel(model_id=MODEL),
    system_prompt=INSTRUCTIONS,
    tools=[tool(get_weather)],
    callback_handler=None,
    trace_attributes={"session.id": SESSION, "user.id": USER},
)
agent(QUESTION)
provider.shutdown()
