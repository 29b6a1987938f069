from openai import OpenAI
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from story import chat_twice, start

provider = start()
OpenAIInstrumentor().instrument(tracer_provider=provider)
with provider.get_tracer("app").start_as_current_span("answer"):
    chat_twice(OpenAI())
provider.shutdown()
