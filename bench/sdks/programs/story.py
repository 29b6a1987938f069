"""What the programs share: the question, the tool, and an exporter by OTLP that follows the environment."""

import json

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

MODEL = "gpt-4o-mini"
INSTRUCTIONS = "Answer in one sentence."
QUESTION = "What is the weather in Zürich?"
SESSION = "session-1"
USER = "user-1"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: its name
    """
    return f"21 degrees in {city}"


def exporting(provider: TracerProvider) -> TracerProvider:
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def start() -> TracerProvider:
    """A provider for all that the process traces."""
    provider = exporting(TracerProvider())
    trace.set_tracer_provider(provider)
    return provider


def chat_twice(client) -> str:
    """A call of the model that asks for the tool, and a streamed one that answers."""
    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
    asked = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL], temperature=0.5)
    message = asked.choices[0].message
    call = message.tool_calls[0]
    weather = get_weather(**json.loads(call.function.arguments))
    messages += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": weather}]
    chunks = client.chat.completions.create(
        model=MODEL, messages=messages, tools=[TOOL], stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
