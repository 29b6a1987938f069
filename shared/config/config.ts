import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { isAddressRange, loopback } from './addressRanges.ts';
import { queueNames } from './taskQueues.ts';

const port = z
  .string()
  .regex(/^\d{1,5}$/, { error: 'must be a port number, 0 to 65535' })
  .transform(Number)
  .refine((number) => number <= 65_535, { error: 'must be a port number, 0 to 65535' });
/** Found out now, not by the first row that needs a file of it. */
const folder = z
  .string()
  .transform((path) => resolve(path))
  .refine((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory(), { error: 'must be a folder that exists' });
const file = z
  .string()
  .transform((path) => resolve(path))
  .refine((path) => statSync(path, { throwIfNoEntry: false })?.isFile(), { error: 'must be a file that exists' });
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const url = (protocols: string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: `must be a URL that starts with ${protocols.map((one) => `${one}//`).join(' or ')}`,
  });

/** A host, and a path below which a proxy has the service; in its shortest form, without a slash at the end. */
const publicAddress = url(['http:', 'https:'])
  .refine((text) => /^https?:\/\/[^/?#@]+(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/i.test(text), {
    error: 'must be http:// or https:// with a host, and at most a plain path behind it',
  })
  .transform((text) => {
    const { origin, pathname } = new URL(text);
    return origin + pathname.replace(/\/$/, '');
  });
const count = (least: number, most: number) => {
  const error = `must be a number, ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((number) => number >= least && number <= most, { error });
};

/** The kinds of task that a worker has slots and pollers for: workflow tasks, and the activities of each queue. */
const taskKinds = ['workflows', ...queueNames] as const;
export type TaskKind = (typeof taskKinds)[number];

/** `rows:50,scoring:20`. Workflow tasks need two: one of the queue, one of the workflows that a worker remembers. */
const perTaskKind = (most: number) => {
  const error = `must be pairs of name:number, comma separated, of ${taskKinds.join(', ')}, each 1 to ${most} (workflows: at least 2)`;
  return list.default([]).transform((pairs, context): Partial<Record<TaskKind, number>> => {
    const given: Partial<Record<TaskKind, number>> = {};
    for (const pair of pairs) {
      const [, name, digits] = /^(\w+):(\d{1,6})$/.exec(pair) ?? [];
      const kind = taskKinds.find((one) => one === name);
      const number = Number(digits);
      if (!kind || number < (kind === 'workflows' ? 2 : 1) || number > most || kind in given) {
        context.addIssue({ code: 'custom', message: error });
        return z.NEVER;
      }
      given[kind] = number;
    }
    return given;
  });
};

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Every setting of the service. docs/settings.md documents each; a test holds the two equal. */
const Config = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(8088),
  PUBLIC_URL: publicAddress.optional(),
  DATA_DIR: z
    .string()
    .default('.assay')
    .transform((path) => resolve(path)),
  CLICKHOUSE_URL: url(['http:', 'https:']).optional(),
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/]+:\d+$/, { error: 'must be host:port' })
    .optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: z.enum(['true', 'false'], { error: 'must be true or false' }).optional(),
  TEMPORAL_TLS_CA: file.optional(),
  TEMPORAL_TLS_CERT: file.optional(),
  TEMPORAL_TLS_KEY: file.optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_DEPLOYMENT_NAME: z
    .string()
    .regex(/^[^.:]{1,200}$/, { error: 'must be a name of at most 200 characters without dots and colons' })
    .optional(),
  TEMPORAL_BUILD_ID: z
    .string()
    .regex(/^.{1,200}$/, { error: 'must have at most 200 characters' })
    .optional(),
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  TEMPORAL_UI_URL: url(['http:', 'https:'])
    .transform((text) => text.replace(/\/+$/, ''))
    .optional(),
  WORKER_QUEUES: list
    .default([...queueNames])
    .refine((names) => names.length > 0 && names.every((name) => queueNames.some((known) => known === name)), {
      error: `must be one or more of ${queueNames.join(', ')}, comma separated`,
    })
    .transform((names) => queueNames.filter((known) => names.includes(known))),
  WORKER_SLOTS: perTaskKind(10_000),
  WORKER_POLLERS: perTaskKind(100),
  POSTGRES_CONNECTIONS: count(2, 1_000).default(10),
  CLICKHOUSE_CONNECTIONS: count(1, 1_000).default(10),
  QUERY_MEMORY_MB: count(64, 100_000).optional(),
  HELD_UPDATES: count(1, 999_999).default(10_000),
  HELD_UPDATES_MB: count(1, 100_000).default(64),
  DATASET_ROWS: count(1, 100_000_000).default(1_000_000),
  DATASET_COLUMNS: count(1, 10_000).default(1_000),
  JUDGE_ASKS_AGAIN: z
    .enum(['true', 'false'])
    .default('true')
    .transform((text) => text === 'true'),
  FIRST_LOG_MAKES: z
    .enum(['projects', 'log_streams', 'nothing'], { error: 'must be projects, log_streams or nothing' })
    .default('projects'),
  OTEL_ROOT_WAIT_SECONDS: count(1, 86_400).default(60),
  SESSION_IDLE_SECONDS: count(1, 604_800).default(600),
  BODIES_MB: count(16, 100_000).default(192),
  BODY_BYTES_PER_SECOND: count(1, 999_999).default(1_024),
  ROW_MEMORY_MB: count(10, 100_000).default(64),
  ADMIN_EMAIL: z.email({ error: 'must be an e-mail address' }).optional(),
  ADMIN_PASSWORD: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
  ADMIN_API_KEY: z.string().min(16, { error: 'must have at least 16 characters' }).optional(),
  API_KEY_HEADERS: list
    .default(['Service-API-Key', 'Service-AO-API-Key'])
    .refine((names) => names.length > 0 && names.every((name) => /^[A-Za-z0-9-]+$/.test(name)), {
      error: 'must be one or more header names, comma separated',
    }),
  TRUSTED_PROXIES: list
    .default([])
    .refine((entries) => entries.every(isAddressRange), { error: 'must be addresses or CIDRs, comma separated' }),
  SECRET_KEYS: z.string().optional(),
  OUTBOUND_ALLOW: list.default([]),
  RUNNERS_DIR: folder.optional(),
  RUNNER_ENV: list.default([]).refine((names) => names.every((name) => /^[A-Za-z_]\w*$/.test(name)), {
    error: 'must be names of environment variables, comma separated',
  }),
  RUNNER_USER: z
    .string()
    .regex(/^\d{1,9}(?::\d{1,9})?$/, { error: 'must be uid or uid:gid, as numbers' })
    .transform((text) => {
      const [uid, gid = uid] = text.split(':').map(Number) as [number, number?];
      return { uid, gid };
    })
    .refine(() => process.getuid?.() === 0, { error: 'needs a service that runs as root: no other may change users' })
    .optional(),
  RUNNER_MEMORY_MB: count(64, 100_000).default(1_024),
  HANDLERS_DIR: folder.optional(),
  CODE_METRICS: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('true')
    .transform((text) => text === 'true'),
  CODE_METRIC_PROCESSES: count(1, 64).default(2),
  CODE_METRIC_SECONDS: count(1, 600).default(10),
  CODE_METRIC_MEMORY_MB: count(64, 2_048).default(256),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: port.optional(),
  METRICS_TOKEN: z.string().min(16, { error: 'must have at least 16 characters' }).optional(),
  SLOW_REQUEST_SECONDS: count(0, 86_400).default(10),
  BLOCKED_WARN_SECONDS: count(1, 86_400).default(30),
  BLOCKED_END_SECONDS: count(0, 86_400).default(120),
  LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('info'),
});

export type Config = Readonly<z.output<typeof Config>>;

/** Names of all settings, for the documentation test. */
export const settingNames = Object.keys(Config.shape);

/** Returns the environment that a machine gives every program: its home folder, proxies and toolchains, but no setting of this service. */
export const withoutSettings = (environment: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !settingNames.includes(name)));

/**
 * Reads the settings once. An empty variable counts as absent.
 * @throws Error with one line that names each wrong variable.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name in Config.shape && value !== undefined && value !== ''),
  );
  const result = Config.safeParse(given);
  const problems = result.success
    ? problemsTogether(result.data)
    : result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
  if (result.success && problems.length === 0) return Object.freeze(result.data);
  throw new Error(`wrong settings: ${problems.join('; ')}`);
}

/** Returns the problems of settings that are right by themselves and wrong beside another. */
function problemsTogether(config: Config): string[] {
  const needs = (name: keyof Config, other: keyof Config): string[] =>
    config[name] !== undefined && config[other] === undefined ? [`${name} needs ${other}`] : [];
  const tls = (['TEMPORAL_TLS_CA', 'TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_SERVER_NAME'] as const).filter(
    (name) => config[name] !== undefined,
  );
  return [
    ...(config.TEMPORAL_TLS === 'false' && tls.length > 0 ? [`TEMPORAL_TLS is false, but ${tls.join(', ')} set`] : []),
    ...config.RUNNER_ENV.filter((name) => name in Config.shape).map(
      (name) => `RUNNER_ENV names the setting ${name} of this service`,
    ),
    ...needs('TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'),
    ...needs('TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_CERT'),
    ...(['TEMPORAL_TLS', ...tls] as const).flatMap((name) => needs(name, 'TEMPORAL_ADDRESS')),
    ...(config.METRICS_PORT !== undefined && config.METRICS_TOKEN === undefined && !isLoopback(config.METRICS_HOST)
      ? [`METRICS_HOST ${config.METRICS_HOST} can be reached from elsewhere and needs METRICS_TOKEN`]
      : []),
    ...needs('TEMPORAL_DEPLOYMENT_NAME', 'TEMPORAL_BUILD_ID'),
    ...needs('TEMPORAL_BUILD_ID', 'TEMPORAL_DEPLOYMENT_NAME'),
  ];
}

/** True when only this machine can reach `host`. */
export const isLoopback = (host: string): boolean => host === 'localhost' || loopback.has(host);

/**
 * Returns whether every caller is on this machine, so that addresses on it may be named. One for callers elsewhere, or a proxy that passes them on, says that a
 * loopback `HOST` says nothing about its callers.
 */
export const allowsLoopback = ({ HOST, PUBLIC_URL, TRUSTED_PROXIES }: Config): boolean =>
  isLoopback(HOST) && PUBLIC_URL === undefined && TRUSTED_PROXIES.length === 0;
