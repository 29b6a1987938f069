import type { Provider } from '../data/integrations.ts';

/** The parameters of a new integration: its provider; without it, an endpoint of one's own. */
export function newIntegrationAddress(given: Record<string, unknown>): { provider?: Provider } {
  return typeof given.provider === 'string' && /^\w+$/.test(given.provider) ? { provider: given.provider as Provider } : {};
}

/** The parameters of the settings of projects: the project that is open. */
export const projectSettingsAddress = (given: Record<string, unknown>): { project?: string } =>
  typeof given.project === 'string' ? { project: given.project } : {};
