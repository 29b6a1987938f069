import { stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Cells } from '../../childProcesses/cells.ts';
import type { CodeIsolation } from '../../childProcesses/codeIsolation.ts';
import { Hopeless, Respawning } from '../../childProcesses/respawning.ts';
import { AttemptFailure } from '../failures.ts';
import type { Connection } from '../provider.ts';
import { HandlerDied, HandlerProcess, type HandlerReply } from './handlerProcess.ts';
import type { HandlerRequest } from './messages.ts';

type HandlerConfig = NonNullable<Connection['handler']>;

export interface HandlersOptions {
  /** HANDLERS_DIR; undefined where none is configured. */
  directory: string | undefined;
  isolation: CodeIsolation;
  /** MiB of the heap of each process. */
  memoryMb: number;
  /** `fetch` under the service's rules for user-supplied addresses. */
  fetch: typeof fetch;
}

/** The handler classes of integrations, each in a process of its own. */
export interface Handlers {
  /**
   * @param key the integration: its handler is made once, and again when its file or its settings change
   * @throws AttemptFailure for a handler that cannot be loaded, or brings its process down; what HandlerProcess throws
   */
  complete(key: string, config: HandlerConfig, call: HandlerRequest, signal: AbortSignal): Promise<HandlerReply>;
}

const EXTENSIONS = ['.ts', '.js', '.mjs'];
/** Processes of an integration in which calls under suspicion run, each alone. */
const MAX_CELLS = 2;

interface Loaded {
  version: string;
  together: Respawning<HandlerProcess>;
  cells: Cells<Respawning<HandlerProcess>>;
  /** Calls that are under way. */
  calls: number;
}

/**
 * A handler that loops, leaks or crashes costs the calls that do it: when a process dies, or must be ended because a call holds its event loop, any of
 * the calls in it may be the cause. Each of them runs again, alone in a process; the guilty ones fail, the others finish.
 */
export function createHandlers(options: HandlersOptions): Handlers {
  const all = new Map<string, Loaded>();

  const find = async (key: string, config: HandlerConfig): Promise<Loaded> => {
    const path = pathOf(options.directory, config.fileName);
    const modifiedMs = await stat(path).then(
      (file) => (file.isFile() ? file.mtimeMs : undefined),
      () => undefined,
    );
    if (modifiedMs === undefined) throw cannotLoad(config, 'there is no such file in the handlers folder');
    const version = JSON.stringify([config, modifiedMs]);
    const known = all.get(key);
    if (known?.version === version) return known;
    const { className, initKwargs } = config;
    const { isolation, memoryMb, fetch } = options;
    const spawn = () => new HandlerProcess({ path, className, initKwargs, isolation, memoryMb, fetch });
    const loaded: Loaded = {
      ...{ version, calls: 0 },
      together: new Respawning(spawn),
      cells: new Cells(MAX_CELLS, () => new Respawning(spawn)),
    };
    all.set(key, loaded);
    if (known?.calls === 0) close(known);
    return loaded;
  };

  return {
    async complete(key, config, call, signal) {
      const loaded = await find(key, config);
      loaded.calls++;
      try {
        return await (await started(config, loaded.together)).call(call, signal);
      } catch (err) {
        if (!(err instanceof HandlerDied)) throw err;
        // A process may be ended from outside: a call that was alone is at fault for certain when it held it.
        if (err.wasAlone && err.isHeld) throw atFault(config, err);
        return await alone(config, loaded.cells, call, signal);
      } finally {
        loaded.calls--;
        if (loaded.calls === 0 && all.get(key) !== loaded) close(loaded);
      }
    },
  };
}

async function alone(
  config: HandlerConfig,
  cells: Loaded['cells'],
  call: HandlerRequest,
  signal: AbortSignal,
): Promise<HandlerReply> {
  const cell = await cells.take();
  try {
    for (;;) {
      try {
        return await (await started(config, cell)).call(call, signal);
      } catch (err) {
        if (!(err instanceof HandlerDied)) throw err;
        // Else it died of a call that was given up before: this one has the next process.
        if (err.wasAlone) throw atFault(config, err);
      }
    }
  } finally {
    cells.giveBack(cell);
  }
}

const started = (config: HandlerConfig, processes: Respawning<HandlerProcess>): Promise<HandlerProcess> =>
  processes.get().catch((err: unknown) => {
    throw err instanceof Hopeless ? cannotLoad(config, err.message) : err;
  });

function close({ together, cells }: Loaded): void {
  void together.close();
  void cells.close();
}

function pathOf(directory: string | undefined, fileName: string): string {
  const config = { fileName };
  if (directory === undefined) throw cannotLoad(config, 'no handlers folder is configured (HANDLERS_DIR)');
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(fileName)) throw cannotLoad(config, 'it is not a plain file name');
  if (!EXTENSIONS.includes(extname(fileName)))
    throw cannotLoad(config, `only ${EXTENSIONS.join(', ')} files can be loaded; port the class to TypeScript or JavaScript`);
  return join(directory, fileName);
}

const cannotLoad = ({ fileName }: Pick<HandlerConfig, 'fileName'>, reason: string): AttemptFailure =>
  new AttemptFailure('handler_error', `the handler file ${fileName} cannot be loaded: ${reason}`, { retry: false });

const atFault = ({ className }: HandlerConfig, err: HandlerDied): AttemptFailure =>
  new AttemptFailure('handler_error', `the handler ${className} ${err.message}`, { retry: false });
