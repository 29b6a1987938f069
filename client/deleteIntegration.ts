import { type CallOptions, clientOf } from './project.ts';

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
