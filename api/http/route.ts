import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { AssetAction, Caller, KeyRole, OrganizationNeed, ProjectAction } from '../../shared/accounts/permissions.ts';
import type { AssetKind } from '../../shared/assets/assetAccess.ts';
import { onBehalfOf } from '../../shared/concurrency/currentCaller.ts';
import { freeTurn } from '../../shared/concurrency/freeTurn.ts';
import { whilePresent } from '../../shared/concurrency/presentCallers.ts';
import { type ErrorName, RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { parseJson } from '../../shared/json/parseJson.ts';
import { checkAnswer } from './answers.ts';
import { type BodyBounds, openBodyShare } from './bodyBounds.ts';
import { jsonInPieces } from './jsonInPieces.ts';
import { parsePart } from './parsePart.ts';
import type { RequestParts } from './pathInRequest.ts';
import { type BodyKind, readBody } from './readBody.ts';
import { FormReader } from './readForm.ts';
import { isStrict } from './unknownKeys.ts';

/** The permission that a route needs. `public` routes are the only ones that answer without credentials. */
export type Access =
  | 'public'
  | 'signedIn'
  | { organization: OrganizationNeed }
  | { project: ProjectAction | 'read' | 'find' }
  | AssetNeed;

/** The permission that a route needs on the one dataset, prompt, scorer or integration that its path names. */
interface AssetNeed {
  asset: AssetKind;
  action: AssetAction;
  /** Finds the id where the path has a name instead. */
  idOf?(params: Record<string, string>): Promise<string | undefined>;
  /** The permission needed when nothing has the name yet. A key that is limited to a project needs it in any case. */
  orElse?: OrganizationNeed;
}

/** The parameter of a path that holds the id of such a thing. */
export const assetParameter: Record<AssetKind, string> = {
  dataset: 'dataset_id',
  prompt: 'template_id',
  scorer: 'scorer_id',
  integration: 'integration_id',
};

/** The project of the path, as routes need it. */
export interface ProjectInPath {
  id: string;
  name: string;
  /** The caller's role there. */
  role: KeyRole;
}

/** Decides who calls and what they may do: implemented over the accounts, the one place where roles are checked. */
export interface Gate {
  /**
   * @param projectId the project that the request is about, which is read together with the caller
   * @throws ServiceError `Unauthenticated`
   */
  authenticate(request: IncomingMessage, projectId?: string): Promise<Caller>;
  /**
   * @param id of the project, or of the thing of another kind, that `access` speaks of
   * @throws ServiceError `Forbidden`, or `NotFound` for one that is unknown or not visible to the caller.
   */
  authorize(caller: Caller, access: Access, id: string | undefined): Promise<ProjectInPath | undefined>;
}

export interface HandleInput<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** Undefined only on public routes. */
  caller: Caller;
  /** Set when `access` names a project. */
  project: ProjectInPath;
  request: Request;
  /** Aborts when the caller hangs up. */
  signal: AbortSignal;
}

type Parts = AsyncGenerator<string | Uint8Array, void>;

/** A reply that is more than a JSON value: bytes or a file, or one with headers of its own. */
export class Reply {
  readonly body: unknown;
  readonly headers: Record<string, string | string[]>;
  /** Parts of a file, made while they are sent. Ended when the caller leaves. */
  readonly stream: Parts | undefined;
  constructor(options: { body?: unknown; headers?: Record<string, string | string[]>; stream?: Parts }) {
    this.body = options.body;
    this.headers = options.headers ?? {};
    this.stream = options.stream;
  }
}

/** Why work for a caller ends that has closed the connection. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

/** An error in the form of another protocol; undefined where it takes that of all routes. */
export type ErrorForm = (request: IncomingMessage, status: number, body: { detail: unknown }) => Reply | undefined;

export interface Endpoint {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Without the `/v2` prefix, parameters in braces: `/projects/{project_id}/traces`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  access: Access;
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  bodyKind?: BodyKind;
  /** Parts of a form that may come several times. */
  listParts?: readonly string[];
  /** Largest accepted body in bytes, after decompression. */
  bodyLimit?: number;
  /** Logs records: they wait while the store is busy, so that small requests count as well among what all bodies may hold. */
  isIngest?: boolean;
  /** Answers when something happens, or sends a file of any size: however long that takes, the request is not named as slow. */
  waits?: true;
  /**
   * Asked before the body is read, on routes whose path does not name the project: the id of the one that a header names, if any.
   * @throws what the caller gets instead
   */
  admit?(caller: Caller, request: IncomingMessage): Promise<string | undefined>;
  response?: z.ZodType;
  /** Media types of the body, where they are not that of its kind. */
  consumes?: readonly string[];
  /** Media types of the reply where it is not JSON alone. */
  produces?: readonly string[];
  /** Where bodies are messages of another protocol: their names, that of an error included. */
  messages?: { request: string; reply: string; error: string };
  /** 202: what was asked for is begun and goes on behind the answer. */
  status?: 200 | 202 | 204;
  /** Errors that do not follow from this declaration, such as `Conflict` for a name that is taken. */
  errors?: readonly ErrorName[];
  errorForm?: ErrorForm;
  handle(input: HandleInput<never, never, never>): Promise<unknown>;
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined;

/** Declares one route. Types of `params`, `query` and `body` follow from their schemas, the reply's from `response`. */
export function endpoint<
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType | undefined = undefined,
>(
  declaration: Omit<Endpoint, 'params' | 'query' | 'body' | 'response' | 'handle'> & {
    params?: P;
    query?: Q;
    body?: B;
    response?: R;
    handle(input: HandleInput<Parsed<P>, Parsed<Q>, Parsed<B>>): Promise<(R extends z.ZodType ? z.input<R> : unknown) | Reply>;
  },
): Endpoint {
  return declaration as unknown as Endpoint;
}

const DEFAULT_BODY_LIMIT = 16 * 1024 * 1024;
/** JSON values of such a body: checking them takes up to 15 microseconds each, in one turn of the event loop. Routes for rows and records take more. */
const DEFAULT_BODY_VALUES = 250_000;

/**
 * Mounts routes: the only place that parses a request and writes a reply. Order: who calls, the path, may they, the query, the body; so the service
 * reads no body of a caller without the right to send it.
 * @param checkReplies fail on a reply that does not fit its schema, and on a status or media type that the route does not declare (tests); off in
 * service, where the types have been checked.
 */
export function mount(endpoints: readonly Endpoint[], gate: Gate, bodies: BodyBounds, checkReplies: boolean): Router {
  const router = Router();
  for (const route of endpoints) {
    router[route.method](route.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (request: Request, response: Response) => {
      try {
        await run(route, { gate, bodies, checkReplies }, request, response);
      } catch (err) {
        if (checkReplies) checkAnswer(route, statusOf(err), undefined);
        throw err;
      }
    });
  }
  return router;
}

const statusOf = (err: unknown): number => (err instanceof RequestInvalid ? 422 : err instanceof ServiceError ? err.status : 500);

const projectIn = ({ project_id: id }: Request['params']) => (typeof id === 'string' ? id : undefined);

interface Around {
  gate: Gate;
  bodies: BodyBounds;
  checkReplies: boolean;
}

async function run(route: Endpoint, around: Around, request: Request, response: Response): Promise<void> {
  const aborted = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) aborted.abort(new CallerLeft('the caller hung up'));
  });
  response.locals.endpoint = route;
  response.locals.errorForm = route.errorForm;
  const caller = route.access === 'public' ? undefined : await around.gate.authenticate(request, projectIn(request.params));
  const answer = () => onBehalfOf(caller?.userId, () => answered(route, around, caller, request, response, aborted.signal));
  // A request that waits for an event uses nothing meanwhile, so its caller does not count as present.
  await (caller && !route.waits ? whilePresent(caller.userId, answer) : answer());
}

async function answered(
  route: Endpoint,
  { gate, bodies, checkReplies }: Around,
  caller: Caller | undefined,
  request: Request,
  response: Response,
  signal: AbortSignal,
): Promise<void> {
  const params = route.params ? parsePart(route.params, request.params, 'path') : undefined;
  const project = caller ? await authorized(route.access, gate, caller, params as Record<string, string> | undefined) : undefined;
  const query = parsedQuery(route, request);
  const admitted = caller && (await route.admit?.(caller, request));
  const kind = route.bodyKind ?? 'json';
  await using form = kind === 'multipart' ? new FormReader(request.headers['content-type'] ?? '', route.listParts) : undefined;
  const shares = kind === 'multipart' ? bodies.disk : bodies.memory;
  const share =
    caller &&
    route.body &&
    openBodyShare(shares, {
      caller,
      projectId: project?.id ?? admitted,
      isIngest: route.isIngest ?? false,
      announced: Number(request.headers['content-length'] ?? 0),
    });
  try {
    const limit = Math.min(route.bodyLimit ?? DEFAULT_BODY_LIMIT, shares.largestRequest);
    const values = route.bodyLimit === undefined ? { values: DEFAULT_BODY_VALUES } : {};
    const read = route.body && (await readBody(request, kind, { limit, ...values, share, pace: bodies.pace, form }));
    response.locals.parts = partsToName(route, request, read?.value);
    const body = route.body ? parsePart(route.body, read?.value, 'body') : undefined;
    if (read?.isLong) await freeTurn();
    const result = await route.handle({ params, query, body, caller, project, request, signal } as never);
    await write(route, checkReplies, response, result instanceof Reply ? result : new Reply({ body: result }));
  } finally {
    share?.release();
  }
}

async function authorized(access: Access, gate: Gate, caller: Caller, params: Record<string, string> = {}) {
  if (typeof access === 'string' || !('asset' in access)) return gate.authorize(caller, access, params.project_id);
  const id = access.idOf ? await access.idOf(params) : params[assetParameter[access.asset]];
  if (access.orElse && (id === undefined || caller.projectKey))
    await gate.authorize(caller, { organization: access.orElse }, undefined);
  // To a key limited to a project, what is not there and what it does not see are the same.
  if (id === undefined && !caller.projectKey) return undefined;
  return gate.authorize(caller, access, id);
}

/** A body that takes no keys but its own, as those of routes beside the interface, goes with a query that takes none. */
function parsedQuery({ query, body }: Endpoint, request: Request): unknown {
  if (query) return parsePart(query, withoutPath(request), 'query');
  if (body && isStrict(body)) parsePart(NO_QUERY, withoutPath(request), 'query', body);
  return undefined;
}

const NO_QUERY = z.strictObject({});

/** Published clients repeat the parameters of the path in the query. */
const withoutPath = ({ query, params }: Request): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).filter(([key]) => !(key in params)));

/** Bytes of a body that is kept as it came while its request is handled, only to name places in it. */
const NAMED_BODY_BYTES = 1024 * 1024;

/** Returns the parts of a request that an error may name. A large or compressed body is left out: it would be held twice. */
function partsToName(route: Endpoint, request: Request, given: unknown): RequestParts {
  const isSmall = Number(request.headers['content-length']) <= NAMED_BODY_BYTES && !request.headers['content-encoding'];
  return {
    ...(route.body ? { body: isSmall && !(given instanceof Buffer) ? given : undefined } : {}),
    ...(route.query ? { query: request.query } : {}),
    path: request.params,
  };
}

async function write(route: Endpoint, checkReplies: boolean, response: Response, reply: Reply): Promise<void> {
  const type = Object.entries(reply.headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (checkReplies && type !== undefined) checkAnswer(route, route.status ?? 200, String(type));
  if (reply.stream) {
    await sendParts(reply.stream, response, reply);
    return;
  }
  setHeaders(response, reply);
  if (Buffer.isBuffer(reply.body)) {
    response.status(200).send(reply.body);
    return;
  }
  if (route.status === 204) {
    response.status(204).end();
    return;
  }
  if (checkReplies && route.response) {
    const checked = route.response.safeParse(parseJson(JSON.stringify(reply.body ?? null)));
    if (!checked.success)
      throw new Error(`reply of ${route.method} ${route.path} does not fit its schema: ${checked.error.message}`);
  }
  const pieces = await jsonInPieces(reply.body ?? null);
  if (!response.hasHeader('Content-Type')) response.type('json');
  response.status(route.status ?? 200).setHeader(
    'Content-Length',
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  for (const piece of pieces) response.write(piece);
  response.end();
}

/** Nothing is sent before the first part is there: what fails until then is answered as an error, not as a file that breaks off. */
async function sendParts(parts: Parts, response: Response, reply: Reply): Promise<void> {
  try {
    const first = await parts.next();
    const all = async function* () {
      if (first.done) return;
      yield first.value;
      yield* parts;
    };
    setHeaders(response, reply);
    await pipeline(Readable.from(all(), { objectMode: false }), response);
  } finally {
    // The stream ends only what it has begun to read: not the parts of a caller who left before.
    await parts.return();
  }
}

function setHeaders(response: Response, { headers }: Reply): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
