import type { z } from 'zod';
import type { CustomIntegrationCreate, IntegrationDB, IntegrationProvider } from '../shared/wire/integrations.ts';
import type { IntegrationTestResult } from '../shared/wire/integrationTest.ts';
import { type CallOptions, clientOf } from './callOptions.ts';

export type Integration = z.output<typeof IntegrationDB>;

/** The models' providers that are connected, without their secrets. */
export const listIntegrations = async (options: CallOptions = {}): Promise<Integration[]> =>
  clientOf(options).send('/integrations');

/** One of the providers with its settings, in the interface's spelling. A `custom` one with a `name` is one of several. */
export type IntegrationSettings =
  | { provider: 'openai'; settings: { token: string; organization_id?: string | null | undefined } }
  | {
      provider: 'aws_bedrock' | 'aws_sagemaker';
      settings: {
        token: { aws_access_key_id: string; aws_secret_access_key: string; aws_session_token?: string | null | undefined };
        [setting: string]: unknown;
      };
    }
  | {
      provider: Exclude<IntegrationProvider, 'openai' | 'custom' | 'aws_bedrock' | 'aws_sagemaker'>;
      settings: { token: string; [setting: string]: unknown };
    }
  | { provider: 'custom'; name?: string; settings: z.input<typeof CustomIntegrationCreate> };

/** Connects a provider of models, or changes how it is connected. @throws HttpStatusError 422 for settings that cannot be right. */
export async function saveIntegration(options: CallOptions & IntegrationSettings): Promise<Integration> {
  const name = options.provider === 'custom' && options.name ? `/${encodeURIComponent(options.name)}` : '';
  return clientOf(options).send(`/integrations/${options.provider}${name}`, { method: 'PUT', body: options.settings });
}

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

export interface DeleteIntegrationOptions extends CallOptions {
  provider: string;
  /** Names one of several custom integrations. */
  name?: string | undefined;
}

/** Disconnects a provider of models. @throws NotFoundError when it is not connected. */
export async function deleteIntegration({ provider, name, ...options }: DeleteIntegrationOptions): Promise<void> {
  const path = [provider, ...(name ? [name] : [])].map(encodeURIComponent).join('/');
  await clientOf(options).send(`/integrations/${path}`, { method: 'DELETE' });
}
