import type { z } from 'zod';
import type { IntegrationDB } from '../shared/wire/integrations.ts';
import { type CallOptions, clientOf } from './project.ts';

export type Integration = z.output<typeof IntegrationDB>;

/** The models' providers that are connected, without their secrets. */
export const listIntegrations = async (options: CallOptions = {}): Promise<Integration[]> =>
  clientOf(options).send('/integrations');
