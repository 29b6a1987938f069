import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';

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

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Every setting of the service. The README's table documents each; a test holds the two equal. */
const Config = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(8088),
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
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  ADMIN_EMAIL: z.email({ error: 'must be an e-mail address' }).optional(),
  ADMIN_PASSWORD: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
  ADMIN_API_KEY: z.string().min(16, { error: 'must have at least 16 characters' }).optional(),
  API_KEY_HEADERS: list
    .default(['Service-API-Key', 'Service-AO-API-Key'])
    .refine((names) => names.length > 0 && names.every((name) => /^[A-Za-z0-9-]+$/.test(name)), {
      error: 'must be one or more header names, comma separated',
    }),
  SECRET_KEYS: z.string().optional(),
  OUTBOUND_ALLOW: list.default([]),
  RUNNERS_DIR: folder.optional(),
  HANDLERS_DIR: folder.optional(),
  LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('info'),
});

export type Config = Readonly<z.output<typeof Config>>;

/** Names of all settings, for the documentation test. */
export const settingNames = Object.keys(Config.shape);

/**
 * Reads the settings once. An empty variable counts as absent.
 * @throws Error with one line that names each wrong variable.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name in Config.shape && value !== undefined && value !== ''),
  );
  const result = Config.safeParse(given);
  if (result.success) return Object.freeze(result.data);
  throw new Error(`wrong settings: ${result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')}`);
}

/** True when only this machine can reach `host`. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  return isIP(host) === 4 ? host.startsWith('127.') : host === '::1';
}
