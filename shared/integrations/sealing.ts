import type { SecretField, Secrets } from '../providers/provider.ts';
import type { Integration, IntegrationStore } from './integration.ts';
import type { KeyRing } from './secrets.ts';

/** The associated data of a sealed secret: ties it to its integration and field. */
const identityOf = (integrationId: string, field: string): string => `${integrationId}|${field}`;

const mapSecrets = (secrets: Secrets, change: (value: string, field: SecretField) => string): Secrets =>
  Object.fromEntries(Object.entries(secrets).map(([field, value]) => [field, change(value, field as SecretField)]));

export const sealSecrets = (keyRing: KeyRing, integrationId: string, plain: Secrets): Secrets =>
  mapSecrets(plain, (value, field) => keyRing.seal(value, identityOf(integrationId, field)));

/** @throws ServiceError `SecretUnreadable` */
export const openSecrets = (keyRing: KeyRing, integration: Pick<Integration, 'id' | 'sealed'>): Secrets =>
  mapSecrets(integration.sealed, (value, field) => keyRing.open(value, identityOf(integration.id, field)));

/**
 * Rotation: seals every secret that is not under the active key again. Safe to repeat and to run beside other processes: an integration that was
 * saved meanwhile is left as it was saved.
 * @returns how many integrations were sealed again.
 */
export async function resealAll(store: IntegrationStore, keyRing: KeyRing): Promise<number> {
  let resealed = 0;
  for (const integration of await store.list()) {
    if (!Object.values(integration.sealed).some((value) => keyRing.isStale(value))) continue;
    const fresh = sealSecrets(keyRing, integration.id, openSecrets(keyRing, integration));
    if (await store.replaceSecrets(integration.id, integration.sealed, fresh)) resealed++;
  }
  return resealed;
}
