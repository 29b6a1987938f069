import { hkdfSync } from 'node:crypto';

/** Keys of one generation, each for one purpose. */
export interface AccountKeys {
  id: string;
  accessToken: Uint8Array;
  refreshToken: Uint8Array;
  pageToken: Uint8Array;
  rememberedLogin: Uint8Array;
}

/**
 * Keys for tokens and remembered logins, from the service's secret key ring (the first is active; the others still verify what they signed).
 * HKDF-SHA-256 (RFC 5869) with a label each, so that no key serves two purposes.
 */
export function accountKeys(ring: readonly { id: string; key: Uint8Array }[]): [AccountKeys, ...AccountKeys[]] {
  const [active, ...older] = ring.map(({ id, key }) => {
    const derived = (label: string) => new Uint8Array(hkdfSync('sha256', key, new Uint8Array(0), `assay accounts ${label}`, 32));
    return {
      id,
      accessToken: derived('access token'),
      refreshToken: derived('refresh token'),
      pageToken: derived('page token'),
      rememberedLogin: derived('remembered login'),
    };
  });
  if (!active) throw new Error('the secret key ring is empty');
  return [active, ...older];
}
