import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { VERSION } from '../../shared/config/version.ts';
import { documentedAs, StandardError } from '../../shared/wire/common.ts';
import { answersOf, JSON_TYPE } from './answers.ts';
import type { Endpoint } from './route.ts';

type Json = Record<string, unknown>;

const securitySchemes = (apiKeyHeaders: readonly string[]) => ({
  ...Object.fromEntries(
    apiKeyHeaders.map((name, index) => [
      ['ClassicAPIKeyHeader', 'APIKeyHeader'][index] ?? `APIKeyHeader${index + 1}`,
      { type: 'apiKey', in: 'header', name },
    ]),
  ),
  OAuth2PasswordBearer: { type: 'oauth2', flows: { password: { tokenUrl: '/login', scopes: {} } } },
  HTTPBasic: { type: 'http', scheme: 'basic' },
});

/** The versions of OpenAPI in which the interface is described, each with the dialect of JSON Schema that it takes. */
const dialects = { '3.1.0': 'draft-2020-12', '3.0.4': 'openapi-3.0' } as const;

export type OpenapiVersion = keyof typeof dialects;

/** The OpenAPI document of `endpoints`, generated from the schemas that validate their requests and replies. Paths carry `/v2`. */
export function openapiDocument(
  endpoints: readonly Endpoint[],
  apiKeyHeaders: readonly string[],
  version: OpenapiVersion,
  below = '',
): Json {
  const schemes = securitySchemes(apiKeyHeaders);
  const components = new Components(dialects[version]);
  const paths: Record<string, Json> = {};
  const operationIds = new Set<string>();
  for (const route of endpoints) {
    const path = `/v2${route.path}`;
    paths[path] = { ...paths[path], [route.method]: operation(route, components, Object.keys(schemes), operationIds) };
  }
  components.of(HttpValidationError, 'output');
  components.of(ErrorBody, 'output');
  return components.complete({
    openapi: version,
    info: { title: 'Assay', version: VERSION, description: 'Observability and evaluation of generative-AI applications.' },
    ...(below === '' ? {} : { servers: [{ url: below }] }),
    paths,
    components: { securitySchemes: schemes },
  });
}

const HttpValidationError = z
  .object({
    detail: z.array(
      z
        .object({
          loc: z.array(z.union([z.string(), z.int()])),
          msg: z.string(),
          type: z.string(),
          input: z.unknown().optional(),
          ctx: z.record(z.string(), z.unknown()).optional(),
        })
        .meta({ id: 'ValidationError' }),
    ),
    error_code: z.int().optional(),
    standard_error: StandardError.optional(),
  })
  .meta({ id: 'HTTPValidationError' });

const ErrorBody = z
  .object({ detail: z.string(), error_code: z.int().optional(), standard_error: StandardError.optional() })
  .meta({ id: 'Error' });

const contentTypes = {
  json: 'application/json',
  records: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  bytes: 'application/octet-stream',
};

/** Describes each status, whatever the route. */
const meanings: Readonly<Record<number, string>> = {
  200: 'Success',
  202: 'Begun; it goes on behind the answer',
  204: 'Done',
  400: 'The request cannot be read',
  401: 'No valid credentials',
  403: 'Not allowed',
  404: 'Not found',
  408: 'The body did not come in time',
  409: 'In conflict with what is there, such as a name that is taken',
  412: 'Changed since it was read',
  413: 'The body is too large',
  415: 'The body has an encoding or a type that is not read here',
  421: "For another host than this service's `PUBLIC_URL`",
  422: 'Validation error',
  424: 'A service that an integration names could not be reached, or refused',
  429: 'Too much at a time; `Retry-After` says when to try again',
  431: 'The request line and the headers are too long',
  500: 'A fault of the service',
  503: 'Not available now; `Retry-After` says when to try again',
};

const binary = { type: 'string', format: 'binary' };

/** Bodies that their media type describes, whatever the route. */
const bodies: Readonly<Record<string, Json>> = {
  'application/x-protobuf': binary,
  'application/vnd.apache.parquet': binary,
  'application/x-ndjson': { type: 'string' },
  'text/csv': { type: 'string' },
};

/** The schema of a body that no schema of the route describes: a file, or the message of another protocol that is called `message`. */
function bodySchema(type: string, message: string | undefined): Json | undefined {
  const schema = bodies[type] ?? (message === undefined ? undefined : { type: 'object' });
  return schema && message !== undefined ? { ...schema, description: `A message \`${message}\`` } : schema;
}

/** Two spellings of one path (`recompute-metrics`, `recompute_metrics`) would have the same id. */
function operationId({ method, path }: Endpoint, taken: Set<string>): string {
  const plain = `${method}_${path.replaceAll(/[^a-z0-9]+/gi, '_').replaceAll(/^_|_$/g, '')}`;
  let id = plain;
  for (let n = 2; taken.has(id); n++) id = `${plain}_${n}`;
  taken.add(id);
  return id;
}

function operation(route: Endpoint, components: Components, schemes: string[], operationIds: Set<string>): Json {
  const { messages } = route;
  const schemaOf = (status: number, type: string): unknown => {
    if (status === 200 || status === 202)
      return bodySchema(type, messages?.reply) ?? (route.response ? components.of(route.response, 'output') : {});
    // In JSON, what such an error adds stands beside what the errors of all routes have.
    const ofAll = { $ref: `${COMPONENTS}${status === 422 ? 'HTTPValidationError' : 'Error'}@output` };
    return type === JSON_TYPE ? ofAll : bodySchema(type, messages?.error);
  };
  const responses = [...answersOf(route)].map(([status, types]) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: schemaOf(status, type) }]));
    return [String(status), { description: meanings[status], ...(types.length > 0 ? { content } : {}) }];
  });
  return {
    operationId: operationId(route, operationIds),
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...(route.access === 'public' ? {} : { security: schemes.map((name) => ({ [name]: [] })) }),
    parameters: [...parameters(route.params, 'path', components), ...parameters(route.query, 'query', components)],
    ...(route.body
      ? {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: Object.fromEntries(
              (route.consumes ?? [contentTypes[route.bodyKind ?? 'json']]).map((type) => [
                type,
                { schema: bodySchema(type, messages?.request) ?? components.of(route.body as z.ZodType, 'input') },
              ]),
            ),
          },
        }
      : {}),
    responses: Object.fromEntries(responses),
  };
}

function parameters(schema: z.ZodType | undefined, where: 'path' | 'query', components: Components): Json[] {
  if (!schema) return [];
  const object = components.of(schema, 'input') as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(object.properties ?? {}).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || (object.required ?? []).includes(name),
    schema: property,
  }));
}

type Direction = 'input' | 'output';

const COMPONENTS = '#/components/schemas/';

/**
 * Collects the schemas that carry an id (`.meta({ id })`), so that each stands once in the document. While it is made, a reference names the
 * direction too: what callers may send and what the service sends differ where a key has a default.
 */
class Components {
  readonly #found = new Map<string, Json>();
  readonly #dialect: (typeof dialects)[OpenapiVersion];

  constructor(dialect: (typeof dialects)[OpenapiVersion]) {
    this.#dialect = dialect;
  }

  /** JSON Schema of `schema`; `input` as callers may send it, `output` as the service sends it. */
  of(schema: z.ZodType, io: Direction): unknown {
    const {
      $schema: _,
      $defs,
      definitions = $defs,
      ...rest
    } = z.toJSONSchema(schema, {
      target: this.#dialect,
      io,
      unrepresentable: 'any',
      reused: 'inline',
      cycles: 'ref',
      override: ({ zodSchema, jsonSchema }) => this.#describe(zodSchema, jsonSchema as Json, io),
    }) as Json & { $defs?: Record<string, Json>; definitions?: Record<string, Json> };
    const withDirection = (reference: string) => reference.replace(/^#\/(?:\$defs|definitions)\/(.*)$/, `${COMPONENTS}$1@${io}`);
    for (const [name, definition] of Object.entries(definitions ?? {})) {
      this.#add(name, io, relinked(definition, withDirection) as Json);
    }
    return relinked(rest, withDirection);
  }

  #describe(schema: unknown, json: Json, io: Direction): void {
    const instead = documentedAs.get(schema as z.ZodType);
    if (instead) {
      for (const key of Object.keys(json)) delete json[key];
      Object.assign(json, this.of(instead, io));
      return;
    }
    // Callers must take keys of an answer that they do not know.
    if (io === 'output' && json.additionalProperties === false) delete json.additionalProperties;
    if (this.#dialect === 'openapi-3.0') keepKnownTo30(json);
    if (schema instanceof z.ZodDiscriminatedUnion) json.discriminator = { propertyName: schema.def.discriminator };
  }

  #add(name: string, io: Direction, schema: Json): void {
    const key = `${name}@${io}`;
    const known = this.#found.get(key);
    // A recursive schema without an id is named `__schema0` by zod, whichever it is.
    if (name.startsWith('__') || (known && !isDeepStrictEqual(known, schema)))
      throw new Error(
        `the OpenAPI document needs a name of its own for each schema: ${name} stands for two, or has no \`.meta({ id })\``,
      );
    this.#found.set(key, schema);
  }

  /** The document with the schemas that it refers to: one for both directions where they are alike, else the sent form is `…Input`. */
  complete(document: Json & { components: Json }): Json {
    const apart = this.#apart();
    const named = (key: string) => (apart.has(nameOf(key)) && key.endsWith('@input') ? `${nameOf(key)}Input` : nameOf(key));
    const link = (reference: string) =>
      reference.startsWith(COMPONENTS) ? `${COMPONENTS}${named(reference.slice(COMPONENTS.length))}` : reference;
    const schemas: Record<string, Json> = {};
    for (const [key, schema] of this.#found) schemas[named(key)] = relinked(schema, link) as Json;
    const whole = { ...(relinked(document, link) as Json), components: { ...document.components, schemas } };
    return mapped(whole, schemas) as Json;
  }

  /** Names that mean different things in the two directions, be it only by what they refer to. */
  #apart(): Set<string> {
    const apart = new Set<string>();
    const both = [...this.#found.keys()].map(nameOf).filter((name, at, all) => all.indexOf(name) !== at);
    const merged = (reference: string) => (apart.has(nameOf(reference).slice(COMPONENTS.length)) ? reference : nameOf(reference));
    for (let before = -1; before !== apart.size; ) {
      before = apart.size;
      for (const name of both) {
        const [sent, answered] = (['input', 'output'] as const).map((io) => relinked(this.#found.get(`${name}@${io}`), merged));
        if (!isDeepStrictEqual(sent, answered)) apart.add(name);
      }
    }
    return apart;
  }
}

/** OpenAPI 3.0 has one example a schema, and its `format: binary` says what `contentEncoding` does. */
function keepKnownTo30(json: Json): void {
  const { examples } = json;
  delete json.examples;
  delete json.contentEncoding;
  if (Array.isArray(examples)) [json.example] = examples;
}

const nameOf = (key: string): string => key.replace(/@(input|output)$/, '');

/** `value` with every reference in it renamed. */
function relinked(value: unknown, rename: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => relinked(item, rename));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string' ? [key, rename(inner)] : [key, relinked(inner, rename)],
    ),
  );
}

/** `value` with the discriminators in it completed: which value leads to which schema. One without named members says nothing and goes. */
function mapped(value: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { discriminator, ...rest } = value as { discriminator?: { propertyName?: unknown }; oneOf?: Json[] };
  const json = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, mapped(inner, schemas)]));
  if (typeof discriminator?.propertyName !== 'string') return discriminator === undefined ? json : { ...json, discriminator };
  const name = discriminator.propertyName;
  const members = (rest.oneOf ?? []).map(({ $ref }) => {
    const properties = schemas[String($ref).slice(COMPONENTS.length)]?.properties as Record<string, Json> | undefined;
    const tag = properties?.[name] as { const?: unknown; enum?: unknown[] } | undefined;
    return [tag?.const ?? (tag?.enum?.length === 1 ? tag.enum[0] : undefined), $ref] as const;
  });
  if (members.some(([tag]) => typeof tag !== 'string')) return json;
  return { ...json, discriminator: { propertyName: name, mapping: Object.fromEntries(members) } };
}
