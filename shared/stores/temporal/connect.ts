import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { Client, Connection, type ConnectionOptions, isGrpcServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Config } from '../../config/config.ts';
import { ServiceError } from '../../errors/errors.ts';
import { type SearchAttribute, searchAttributes } from '../../experiments/workflow.ts';

export interface TemporalAddress {
  /** `host:port` */
  address: string;
  /** Temporal Cloud's API key; TLS is on with it unless `tls` says otherwise. */
  apiKey?: string | undefined;
  tls?: ConnectionOptions['tls'];
}

/**
 * Where the configured server is and how to speak to it; undefined without `TEMPORAL_ADDRESS`. The files of TLS are read now.
 * @throws Error with one sentence when they are no certificates and key that belong together
 */
export function temporalAddress(config: TemporalSettings): TemporalAddress | undefined {
  if (!config.TEMPORAL_ADDRESS) return undefined;
  return { address: config.TEMPORAL_ADDRESS, apiKey: config.TEMPORAL_API_KEY, tls: tlsOf(config) };
}

type TemporalSettings = Pick<
  Config,
  | 'TEMPORAL_ADDRESS'
  | 'TEMPORAL_API_KEY'
  | 'TEMPORAL_TLS'
  | 'TEMPORAL_TLS_CA'
  | 'TEMPORAL_TLS_CERT'
  | 'TEMPORAL_TLS_KEY'
  | 'TEMPORAL_TLS_SERVER_NAME'
>;

function tlsOf(config: TemporalSettings): TemporalAddress['tls'] {
  const { TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY, TEMPORAL_TLS_SERVER_NAME } = config;
  const [ca, cert, key] = [TEMPORAL_TLS_CA, TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY].map((path) => path && readFileSync(path));
  if (!ca && !cert && !TEMPORAL_TLS_SERVER_NAME) return config.TEMPORAL_TLS && config.TEMPORAL_TLS === 'true';
  try {
    createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
  } catch (cause) {
    const given = [ca && 'TEMPORAL_TLS_CA', cert && 'TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY'].filter(Boolean).join(', ');
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`wrong settings: ${given} must be PEM files, the key that of the certificate (${reason})`, { cause });
  }
  return {
    ...(TEMPORAL_TLS_SERVER_NAME && { serverNameOverride: TEMPORAL_TLS_SERVER_NAME }),
    ...(ca && { serverRootCACertificate: ca }),
    ...(cert && key && { clientCertPair: { crt: cert, key } }),
  };
}

/** How long an address may be silent, or refuse us while its server starts. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Without it the SDK tries for many seconds. */
const PING_TIMEOUT_MS = 1_500;

/** `IndexedValueType` of temporal.api.enums.v1. */
const indexedValueTypes = { Keyword: 2, Int: 3, Double: 4 } as const;

/** gRPC status codes: https://grpc.io/docs/guides/status-codes/ */
const GRPC_INVALID_ARGUMENT = 3;
const GRPC_NOT_FOUND = 5;
const GRPC_ALREADY_EXISTS = 6;
const GRPC_PERMISSION_DENIED = 7;
const GRPC_UNIMPLEMENTED = 12;
const GRPC_UNAUTHENTICATED = 16;

/**
 * Connects what starts and asks about workflows. The caller closes `connection`.
 * @throws ServiceError `Unavailable` when no Temporal server answers there, or it does not know the namespace.
 */
export async function connectTemporal(
  options: TemporalAddress & { namespace: string; connectTimeoutMs?: number },
): Promise<{ connection: Connection; client: Client }> {
  const { namespace, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const connection = Connection.lazy({ ...sdkOptions(options), connectTimeout: connectTimeoutMs });
  try {
    await connection.ensureConnected();
    await connection.workflowService.describeNamespace({ namespace });
  } catch (err) {
    if (!hasGrpcCode(err, GRPC_PERMISSION_DENIED)) {
      await connection.close();
      throw refusal(options, namespace, err);
    } // a key may start workflows without the right to describe their namespace
  }
  return { connection, client: new Client({ connection, namespace: options.namespace }) };
}

/** @throws when the server does not answer for the namespace in time. */
export async function pingTemporal(connection: Connection, namespace: string): Promise<void> {
  await connection.withDeadline(Date.now() + PING_TIMEOUT_MS, () => connection.workflowService.describeNamespace({ namespace }));
}

/** The id of a namespace, which another server gives to none of its own; undefined where we may not know. */
export async function namespaceId(connection: Connection, namespace: string): Promise<string | undefined> {
  try {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    return namespaceInfo?.id ?? undefined;
  } catch (err) {
    if (hasGrpcCode(err, GRPC_PERMISSION_DENIED, GRPC_UNIMPLEMENTED)) return undefined;
    throw err;
  }
}

/**
 * Connects what a worker polls through. The caller closes it after its workers have ended.
 * @throws ServiceError `Unavailable` when no Temporal server answers there.
 */
export async function connectTemporalWorker(options: TemporalAddress): Promise<NativeConnection> {
  return NativeConnection.connect(sdkOptions(options)).catch((cause) => {
    throw noAnswer(options, cause);
  });
}

/**
 * Registers our search attributes in a namespace that others administer. Gives the names that are missing afterwards, because we may not
 * add them there (Temporal Cloud, for one, has them added in its own console): a workflow that sets one of those would be refused.
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<SearchAttribute[]> {
  const before = await missingSearchAttributes(connection, namespace);
  if (before.length === 0) return [];

  // One by one: a server that has no room left for one type has it for the others.
  for (const name of before) {
    const wanted = { [name]: indexedValueTypes[searchAttributes[name]] };
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: wanted }).catch((err: unknown) => {
      // Another process of ours may have been quicker; a server may forbid it, have no room for it or not offer it.
      if (!hasGrpcCode(err, GRPC_ALREADY_EXISTS, GRPC_PERMISSION_DENIED, GRPC_INVALID_ARGUMENT, GRPC_UNIMPLEMENTED)) throw err;
    });
  }
  return missingSearchAttributes(connection, namespace);
}

async function missingSearchAttributes(connection: Connection, namespace: string): Promise<SearchAttribute[]> {
  const wanted = Object.keys(searchAttributes) as SearchAttribute[];
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return wanted.filter((name) => customAttributes[name] !== indexedValueTypes[searchAttributes[name]]);
  } catch (err) {
    if (hasGrpcCode(err, GRPC_PERMISSION_DENIED, GRPC_UNIMPLEMENTED)) return wanted;
    throw err;
  }
}

/** True when the server forbids the request, or does not implement it. */
export const isRefusedByTemporal = (err: unknown): boolean =>
  [err, err instanceof Error ? err.cause : undefined].some((one) => hasGrpcCode(one, GRPC_PERMISSION_DENIED, GRPC_UNIMPLEMENTED));

function hasGrpcCode(err: unknown, ...codes: number[]): boolean {
  return isGrpcServiceError(err) && codes.includes(err.code);
}

function sdkOptions({ address, apiKey, tls }: TemporalAddress) {
  return { address, ...(apiKey !== undefined && { apiKey }), ...(tls !== undefined && { tls }) };
}

function refusal(at: TemporalAddress, namespace: string, err: unknown): ServiceError {
  const { address } = at;
  const inner = err instanceof Error ? err.cause : undefined; // the SDK wraps what it meets while connecting
  if (hasGrpcCode(err, GRPC_NOT_FOUND)) {
    const message = `the Temporal server at ${address} has no namespace ${namespace}: create it there, or set TEMPORAL_NAMESPACE to one it has`;
    return new ServiceError('Unavailable', message, { cause: err });
  }
  if (hasGrpcCode(err, GRPC_UNAUTHENTICATED) || hasGrpcCode(inner, GRPC_UNAUTHENTICATED, GRPC_PERMISSION_DENIED)) {
    return new ServiceError('Unavailable', `the Temporal server at ${address} refuses us: check TEMPORAL_API_KEY`, {
      cause: err,
    });
  }
  return noAnswer(at, err);
}

function noAnswer({ address, tls }: TemporalAddress, cause: unknown): ServiceError {
  const message = tls
    ? `no Temporal server answers at ${address} with TLS: correct TEMPORAL_ADDRESS or the TEMPORAL_TLS settings`
    : `no Temporal server answers at ${address}: start one there, or set TEMPORAL_ADDRESS to one that runs`;
  return new ServiceError('Unavailable', message, { cause });
}
