import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
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

/** The OpenAPI 3.1 document of `endpoints`, generated from the schemas that validate their requests and replies. Paths carry `/v2`. */
export function openapiDocument(endpoints: readonly Endpoint[], apiKeyHeaders: readonly string[]): Json {
  const schemes = securitySchemes(apiKeyHeaders);
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of endpoints) {
    const path = `/v2${route.path}`;
    paths[path] = { ...paths[path], [route.method]: operation(route, components, Object.keys(schemes)) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Assay', version: '0.1.0', description: 'Observability and evaluation of generative-AI applications.' },
    paths,
    components: {
      securitySchemes: schemes,
      schemas: {
        ...components.schemas,
        HTTPValidationError: components.of(HttpValidationError, 'output') as Json,
        Error: components.of(ErrorBody, 'output') as Json,
      },
    },
  };
}

const HttpValidationError = z.object({
  detail: z.array(
    z.object({
      loc: z.array(z.union([z.string(), z.int()])),
      msg: z.string(),
      type: z.string(),
      input: z.unknown().optional(),
      ctx: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

const ErrorBody = z.object({
  detail: z.string(),
  error_code: z.int().optional(),
  standard_error: z.record(z.string(), z.unknown()).optional(),
});

const contentTypes = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  bytes: 'application/octet-stream',
};

function operation(route: Endpoint, components: Components, schemes: string[]): Json {
  const reference = (name: string, description: string) => ({
    description,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
  });
  const status = String(route.status ?? 200);
  const success =
    status === '204'
      ? { description: 'Done' }
      : {
          description: 'Success',
          content: Object.fromEntries(
            (route.produces ?? ['application/json']).map((type) => [
              type,
              { schema: route.response ? components.of(route.response, 'output') : {} },
            ]),
          ),
        };
  return {
    operationId: `${route.method}_${route.path.replaceAll(/[^a-z0-9]+/gi, '_').replaceAll(/^_|_$/g, '')}`,
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...(route.access === 'public' ? {} : { security: schemes.map((name) => ({ [name]: [] })) }),
    parameters: [...parameters(route.params, 'path', components), ...parameters(route.query, 'query', components)],
    ...(route.body
      ? {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: { [contentTypes[route.bodyKind ?? 'json']]: { schema: components.of(route.body, 'input') } },
          },
        }
      : {}),
    responses: {
      [status]: success,
      '422': reference('HTTPValidationError', 'Validation error'),
      ...(route.access === 'public'
        ? {}
        : { '401': reference('Error', 'No valid credentials'), '403': reference('Error', 'Not allowed') }),
      ...(route.path.includes('{') ? { '404': reference('Error', 'Not found') } : {}),
    },
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

/** Collects the schemas that carry an id (`.meta({ id })`), so that each stands once in the document. */
class Components {
  readonly schemas: Record<string, Json> = {};

  /** JSON Schema of `schema`; `input` as callers may send it, `output` as the service sends it. */
  of(schema: z.ZodType, io: 'input' | 'output'): unknown {
    const {
      $defs,
      $schema: _,
      ...rest
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline', cycles: 'ref' }) as Json & {
      $defs?: Record<string, Json>;
    };
    const names = new Map<string, string>();
    for (const name of Object.keys($defs ?? {}))
      names.set(`#/$defs/${name}`, io === 'input' && !name.endsWith('Request') ? `${name}Input` : name);
    for (const [name, definition] of Object.entries($defs ?? {})) {
      this.add(names.get(`#/$defs/${name}`) as string, relink(definition, names) as Json);
    }
    return relink(rest, names);
  }

  private add(name: string, schema: Json): void {
    const known = this.schemas[name];
    // A recursive schema without an id is named `__schema0` by zod, whichever it is.
    if (name.startsWith('__') || (known && !isDeepStrictEqual(known, schema)))
      throw new Error(
        `the OpenAPI document needs a name of its own for each schema: ${name} stands for two, or has no \`.meta({ id })\``,
      );
    this.schemas[name] = schema;
  }
}

function relink(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => relink(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string' && names.has(inner)
        ? [key, `#/components/schemas/${names.get(inner)}`]
        : [key, relink(inner, names)],
    ),
  );
}
