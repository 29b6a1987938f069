import json
import time

import litellm
from litellm.integrations.opentelemetry import OpenTelemetry, OpenTelemetryConfig
from story import INSTRUCTIONS, MODEL, QUESTION, SESSION, TOOL, USER, get_weather, start

provider = start()
litellm.callbacks = [OpenTelemetry(config=OpenTelemetryConfig(), tracer_provider=provider)]
messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
more = {"tools": [TOOL], "user": USER, "metadata": {"session_id": SESSION}}
with provider.get_tracer("app").start_as_current_span("answer"):
    message = litellm.completion(f"openai/{MODEL}", messages, **more).choices[0].message
    call = message.tool_calls[0]
    weather = get_weather(**json.loads(call.function.arguments))
    messages += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": weather}]
    litellm.completion(f"openai/{MODEL}", messages, **more)
    time.sleep(2)  # it writes its spans on threads of its own
provider.shutdown()
