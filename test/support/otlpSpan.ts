import { randomBytes } from 'node:crypto';

/** An export request in JSON of one new root span; `resource` are text attributes of its resource. */
export const otlpSpan = (resource: Record<string, string> = {}) => ({
  resourceSpans: [
    {
      resource: { attributes: Object.entries(resource).map(([key, stringValue]) => ({ key, value: { stringValue } })) },
      scopeSpans: [
        {
          spans: [
            {
              traceId: randomBytes(16).toString('hex'),
              spanId: randomBytes(8).toString('hex'),
              name: 'first',
              startTimeUnixNano: '1770000000000000000',
              endTimeUnixNano: '1770000001000000000',
            },
          ],
        },
      ],
    },
  ],
});
