from openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from story import SESSION, USER, chat_twice, start

provider = start()
OpenAIInstrumentor().instrument(tracer_provider=provider)
with using_attributes(session_id=SESSION, user_id=USER, tags=["a tag"]):
    with provider.get_tracer("app").start_as_current_span("answer"):
        chat_twice(OpenAI())
provider.shutdown()
