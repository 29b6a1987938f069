/** Attributes as the JSON of OTLP writes them. */
export const pairs = (values: Record<string, string | number>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));

/** An export request in JSON of one span, which is the same each time: `more` are fields of it. */
export const otlpJson = (
  attributes: Record<string, string | number>,
  more: object = {},
  resource: Record<string, string> = {},
) => ({
  resourceSpans: [
    {
      resource: { attributes: pairs(resource) },
      scopeSpans: [
        {
          spans: [
            {
              traceId: '0af7651916cd43dd8448eb211c80319c',
              spanId: 'b7ad6b7169203331',
              name: 'chat',
              startTimeUnixNano: '1770000000123456789',
              endTimeUnixNano: '1770000001123456789',
              attributes: pairs(attributes),
              ...more,
            },
          ],
        },
      ],
    },
  ],
});
