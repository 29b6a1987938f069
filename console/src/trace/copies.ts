import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { home } from '../address/home.ts';
import type { RecordNode } from '../data/records.ts';

const pathOf = ({ type, id }: RecordNode, projectId: string): string => {
  const kind = type === 'trace' || type === 'session' ? `${type}s` : 'spans';
  return `/v2/projects/${projectId}/${kind}/${id}`;
};

/** The forms in which a record is copied, by the name in the menu. None has a secret in it: the key is read from SERVICE_API_KEY. */
export const copies: readonly (readonly [name: string, text: (record: RecordNode, projectId: string) => string])[] = [
  ['Link to this place', () => window.location.href],
  ['Id', ({ id }) => id],
  ['JSON', ({ spans: _spans, traces: _traces, ...own }) => jsonWithBigInts(own, undefined, 2)],
  ['As curl', (record, projectId) => `curl -sS ${home.api}${pathOf(record, projectId)} -H "Service-API-Key: $SERVICE_API_KEY"`],
  [
    'As client code',
    (record, projectId) => `import { ServiceClient } from '@assay/client';

// The key is that of SERVICE_API_KEY.
const client = new ServiceClient({ apiUrl: ${JSON.stringify(home.api)} });
const record = await client.send(${JSON.stringify(pathOf(record, projectId))});
`,
  ],
  ['As dataset row', ({ input, output, user_metadata: metadata }) => jsonWithBigInts({ input, output, metadata }, undefined, 2)],
];
