import { randomBytes } from 'node:crypto';

const attributesOf = (texts: Record<string, string>) =>
  Object.entries(texts).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** An export request in JSON of one new root span; `resource` and `attributes` are texts of its resource and of itself. */
export const otlpSpan = (
  resource: Record<string, string> = {},
  attributes: Record<string, string> = { 'input.value': 'q', 'output.value': 'a' },
) => ({
  resourceSpans: [
    {
      resource: { attributes: attributesOf(resource) },
      scopeSpans: [
        {
          spans: [
            {
              traceId: randomBytes(16).toString('hex'),
              spanId: randomBytes(8).toString('hex'),
              name: 'first',
              startTimeUnixNano: '1770000000000000000',
              endTimeUnixNano: '1770000001000000000',
              attributes: attributesOf(attributes),
            },
          ],
        },
      ],
    },
  ],
});
