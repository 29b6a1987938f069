/**
 * The process in which metrics of Python code run: CPython as WebAssembly, which has neither files nor processes nor sockets of the machine. It is
 * started without an environment and with Node's permission model, and takes its own way out before it runs the first line of anybody's code: what
 * breaks out of Python into JavaScript finds no `process`, no network, no modules and no `eval` there.
 */
import { constants } from 'node:fs';
import type { FromSandbox, ToSandbox } from './messages.ts';
import { pythonPrelude } from './pythonPrelude.ts';
import { shutTheWayOut } from './shutTheWayOut.ts';

const [pyodidePath = '', memoryMb = '256'] = process.argv.slice(2);
const WASM_PAGE = 65_536;

process.on('disconnect', () => process.exit(0));
const send = process.send?.bind(process) as (message: FromSandbox) => boolean;
const onMessage = process.on.bind(process, 'message');

// The permission model refuses it. Emscripten asks for the constants of the file system alone.
const bindings = process as unknown as { binding: unknown };
bindings.binding = () => ({ fs: constants });

// Python gets a MemoryError where the memory would grow above the limit.
interface Memory {
  buffer: ArrayBuffer;
  grow(pages: number): number;
}
const memory = (globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } }).WebAssembly.Memory.prototype;
const { grow } = memory;
memory.grow = function (this: Memory, pages: number) {
  if (this.buffer.byteLength + pages * WASM_PAGE > Number(memoryMb) * 1024 * 1024) throw new RangeError('the memory limit');
  return grow.call(this, pages);
};

const { loadPyodide } = (await import(`${pyodidePath}pyodide.mjs`)) as typeof import('pyodide');
/** Pyodide itself asks the global scope for these; the `js` module has nothing else. */
const jsglobals = { Object, Promise, Error, Date, AbortController, AbortSignal, setTimeout, clearTimeout };
const python = await loadPyodide({
  ...{ indexURL: pyodidePath, jsglobals, env: { HOME: '/home/pyodide' }, checkAPIVersion: false },
  ...{ stdin: () => null, stdout: () => undefined, stderr: () => undefined },
});
const functions = python.runPython(pythonPrelude, { globals: python.toPy({}) });
const answerOf = functions as (
  key: string,
  code: string | undefined,
  record: string | undefined,
  scores: string | undefined,
) => string;
python.unregisterJsModule('js');
python.unregisterJsModule('pyodide_js');
shutTheWayOut();
onMessage(({ id, key, code, record, scores }: ToSandbox) => {
  send({ type: 'answered', id, answer: answerOf(key, code, record, scores) });
});
send({ type: 'ready' });
