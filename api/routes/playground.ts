import { z } from 'zod';
import type { LiveStreams } from '../../shared/concurrency/liveStreams.ts';
import type { Playground } from '../../shared/playground/openPlayground.ts';
import { PlaygroundCallRequest } from '../../shared/wire/playground.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint, type Gate } from '../http/route.ts';
import { serverEvent, workReply } from '../http/serverSentEvents.ts';

export interface PlaygroundRouteDeps {
  playground: Playground;
  /** Counts the calls of each account. */
  calls: LiveStreams;
  gate: Pick<Gate, 'authorize'>;
  /** Aborts when the process is about to end. */
  stopping: AbortSignal;
}

const access = { project: 'use_playground' } as const;

/** Calls of one model, outside of experiments. */
export const playgroundRoutes = ({ playground, calls, gate, stopping }: PlaygroundRouteDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/playground_calls',
    summary: 'Call a model with a prompt, and read the answer while it is written',
    description:
      'The service refuses variables without a value and unknown models before the call. Else the answer is a stream of server-sent events: `started`, any number of `delta`, and `completed` or `failed` as the last one, with comments between them. A caller that closes the connection cancels the call. Every call is recorded in the log stream `playground`, also one that was cancelled. An account has at most five calls at a time, and a project what its `playground_limits` say.',
    tag: 'Prompts',
    access,
    params: ProjectParams,
    body: PlaygroundCallRequest,
    waits: true,
    produces: ['text/event-stream'],
    response: z.string(),
    errors: ['TooManyRequests', 'ModelUnknown', 'NotFound'],
    async handle({ project, body, caller, signal }) {
      const call = await playground.prepare(caller, project.id, body);
      return workReply(
        async (send, ending) => {
          const leave = calls.enter(caller.userId);
          try {
            await playground.run(call, ending, ({ event, data }) => send(serverEvent(event, data)));
          } finally {
            leave();
          }
        },
        {
          // A login that ends meanwhile cuts off no answer that is paid for.
          mayGoOn: async () => void (await gate.authorize(caller, access, project.id)),
          ...{ stopping, signal },
        },
      );
    },
  }),
];
