import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Terminal } from '../terminal/terminal.ts';

const Credentials = z.object({ api_key: z.string().optional() });
const Address = z.object({ url: z.url() });

export interface LocalService {
  folder: string;
  url: string;
  /** Absent where the operator chose it: then it is kept nowhere. */
  apiKey: string | undefined;
}

/** The service whose data folder is in the current folder, or is named by `DATA_DIR`: running or not. */
export async function findLocalService({
  environment,
  folder,
}: Pick<Terminal, 'environment' | 'folder'>): Promise<LocalService | undefined> {
  const dataFolder = join(folder, environment.DATA_DIR || '.assay');
  const [credentials, address] = await Promise.all([
    parsed(join(dataFolder, 'credentials.json'), Credentials),
    parsed(join(dataFolder, 'address.json'), Address),
  ]);
  if (!credentials && !address) return undefined;
  const url = address?.url ?? `http://127.0.0.1:${environment.PORT || 8088}`;
  return { folder: dataFolder, url, apiKey: credentials?.api_key ?? environment.ADMIN_API_KEY };
}

async function parsed<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T> | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined; // none, or not ours to read
  }
}
