import { parsedOrNothing } from '../json/parseJson.ts';
import { awsError, awsErrorKind } from './awsErrors.ts';
import { type AwsEvent, awsEvents } from './awsEventStream.ts';
import { fieldsOf, textIn } from './chatParts.ts';
import type { ChatProtocol } from './chatProtocol.ts';
import { eventData } from './eventData.ts';

/** OpenAI's protocol, as the containers of vLLM, TGI and DJL speak it, in the envelope of SageMaker. */
export const sagemakerChat: ChatProtocol = {
  hasLogProbabilities: true,
  toRequest: (body) => body,
  toCompletion: (said) => said,
  async *pieces(parts) {
    const failures: unknown[] = [];
    for await (const { lines } of eventData(payloads(awsEvents(parts), failures))) {
      const text = lines.join('\n').trim();
      const said = parsedOrNothing(text);
      yield said ?? (text === '[DONE]' ? text : { error: { type: 'error' } });
    }
    yield* failures;
  },
  /** AWS gives the container's answer beside its status: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html#API_runtime_InvokeEndpoint_Errors */
  toError(said, headers) {
    const { OriginalStatusCode: status, OriginalMessage, Message, message } = fieldsOf(said);
    const text = [OriginalMessage, Message, message, said].map(textIn).find((one) => one !== undefined) ?? '';
    if (typeof status === 'number' && status >= 400) return { error: { message: text, status } };
    return awsError(awsErrorKind(said, headers) ?? '', text);
  },
};

const utf8 = new TextDecoder();

/** The bytes of the container's own stream; an exception ends it. @param failures gets the exception */
async function* payloads(events: AsyncIterable<AwsEvent>, failures: unknown[]): AsyncGenerator<Uint8Array, void> {
  for await (const { headers, payload } of events) {
    const kind = headers[':exception-type'] ?? headers[':error-code'];
    if (headers[':message-type'] !== 'event' && kind !== undefined) {
      failures.push(awsError(kind, textIn(fieldsOf(parsedOrNothing(utf8.decode(payload))).Message) ?? ''));
      return;
    }
    yield payload;
  }
}
