import { createOutboundGuard, type OutboundGuard, type OutboundRules } from '../outbound/outbound.ts';
import type { Secrets } from '../providers/provider.ts';
import type { Integration, IntegrationStore } from './integration.ts';
import { openSecrets } from './sealing.ts';
import { type KeyRing, openKeyRing } from './secrets.ts';

export interface Integrations {
  store: IntegrationStore;
  keyRing: KeyRing;
  /** The way of every request to an address that users name. The opener of this closes it. */
  outbound: OutboundGuard;
  /** Opens the sealed secrets of an integration. @throws ServiceError `SecretUnreadable` */
  openSecrets(integration: Integration): Secrets;
}

/** Integrations, the keys of their secrets, and the guard of what they may reach. */
export function openIntegrations(store: IntegrationStore, secretKeys: string, rules: OutboundRules): Integrations {
  const keyRing = openKeyRing(secretKeys);
  return {
    store,
    keyRing,
    outbound: createOutboundGuard(rules),
    openSecrets: (integration) => openSecrets(keyRing, integration),
  };
}
