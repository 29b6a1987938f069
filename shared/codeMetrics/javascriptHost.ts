/**
 * The process in which metrics of JavaScript code run: QuickJS as WebAssembly, whose programs have the language alone, without modules, timers, files or
 * sockets. It is started as that of Python code is, and takes its own way out as well.
 */
import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import { javascriptPrelude } from './javascriptPrelude.ts';
import type { FromSandbox, ToSandbox } from './messages.ts';
import { shutTheWayOut } from './shutTheWayOut.ts';

const [memoryMb = '256'] = process.argv.slice(2);
/** Pieces of code that are kept; each has a memory of its own. */
const MAX_LOADED = 100;
/** The part of the 1 MiB that WebAssembly has for calls. */
const STACK_BYTES = 256 * 1024;
const OUT_OF_MEMORY = '{"fault":"memory"}';

process.on('disconnect', () => process.exit(0));
const send = process.send?.bind(process) as (message: FromSandbox) => boolean;
const onMessage = process.on.bind(process, 'message');

// Its declarations are those of its other form, which has it in `default`.
const quickjs = await newQuickJSWASMModuleFromVariant(variant as unknown as QuickJSSyncVariant);
/** Code that is loaded, in order of its last use. */
const loaded = new Map<string, Loaded>();
shutTheWayOut();
onMessage(({ id, ...request }: ToSandbox) => {
  send({ type: 'answered', id, answer: answerTo(request) });
});
send({ type: 'ready' });

interface Loaded {
  answer(record: string | undefined, scores: string | undefined): string;
  dispose(): void;
}

function answerTo({ key, code, record, scores }: Omit<ToSandbox, 'id'>): string {
  try {
    const known = code === undefined ? loaded.get(key) : load(code);
    if (known === undefined) return '{"unknown":true}';
    if (typeof known === 'string') return known;
    loaded.delete(key);
    loaded.set(key, known);
    for (const [oldest, { dispose }] of loaded) {
      if (loaded.size <= MAX_LOADED) break;
      loaded.delete(oldest);
      dispose();
    }
    return known.answer(record, scores);
  } catch {
    // An interpreter without memory cannot say so.
    return OUT_OF_MEMORY;
  }
}

/** @returns the answer where the code cannot be loaded */
function load(code: string): Loaded | string {
  const runtime = quickjs.newRuntime();
  runtime.setMemoryLimit(Number(memoryMb) * 1024 * 1024);
  runtime.setMaxStackSize(STACK_BYTES);
  const context = runtime.newContext();
  const dispose = () => {
    context.dispose();
    runtime.dispose();
  };
  const prelude = context.unwrapResult(context.evalCode(javascriptPrelude, 'assay.js'));
  const failed = context.getProp(prelude, 'failed');
  const errorIn = (error: QuickJSHandle) =>
    context.getString(context.unwrapResult(context.callFunction(failed, context.undefined, error)));
  const exported = settled(context, context.evalCode(code, 'scorer.js', { type: 'module' }));
  if (exported.error) {
    const answer = errorIn(exported.error);
    prelude.dispose();
    return answer;
  }
  const opened = context.callMethod(prelude, 'open', [exported.value]);
  if (opened.error) return errorIn(opened.error);
  return {
    dispose,
    answer(record, scores) {
      const given = [record, scores].map((text) => (text === undefined ? context.undefined : context.newString(text)));
      const answered = settled(context, context.callFunction(opened.value, context.undefined, ...given));
      for (const handle of given) handle.dispose();
      if (answered.error) return answered.error.consume(errorIn);
      return answered.value.consume((value) => context.getString(value));
    },
  };
}

type Result = { value: QuickJSHandle; error?: undefined } | { error: QuickJSHandle };

/** A value, or what its promise gives. A promise that is still pending has nothing left that could settle it. */
function settled(context: QuickJSContext, result: Result): Result {
  if (result.error) return result;
  const { value } = result;
  const before = context.getPromiseState(value);
  if (before.type === 'fulfilled' && before.notAPromise) return { value };
  if (before.type === 'fulfilled') before.value.dispose();
  if (before.type === 'rejected') before.error.dispose();
  context.runtime.executePendingJobs().dispose();
  const state = context.getPromiseState(value);
  value.dispose();
  if (state.type === 'pending') return { error: context.newError('the code waits for what never comes') };
  return state.type === 'fulfilled' ? { value: state.value } : { error: state.error };
}
