import fc from 'fast-check';

type Json = Record<string, unknown>;
type Schema = Json;

interface Operation {
  parameters: { name: string; in: 'path' | 'query'; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}
export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** One request as it goes over the wire. */
export interface HostileRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** Ids that exist, by the name of the parameter or key that takes them: requests that are right up to one value go deepest. */
export type KnownIds = Record<string, readonly string[]>;

/** JSON that `JSON.stringify` cannot write: put between marks, and taken out of its quotes afterwards. */
const raw = (json: string) => `@@raw ${json} raw@@`;
const toText = (value: unknown): string =>
  (JSON.stringify(value) ?? '').replaceAll(/"@@raw (.*?) raw@@"/g, (_, json: string) => JSON.parse(`"${json}"`));

const nested = (depth: number, open: string, close: string) =>
  raw(open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth));

const injections = [
  "' OR 1=1 --",
  "'; DROP TABLE projects; --",
  '"; SELECT 1; --',
  "\\' UNION SELECT * FROM system.tables --",
  '{x:String}',
  '$1',
  '%',
  '_%\\',
  '`x`',
  '{{x}}',
  '{{#each __proto__}}',
  '../../etc/passwd',
  'a\r\nX-Injected: 1',
  '<script>alert(1)</script>',
];
const strangeNames = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', '', ' ', '.', '..', 'null'];
const strangeTexts = [
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '\uffff',
  '\u202etxt',
  '😀'.repeat(50),
  'x'.repeat(70_000),
  'NaN',
  '1e400',
  'true',
  '2026-02-30T25:61:61Z',
  '9999-12-31T23:59:59Z',
  '0001-01-01T00:00:00Z',
  '2026-01-01',
];
const strangeNumbers = [
  0,
  -1,
  0.5,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e308,
  raw('-0'),
  raw('1e400'),
  raw('-1e400'),
  raw('9223372036854775808'),
  raw('18446744073709551616'),
  raw(`1${'0'.repeat(400)}`),
];
const strangeIds = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'c232ab00-9414-11ec-b3c8-9f6bdeced846', // version 1
  '01890a5d-ac96-774b-bcce-b302099a8057', // version 7
  '6F9619FF-8B86-4011-B42D-00CF4FC964FF',
  '{6f9619ff-8b86-4011-b42d-00cf4fc964ff}',
  '6f9619ff8b864011b42d00cf4fc964ff',
  'not-a-uuid',
  '1',
];

const strangeText = fc.oneof(
  fc.constantFrom(...injections, ...strangeNames, ...strangeTexts, ...strangeIds),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const strangeValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: strangeText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...strangeNumbers) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], [{}], '') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(nested(100, '[', ']'), nested(2_000, '{"a":', '}'), nested(60_000, '[', ']')),
  },
  {
    weight: 2,
    arbitrary: fc.dictionary(fc.constantFrom(...strangeNames, 'a\0', '\ud800', "' OR 1=1 --"), fc.jsonValue({ maxDepth: 2 }), {
      maxKeys: 3,
      noNullPrototype: false,
    }),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** Values that mostly fit `schema`, with a wrong one here and there. */
function aroundValue(
  schema: Schema,
  document: OpenApiDocument,
  known: KnownIds,
  name: string,
  depth: number,
): fc.Arbitrary<unknown> {
  const fitting = fittingValue(schema, document, known, name, depth);
  return fc.oneof({ weight: 14, arbitrary: fitting }, { weight: 1, arbitrary: strangeValue });
}

const columns = [
  'input',
  'output',
  'created_at',
  'id',
  'tags',
  'model',
  'step_number',
  'metrics/correctness',
  'metrics/',
  "metrics/x' OR 1=1",
];

function fittingValue(
  schema: Schema | boolean,
  document: OpenApiDocument,
  known: KnownIds,
  name: string,
  depth: number,
): fc.Arbitrary<unknown> {
  if (typeof schema === 'boolean') return strangeValue; // `items: false` behind the parts of a tuple, say
  const inner = (part: unknown, key: string) => aroundValue(part as Schema, document, known, key, depth + 1);
  if (typeof schema.$ref === 'string') {
    const target = document.components.schemas[schema.$ref.split('/').at(-1) as string] as Schema;
    return fittingValue(target, document, known, name, depth + 1);
  }
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (choices)
    return depth > 12
      ? fc.constant(null)
      : fc.oneof(...choices.map((one) => fittingValue(one, document, known, name, depth + 1)));
  if (Array.isArray(schema.allOf)) return inner(schema.allOf[0], name);
  switch (schema.type) {
    case 'object': {
      const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
      const required = (schema.required ?? []) as string[];
      if (properties.length === 0) {
        const value = typeof schema.additionalProperties === 'object' ? inner(schema.additionalProperties, name) : strangeValue;
        return depth > 12
          ? fc.constant({})
          : fc.dictionary(fc.constantFrom('a', 'input', ...strangeNames, ...injections), value, {
              maxKeys: 3,
              noNullPrototype: true,
            });
      }
      const kept = depth > 12 ? properties.filter(([key]) => required.includes(key)) : properties;
      // An optional key is there one time in four: with all of them, nearly every body would be wrong somewhere.
      const fields = kept.map(([key, part]) => [
        key,
        required.includes(key)
          ? inner(part, key)
          : fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: inner(part, key) }),
      ]);
      return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>);
    }
    case 'array':
      return depth > 12 ? fc.constant([]) : fc.array(inner(schema.items ?? {}, name), { maxLength: 2 });
    case 'string':
      return textOf(schema, known, name);
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.integer({
          min: Math.max(Math.ceil((schema.minimum as number | undefined) ?? -5), -1_000_000),
          max: Math.min(Math.ceil((schema.maximum as number | undefined) ?? 200), 300),
        }),
        fc.constantFrom<unknown>(...strangeNumbers),
      );
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return strangeValue;
  }
}

function textOf(schema: Schema, known: KnownIds, name: string): fc.Arbitrary<unknown> {
  const ids = known[name] ?? known[name.replace(/s$/, '')];
  if (ids)
    return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: fc.constantFrom(...strangeIds) });
  if (schema.format === 'uuid' || String(schema.pattern).includes('[0-9a-fA-F]{8}'))
    return fc.oneof(fc.uuid({ version: 4 }), fc.constantFrom(...strangeIds));
  if (schema.format === 'date-time')
    return fc.constantFrom('2026-07-07T15:55:01.110554Z', '2026-07-07T15:55:01', '0001-01-01T00:00:00Z');
  if (/column/.test(name) || name === 'name') return fc.oneof(fc.constantFrom(...columns), strangeText);
  return fc.oneof(
    fc.constantFrom('text', 'x', 'https://example.com', 'a.ts', '{"a":1}', '2026-07-07T15:55:01Z', 'A1!aaaaa'),
    strangeText,
  );
}

const parameterText = (value: unknown): string => (typeof value === 'string' ? value : toText(value ?? ''));
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Texts that cannot be written by `encodeURIComponent`, but can be sent. */
const rawSegments = ['%zz', '%00', '%c0%af', '..%2f..%2fetc%2fpasswd', '%2e%2e', '%25', '%ed%a0%80'];

function pathOf(
  template: string,
  operation: Operation,
  document: OpenApiDocument,
  known: KnownIds,
  isDestructive: boolean,
): fc.Arbitrary<string> {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
  const last = names.at(-1);
  const parts = names.map((name) => {
    const schema = operation.parameters.find((one) => one.in === 'path' && one.name === name)?.schema ?? {};
    const strange = fc.oneof(
      strangeText.map(encoded).filter((text) => text !== ''),
      fc.constantFrom(...rawSegments),
      fc.uuid({ version: 4 }),
    );
    if (isDestructive && name === last) return strange;
    const fitting = fittingValue(schema, document, known, name, 1).map((value) => encoded(parameterText(value)) || '_');
    return fc.oneof({ weight: 12, arbitrary: fitting }, { weight: 1, arbitrary: strange });
  });
  const query = operation.parameters
    .filter((one) => one.in === 'query')
    .map(({ name, schema }) =>
      fc.oneof(
        { weight: 3, arbitrary: fc.constant('') },
        {
          weight: 1,
          arbitrary: fc
            .oneof(fittingValue(schema, document, known, name, 1), strangeValue)
            .map((value) => `${name}=${encoded(parameterText(value))}`),
        },
      ),
    );
  const extra = fc.constantFrom(
    '',
    '',
    '',
    '',
    '',
    'limit=1&limit=2',
    '__proto__[x]=1',
    'limit[]=1',
    'limit[a][b]=1',
    'starting_token=1e400',
  );
  return fc.tuple(fc.tuple(...parts), fc.tuple(...query, extra)).map(([segments, pairs]) => {
    let index = 0;
    const path = template.replaceAll(/\{\w+\}/g, () => segments[index++] as string);
    const search = pairs.filter((pair) => pair !== '').join('&');
    return search === '' ? path : `${path}?${search}`;
  });
}

const brokenJson = [
  '',
  ' ',
  '{',
  '{"a":1',
  '[1,2',
  '{"a":1}}',
  "{'a':1}",
  'NaN',
  'undefined',
  '{"a":01}',
  '{"a":"\n"}',
  '\ufeff{}',
  '"\\ud800"',
  '\0',
  'a=1&b=2',
  '<xml/>',
  '--x\r\n',
];
const otherTypes = [
  'application/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/json; charset=utf-16',
  ';;;',
];

const BOUNDARY = 'hostile-boundary';
const quoted = (text: string) => text.replaceAll(/[\r\n"\0]/g, '_').toWellFormed();

function formOf(fields: Json): string {
  const parts = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const texts = parts.map(([name, value]) => {
    const isFile = name === 'file';
    const head = `Content-Disposition: form-data; name="${quoted(name)}"${isFile ? '; filename="rows.csv"' : ''}`;
    return `--${BOUNDARY}\r\n${head}\r\n\r\n${parameterText(value).toWellFormed()}\r\n`;
  });
  return `${texts.join('')}--${BOUNDARY}--\r\n`;
}

const files = [
  'a,b\n1,2\n',
  'a,a\n1,2\n',
  'a,b\n1\n',
  '"a\n',
  '\0',
  '{"a":1}\n{',
  '[{"a":1}]',
  '[1,2]',
  'null',
  '__proto__,constructor\n1,2\n',
  ',\n1,2\n',
  '\ufeff',
  'a\n"x"y\n',
];

function bodyOf(
  operation: Operation,
  document: OpenApiDocument,
  known: KnownIds,
): fc.Arbitrary<{ body: string | undefined; contentType: string }> {
  const content = Object.entries(operation.requestBody?.content ?? {})[0];
  if (!content) return fc.constant({ body: undefined, contentType: 'application/json' });
  const [type, { schema }] = content;
  const value = aroundValue(schema, document, known, '', 0);
  const asJson = value.map((one) => ({ body: toText(one), contentType: 'application/json' }));
  const wrong = fc.oneof(
    fc
      .tuple(fc.constantFrom(...brokenJson), fc.constantFrom(...otherTypes))
      .map(([body, contentType]) => ({ body, contentType })),
    fc.tuple(value, fc.constantFrom(...otherTypes)).map(([one, contentType]) => ({ body: toText(one), contentType })),
    strangeValue.map((one) => ({ body: toText(one), contentType: type })),
    fc.constant({ body: undefined, contentType: type }),
  );
  if (type === 'multipart/form-data') {
    const fields = fittingValue(schema, document, known, '', 0) as fc.Arbitrary<Json>;
    const form = fc.tuple(fields, fc.constantFrom(undefined, ...files)).map(([given, file]) => ({
      body: formOf({ ...given, file }),
      contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    }));
    return fc.oneof({ weight: 5, arbitrary: form }, { weight: 1, arbitrary: wrong });
  }
  if (type === 'application/x-www-form-urlencoded') {
    const fields = fittingValue(schema, document, known, '', 0) as fc.Arbitrary<Json>;
    const form = fields.map((given) => ({
      body: Object.entries(given)
        .map(([name, one]) => `${encoded(name)}=${encoded(parameterText(one))}`)
        .join('&'),
      contentType: type,
    }));
    return fc.oneof({ weight: 3, arbitrary: form }, { weight: 1, arbitrary: wrong });
  }
  return fc.oneof({ weight: 8, arbitrary: asJson }, { weight: 1, arbitrary: wrong });
}

/**
 * Requests of one operation of the OpenAPI document that are right in most places and hostile in some. Requests that would delete what `known`
 * names are left out: the last id of a DELETE is always strange.
 */
export function hostileRequests(
  document: OpenApiDocument,
  method: string,
  template: string,
  known: KnownIds,
): fc.Arbitrary<HostileRequest> {
  const operation = document.paths[template]?.[method] as Operation;
  const ids = template.endsWith('bulk_delete') ? {} : known;
  return fc
    .tuple(pathOf(template, operation, document, known, method === 'delete'), bodyOf(operation, document, ids))
    .map(([path, { body, contentType }]) => ({
      method: method.toUpperCase(),
      path,
      headers: { 'content-type': contentType },
      body: body?.toWellFormed(),
    }));
}
