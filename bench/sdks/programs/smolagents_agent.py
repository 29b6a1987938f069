from openinference.instrumentation import using_attributes
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIModel, ToolCallingAgent, tool
from story import MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
SmolagentsInstrumentor().instrument(tracer_provider=provider)
with using_attributes(session_id=SESSION, user_id=USER):
    ToolCallingAgent(tools=[tool(get_weather)], model=OpenAIModel(model_id=MODEL)).run(QUESTION)
provider.shutdown()
