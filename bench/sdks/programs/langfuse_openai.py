from langfuse import Langfuse, observe, propagate_attributes
from langfuse.openai import OpenAI
from opentelemetry.sdk.trace import TracerProvider
from story import QUESTION, SESSION, USER, chat_twice, exporting, get_weather

provider = exporting(TracerProvider())
langfuse = Langfuse(public_key="pk-1", secret_key="sk-1", base_url="http://127.0.0.1:9", tracer_provider=provider)
observe(as_type="tool", name="get_weather")(get_weather)


@observe(name="answer", as_type="agent")
def answer(question: str) -> str:
    with propagate_attributes(session_id=SESSION, user_id=USER, tags=["a tag"]):
        return chat_twice(OpenAI())


answer(QUESTION)
provider.force_flush()
import os

os._exit(0)  # its own exporter has nowhere to send to, and would try for long
