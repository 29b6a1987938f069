import { stat } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CustomHandler } from './customHandler.ts';
import { AttemptFailure } from './failures.ts';
import type { Connection } from './provider.ts';

type HandlerConfig = NonNullable<Connection['handler']>;

const EXTENSIONS = ['.ts', '.js', '.mjs'];

/** Gives the handler instance of an integration: made once, and again when its file or its settings change. */
export type HandlerLoader = (key: string, config: HandlerConfig) => Promise<CustomHandler>;

/** @param directory HANDLERS_DIR; undefined where none is configured. */
export function createHandlerLoader(directory: string | undefined): HandlerLoader {
  const loaded = new Map<string, { version: string; handler: CustomHandler }>();
  return async (key, config) => {
    const path = pathOf(directory, config.fileName);
    const modifiedMs = await stat(path).then(
      (file) => (file.isFile() ? file.mtimeMs : undefined),
      () => undefined,
    );
    if (modifiedMs === undefined) throw cannotLoad(config, 'there is no such file in the handlers folder');
    const version = JSON.stringify([config, modifiedMs]);
    const known = loaded.get(key);
    if (known?.version === version) return known.handler;
    const handler = await instantiate(path, modifiedMs, config);
    loaded.set(key, { version, handler });
    return handler;
  };
}

function pathOf(directory: string | undefined, fileName: string): string {
  const config = { fileName };
  if (directory === undefined) throw cannotLoad(config, 'no handlers folder is configured (HANDLERS_DIR)');
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(fileName)) throw cannotLoad(config, 'it is not a plain file name');
  if (!EXTENSIONS.includes(extname(fileName)))
    throw cannotLoad(config, `only ${EXTENSIONS.join(', ')} files can be loaded; port the class to TypeScript or JavaScript`);
  return join(directory, fileName);
}

let hooked = false;

/** Makes `assay/handler` mean this very module for files anywhere: a second copy of the class would fail the subclass check. */
function provideBaseClass(): void {
  if (hooked) return;
  hooked = true;
  const url = new URL('./customHandler.ts', import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'assay/handler' ? { url, shortCircuit: true } : next(specifier, context),
  });
}

async function instantiate(path: string, modifiedMs: number, config: HandlerConfig): Promise<CustomHandler> {
  provideBaseClass();
  const url = pathToFileURL(path);
  // A module is cached by its URL: a changed file needs another one.
  url.searchParams.set('modified', String(modifiedMs));
  let exported: unknown;
  try {
    exported = ((await import(url.href)) as Record<string, unknown>)[config.className];
  } catch (err) {
    throw cannotLoad(config, `${(err as Error).name}: ${(err as Error).message.split('\n')[0]?.slice(0, 300)}`);
  }
  if (typeof exported !== 'function') throw cannotLoad(config, `it exports no class ${config.className}`);
  if (!(exported.prototype instanceof CustomHandler))
    throw cannotLoad(config, `${config.className} does not extend CustomHandler from assay/handler`);
  try {
    return new (exported as new (initKwargs: Record<string, unknown>) => CustomHandler)(structuredClone(config.initKwargs));
  } catch (err) {
    throw cannotLoad(config, `the constructor of ${config.className} threw ${(err as Error).name}`);
  }
}

const cannotLoad = ({ fileName }: Pick<HandlerConfig, 'fileName'>, reason: string): AttemptFailure =>
  new AttemptFailure('handler_error', `the handler file ${fileName} cannot be loaded: ${reason}`, { retry: false });
