import logfire
from openai import OpenAI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from story import SESSION, chat_twice

logfire.configure(
    send_to_logfire=False, console=False, additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter())]
)
client = OpenAI()
logfire.instrument_openai(client)
with logfire.span("answer", session_id=SESSION):
    chat_twice(client)
logfire.shutdown()
