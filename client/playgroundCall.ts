import type { PlaygroundEvent } from '../shared/wire/playground.ts';
import { clientOf, type OperationOptions, resolveProject } from './callOptions.ts';
import { ConnectionError, HttpStatusError, ValueError } from './errors.ts';
import { type PromptSettings, settingsKeys } from './promptSettings.ts';
import type { PromptMessage } from './prompts.ts';
import { eventsOf, isBroken, silenceWatch } from './serverSentEvents.ts';

export type { PlaygroundEvent };

export interface PlaygroundCallOptions extends OperationOptions {
  /** Text, which becomes one user message, or messages, with variables as in a prompt. Absent: that of the version. */
  template?: string | PromptMessage[] | undefined;
  /** The values of the variables: any JSON, as the columns of a dataset row. */
  variables?: Record<string, unknown> | undefined;
  /** Absent: those of the version, or the defaults of the service. */
  settings?: PromptSettings | undefined;
  /** The version of a prompt that is called, or that the template began as. */
  promptTemplateVersionId?: string | undefined;
}

/**
 * Calls a model with a prompt, outside experiments, and yields what comes while it comes: `started`, any number of `delta`, and `completed` or `failed` as
 * the last one. A call that fails is an event, not an error. Leaving the iteration cancels the call, as does `signal`, which ends it; the service records
 * what had come. Nothing is asked for twice: each call is paid for.
 * @throws ValueError without template and version; HttpStatusError for what is refused before the call is made; ConnectionError where the stream breaks off
 */
export async function* playgroundCall(options: PlaygroundCallOptions): AsyncGenerator<PlaygroundEvent, void> {
  const { template, variables, settings, promptTemplateVersionId, signal } = options;
  if (template === undefined && promptTemplateVersionId === undefined)
    throw new ValueError('a call needs a template, or the promptTemplateVersionId of one');
  const client = clientOf(options);
  const projectId = await resolveProject(client, options);
  const silence = silenceWatch();
  let isOver = false;
  try {
    const content = await client.download(`/projects/${encodeURIComponent(projectId)}/playground_calls`, {
      body: {
        ...(template !== undefined && { template }),
        ...(variables && { variables }),
        ...(settings && { settings: settingsKeys(settings) }),
        ...(promptTemplateVersionId !== undefined && { prompt_template_version_id: promptTemplateVersionId }),
      },
      headers: { accept: 'text/event-stream' },
      retries: 0,
      signal: silence.signal,
    });
    for await (const { name, data } of eventsOf(content, silence.again)) {
      isOver = name === 'completed' || name === 'failed';
      // However long the caller takes with an event: the stream is not silent meanwhile.
      silence.stop();
      yield { event: name, data: JSON.parse(data) } as PlaygroundEvent;
      silence.again();
    }
  } catch (err) {
    if (signal?.aborted) return;
    if (err instanceof HttpStatusError || !(silence.signal.aborted || isBroken(err))) throw err;
    throw new ConnectionError('the answer of the playground broke off', { cause: err });
  } finally {
    silence.stop();
  }
  if (!isOver && !signal?.aborted) throw new ConnectionError('the answer of the playground broke off');
}
