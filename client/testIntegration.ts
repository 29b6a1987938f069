import type { IntegrationTestResult } from '../shared/wire/integrationTest.ts';
import { type CallOptions, clientOf } from './project.ts';

export interface TestIntegrationOptions extends CallOptions {
  /** Id of the integration. */
  id: string;
  /** Name or alias; the default model of the integration without it. */
  model?: string | undefined;
  prompt?: string | undefined;
}

/** Calls a model of an integration once, with the cost of a call. A call that fails is an answer with its `error`. @throws NotFoundError */
export const testIntegration = async ({
  id,
  model,
  prompt,
  ...options
}: TestIntegrationOptions): Promise<IntegrationTestResult> =>
  clientOf(options).send(`/integrations/${encodeURIComponent(id)}/test_call`, {
    body: { ...(model !== undefined && { model }), ...(prompt !== undefined && { prompt }) },
  });
