import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How Node.js complains of a module that it reads as CommonJS. */
const ofCommonJs = /outside a module|Unexpected token 'export'|await is only valid in async functions/;
const moduleEndings: Record<string, string> = { '.ts': '.mts', '.js': '.mjs' };

/**
 * Says what to do about a file, or one that it imports, which is written as a module and belongs to a package that holds CommonJS; undefined where that is
 * not what is wrong.
 */
export async function moduleHint(cause: unknown): Promise<string | undefined> {
  if (!(cause instanceof SyntaxError)) return undefined;
  const place = /^(.+):\d+$/m.exec(cause.stack?.split('\n')[0] ?? '')?.[1];
  if (!place) return undefined;
  const file = place.startsWith('file:') ? fileURLToPath(place) : place;
  // The importer of such a file only finds that a name is missing in it.
  const imported = /^The requested module '(\.[^']+)' does not provide an export named/.exec(cause.message)?.[1];
  if (!imported && !ofCommonJs.test(cause.message)) return undefined;
  const guilty = imported ? resolve(dirname(file), imported) : file;
  const ending = moduleEndings[extname(guilty)];
  const manifest = ending && (await commonJsManifest(dirname(guilty)));
  if (!manifest) return undefined;
  const name = basename(guilty, extname(guilty));
  return `${manifest} makes ${name}${extname(guilty)} CommonJS: set "type": "module" there, or name the file ${name}${ending}`;
}

/** The nearest package.json, where it says that the files of the package are CommonJS. */
async function commonJsManifest(folder: string): Promise<string | undefined> {
  const path = join(folder, 'package.json');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text !== undefined) return isCommonJs(text) ? path : undefined;
  return dirname(folder) === folder ? undefined : commonJsManifest(dirname(folder));
}

function isCommonJs(text: string): boolean {
  try {
    return (JSON.parse(text) as { type?: unknown } | null)?.type === 'commonjs';
  } catch {
    return false;
  }
}
