import type { z } from 'zod';
import type { CustomIntegrationCreate, IntegrationProvider } from '../shared/wire/integrations.ts';
import type { Integration } from './listIntegrations.ts';
import { type CallOptions, clientOf } from './project.ts';

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
