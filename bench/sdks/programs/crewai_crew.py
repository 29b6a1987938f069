import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation import using_attributes
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, USER, get_weather, start

provider = start()
CrewAIInstrumentor().instrument(tracer_provider=provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)
agent = Agent(
    role="weather",
    goal="weather",
    backstory=INSTRUCTIONS,
    llm=LLM(model=f"openai/{MODEL}"),
    tools=[tool("get_weather")(get_weather)],
)
crew = Crew(agents=[agent], tasks=[Task(description=QUESTION, expected_output="a sentence", agent=agent)])
with using_attributes(session_id=SESSION, user_id=USER):
    crew.kickoff()
provider.shutdown()
