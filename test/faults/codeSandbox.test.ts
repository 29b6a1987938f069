import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { afterAll, describe, expect, test } from 'vitest';
import { otherUser } from '../../shared/childProcesses/codeIsolation.ts';
import { createCodeSandbox } from '../../shared/codeMetrics/codeSandbox.ts';
import { interpreters } from '../../shared/codeMetrics/sandboxProcess.ts';
import { recordForCode } from '../../shared/scorers/recordForCode.ts';
import { scoredRecord } from '../support/scoredRecord.ts';

const starts: unknown[] = [];
const sandboxOf = (callMs: number) =>
  createCodeSandbox({
    ...{ isOn: true, processes: 1, callMs, memoryMb: 128 },
    user: (language) => otherUser({ RUNNER_USER: undefined }, interpreters[language]),
    onBroken: (err) => starts.push(err),
  });
const sandbox = sandboxOf(10_000);
/** For code that takes all the time that it may, and more. */
const brief = sandboxOf(2_000);
afterAll(() => Promise.all([sandbox.close(), brief.close()]));

const { signal } = new AbortController();
const record = recordForCode(scoredRecord({ name: 'row', input: 'Hi', output: 'Hello' }));
const scorer = (body: string, type = 'str') =>
  `def scorer_fn(*, step_object, **kwargs) -> ${type}:\n    ${body.replaceAll('\n', '\n    ')}\n`;
const run = (body: string, type?: string, project = 'one', box = sandbox) =>
  box.score(project, scorer(body, type), record, signal);

/** A call that may have been called off; any other failure is one. */
const orCalledOff = (called: Promise<unknown>, { signal }: AbortController) =>
  called.catch((err: unknown) => {
    if (err !== signal.reason) throw err;
  });

describe('code that tries to leave its interpreter', () => {
  test.each([
    ['JavaScript', 'import js\nreturn str(dir(js))', "No module named 'js'"],
    ['the module of Pyodide', 'import pyodide_js\nreturn str(pyodide_js)', "No module named 'pyodide_js'"],
    ['a script', 'from pyodide.code import run_js\nreturn str(run_js("process.pid"))', "No module named 'pyodide'"],
    ['fetch', 'from pyodide.http import pyfetch\nreturn str(pyfetch("http://127.0.0.1"))', "No module named 'pyodide'"],
    ['foreign functions', 'import ctypes\nreturn str(ctypes.CDLL(None))', "No module named 'ctypes'"],
    ['a file of the machine', 'return open("/etc/passwd").read()', 'No such file or directory'],
    ['the files of processes', 'return open("/proc/1/environ").read()', 'No such file or directory'],
    ['a command', 'import subprocess\nreturn str(subprocess.run(["id"]))', 'does not support processes'],
    ['a shell', 'import os\nreturn str(os.popen("id").read())', 'rror'],
    ['a fork', 'import os\nreturn str(os.fork())', 'Function not implemented'],
    ['a thread', 'import threading\nthreading.Thread(target=print).start()', "can't start new thread"],
    ['a package', 'import micropip\nreturn str(micropip)', "No module named 'micropip'"],
  ])('finds no way to %s', async (_, body, reason) => {
    expect(await run(body)).toEqual({ error: expect.stringContaining(reason) });
  });

  test('sees no environment and no file but those of the interpreter', async () => {
    process.env.ASSAY_TEST_SECRET = 'a secret';
    expect(await run('import os\nreturn str(dict(os.environ))')).toMatchObject({ value: '{}' });
    const found = await run('import os\nreturn " ".join(sorted(os.listdir("/")))');
    expect(found).toMatchObject({ value: 'dev home lib proc tmp' });
    delete process.env.ASSAY_TEST_SECRET;
  });

  test('reaches no server by any socket', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end('reached');
    }).on('connection', () => asked++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ways = [
      `import socket\nsocket.create_connection(("127.0.0.1", ${port}), 2).sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")`,
      `import urllib.request\nreturn urllib.request.urlopen("http://127.0.0.1:${port}", timeout=2).read().decode()`,
    ];
    for (const way of ways) expect(await run(way)).toEqual({ error: expect.any(String) });
    await new Promise((resolve) => server.close(resolve));
    expect(asked).toBe(0);
  });

  /** Gets the modules back, of which only the import is blocked: code with access to JavaScript must be harmless, too. */
  const reach = `import gc, sys
sys.meta_path[:] = [one for one in sys.meta_path if one.__name__ != 'NoWayOut'] if all(hasattr(one, '__name__') for one in sys.meta_path) else sys.meta_path[1:]
held = [one for one in gc.get_objects() if type(one).__name__.startswith('JsProxy') or type(one).__name__.endswith('Proxy')]
import _pyodide_core
`;

  test.each([
    ['a function made of a text', 'return str(_pyodide_core.JsProxy.constructor.constructor("return process")())'],
    ['eval', 'from pyodide.code import run_js\nreturn str(run_js("globalThis.process"))'],
    ['C that runs a script', 'import ctypes\nreturn str(ctypes.pythonapi.emscripten_run_script_int(b"process.pid"))'],
  ])('that has its modules back cannot use %s', async (_, body) => {
    expect(await run(reach + body)).toEqual({ error: expect.any(String) });
  });
});

describe('code that takes too much', () => {
  const good = () => run('return step_object.output');

  test.each([
    ['loops', 'while True: pass'],
    ['prints without end', 'while True: print("x" * 1000)'],
    ['catches what interrupts it', 'while True:\n    try:\n        while True: pass\n    except BaseException: pass'],
  ])('and %s costs its own value alone', async (_, body) => {
    expect(await run(body, 'str', 'one', brief)).toEqual({ error: 'the metric took longer than 2 s' });
    expect(await run('return step_object.output', 'str', 'one', brief)).toMatchObject({ value: 'Hello' });
  });

  test.each([
    ['eats memory', 'kept = []\nwhile True: kept.append(bytearray(1_000_000))', 'more memory than 128 MiB'],
    ['asks for much at once', 'return str(len(bytearray(2_000_000_000)))', 'more memory than 128 MiB'],
    ['gives a long text', 'return "x" * 20_000', '20000 characters'],
  ])('and %s costs its own value alone', async (_, body, reason) => {
    expect(await run(body)).toEqual({ error: expect.stringContaining(reason) });
    expect(await good()).toMatchObject({ value: 'Hello' });
  });

  test.runIf(process.platform === 'linux')('is not so because others keep the processors busy', async () => {
    // The interpreter has started before the others begin.
    expect(await run('return 1', 'int', 'one', brief)).toMatchObject({ value: 1 });
    const others = Array.from({ length: 4 * availableParallelism() }, () =>
      spawn(process.execPath, ['-e', 'console.log(1); for (;;);']),
    );
    try {
      await Promise.all(others.map(({ stdout }) => once(stdout, 'data')));
      const late = 'import time\nuntil = time.time() + 3\nwhile time.time() < until: pass\nreturn 1';
      expect(await run(late, 'int', 'one', brief)).toMatchObject({ value: 1 });
    } finally {
      for (const other of others) other.kill('SIGKILL');
    }
  });

  test('and ends its interpreter is answered all the same', async () => {
    const outcome = await run('import os\nos._exit(3)');
    expect(outcome).toEqual({ error: expect.any(String) });
    expect(await good()).toMatchObject({ value: 'Hello' });
  });

  test('and calls itself without end fails alone', async () => {
    expect(await run('def f(): return f()\nreturn f()')).toEqual({ error: expect.any(String) });
    expect(await good()).toMatchObject({ value: 'Hello' });
  });

  test('record after record is not tried any more for a while', async () => {
    const greedy = 'kept = [1]\nwhile True: kept.append(bytearray(1_000_000))';
    const outcomes = [await run(greedy), await run(greedy), await run(greedy), await run(greedy)];
    expect(outcomes[2]).toEqual({ error: 'the metric needs more memory than 128 MiB' });
    expect(outcomes[3]).toEqual({ error: expect.stringContaining('after 3 such records in a row') });
  });

  test('leaves nothing behind for another project', async () => {
    expect(await run('import json\njson.left = "mine"\nreturn "set"')).toMatchObject({ value: 'set' });
    expect(await run('import json\nreturn getattr(json, "left", "nothing")')).toMatchObject({ value: 'mine' });
    expect(await run('import json\nreturn getattr(json, "left", "nothing")', 'str', 'two')).toMatchObject({ value: 'nothing' });
  });

  test('waits behind another project for a slice of time alone', async () => {
    const ended: string[] = [];
    const caller = new AbortController();
    const slow = scorer('import time\nuntil = time.time() + 0.5\nwhile time.time() < until: pass\nreturn "slow"');
    const many = Array.from({ length: 30 }, async () => {
      await orCalledOff(sandbox.score('two', slow, record, caller.signal), caller);
      ended.push('two');
    });
    const all = Promise.all(many);
    await run('return "soon"', 'str', 'three').then(() => ended.push('three'));
    caller.abort(); // what is still to come shows no more
    await all;
    expect(ended.indexOf('three')).toBeLessThan(20);
  });

  test('of projects that never stop asking leaves another one its turn', async () => {
    const slow = scorer('import time\nuntil = time.time() + 0.3\nwhile time.time() < until: pass\nreturn "slow"');
    const caller = new AbortController();
    const askOn = async (project: string) => {
      while (!caller.signal.aborted) await orCalledOff(sandbox.score(project, slow, record, caller.signal), caller);
    };
    const busy = Promise.all(['two', 'two', 'three', 'three'].map(askOn));
    const scores = await Promise.all(['four', 'five'].map((project) => run('return "soon"', 'str', project)));
    caller.abort();
    expect(scores).toMatchObject([{ value: 'soon' }, { value: 'soon' }]);
    await busy;
  });

  test('that is called off does not run', async () => {
    const caller = new AbortController();
    const held = run('import time\nuntil = time.time() + 0.5\nwhile time.time() < until: pass\nreturn "held"', 'str', 'five');
    const called = sandbox.score('five', scorer('return "ran"'), record, caller.signal);
    caller.abort(new Error('not wanted any more'));
    await expect(called).rejects.toThrow('not wanted any more');
    expect(await held).toMatchObject({ value: 'held' });
  });

  test('and breaks what answers for it ends its interpreter', async () => {
    const broken = 'import sys\nframe = sys._getframe()\nwhile "to_json" not in frame.f_globals: frame = frame.f_back\n';
    const forged = `${broken}frame.f_globals["to_json"] = lambda *_, **__: '{"value": {"a": 1}}'\nreturn "x"`;
    await run(forged, 'str', 'alone');
    expect(await run(forged, 'str', 'alone')).toEqual({ error: 'the metric gave no score that can be read' });
    expect(await good()).toMatchObject({ value: 'Hello' });
  });

  test.each([
    [
      'what answers for all',
      `import sys\nframe = sys._getframe()\nwhile "to_json" not in frame.f_globals: frame = frame.f_back\nframe.f_globals["to_json"] = None`,
    ],
    [
      'built-in names',
      'import builtins\nbuiltins.len = builtins.print = builtins.isinstance = None\nbuiltins.sorted = lambda *_: []',
    ],
    ['the depth of calls', 'import sys\nsys.setrecursionlimit(40)'],
    [
      'the memory',
      'import json\njson.kept = []\ntry:\n    while True: json.kept.append(bytearray(1_000_000))\nexcept MemoryError: pass',
    ],
  ])('and breaks %s costs another metric of its project no value', async (_, body) => {
    await run(`${body}\nreturn "broken"`, 'str', 'one');
    const other = 'words = sorted(["b", "a"])\nreturn f"{len(words)} {words[0]} {len(bytearray(40_000_000))}"';
    expect(await run(other, 'str', 'one')).toMatchObject({ value: '2 a 40000000' });
  });
});

describe('what scorer_fn gives', () => {
  test.each([
    ['float', 'return 1', { value: 1 }],
    ['float', 'return float("nan")', { error: 'scorer_fn gave nan, which is no number' }],
    ['int', 'return 2.5', { error: 'scorer_fn gave 2.5 of the type float; its score type is int' }],
    ['bool', 'return "yes"', { error: "scorer_fn gave 'yes' of the type str; its score type is bool" }],
    ['bool', 'return None', { none: true }],
    ['int', 'return 7, {"why": "seven"}', { value: 7, metadata: { why: 'seven' } }],
    ['int', 'return 7, {"why": "x" * 9000}', { value: 7, metadata: null }],
    ['int', 'return 1 // 0', { error: expect.stringContaining('(line 2)') }],
  ])('%s: %s', async (type, body, outcome) => {
    expect(await run(body, type, 'one')).toMatchObject(outcome);
  });

  test('sees the steps of a record as objects', async () => {
    const trace = recordForCode({
      ...{ kind: 'trace', name: 'row', input: 'Hi', output: 'Hello', datasetInput: 'Hi', datasetOutput: 'Hey', metadata: {} },
      ...{ durationNs: 5, inputTokens: null, outputTokens: null, totalTokens: null, errorMessage: null, model: null },
      spans: [
        {
          ...{ kind: 'llm', name: 'call', datasetInput: null, datasetOutput: null, metadata: {}, durationNs: null },
          input: '[{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]',
          output: '{"role": "assistant", "content": "Hello"}',
          ...{ inputTokens: 3, outputTokens: null, totalTokens: null, errorMessage: null, model: 'm' },
        },
      ],
    });
    const code = `from anything.tracing import LlmSpan, Trace

def score_type():
    return str

def scorer_fn(*, step_object: Trace, node_output: str, dataset_variables: dict, **kwargs):
    [span] = step_object.spans
    assert isinstance(step_object, Trace) and isinstance(span, LlmSpan)
    parts = [span.input[0].role, span.input[1].content, span.output.content, span.metrics.num_input_tokens]
    return ' '.join(str(one) for one in [*parts, node_output, dataset_variables['target'], step_object.metrics.duration_ns])
`;
    expect(await sandbox.score('one', code, trace, signal)).toMatchObject({ value: 'system Hi Hello 3 Hello Hey 5' });
  });

  test.each([
    ['def scorer(**kwargs): return 1', 'the code defines no function scorer_fn'],
    ['def scorer_fn(**kwargs)\n    return 1', "SyntaxError: expected ':' (line 1)"],
    ['import numpy\ndef scorer_fn(**kwargs): return 1', "ModuleNotFoundError: No module named 'numpy' (line 1)"],
    ['async def scorer_fn(**kwargs): return 1', 'scorer_fn is a coroutine function; write it without async'],
    ['def scorer_fn(**kwargs): return 1\nscore_type = list', "score_type is <class 'list'>; it must be float, int, bool or str"],
  ])('code that cannot be used says why: %s', async (code, reason) => {
    expect(await sandbox.describe('one', code, signal)).toEqual({ error: reason });
  });
});

test('a thousand values are of one interpreter', async () => {
  const all = await Promise.all(Array.from({ length: 1_000 }, () => run('return len(step_object.output)', 'int', 'one')));
  expect(all.every((one) => 'value' in one && one.value === 5)).toBe(true);
  expect(starts).toEqual([]);
});

describe('aggregator_fn', () => {
  const summed = (body: string, scores: (number | boolean | string)[] = [1, 2, 3], box = sandbox) =>
    box.aggregate('one', `${scorer('return None', 'int')}\ndef aggregator_fn(*, scores):\n    ${body}\n`, scores, signal);

  test('gets all values and gives names with values', async () => {
    const body = 'return {"sum": sum(scores), "half": 0.5, "any": True, "said": "x", "none": None}';
    expect(await summed(body)).toEqual({ values: { sum: 6, half: 0.5, any: true, said: 'x', none: null } });
    expect(await summed('return {"first": scores[0]}', ['a', 'b'])).toEqual({ values: { first: 'a' } });
    const many = Array.from({ length: 100_000 }, (_, index) => index / 7);
    expect(await summed('return {"count": len(scores)}', many)).toEqual({ values: { count: 100_000 } });
  });

  test.each([
    ['no dict', 'return 5', 'aggregator_fn gave no dict of names and values'],
    ['a list', 'return {"all": scores}', "aggregator_fn gave [1, 2, 3] for 'all'"],
    ['no number', 'return {"mean": float("nan")}', "aggregator_fn gave nan for 'mean', which is no number"],
    ['too many values', 'return {str(i): i for i in range(51)}', 'aggregator_fn gave 51 values; at most 50 are kept'],
    ['a failure', 'return {"x": 1 / 0}', 'ZeroDivisionError: division by zero (line 5)'],
  ])('that gives %s costs its own values', async (_, body, reason) => {
    expect(await summed(body)).toEqual({ error: expect.stringContaining(reason) });
    expect(await run('return step_object.output')).toMatchObject({ value: 'Hello' });
  });

  test('that loops costs its own values', async () => {
    expect(await summed('while True: pass', [1], brief)).toEqual({ error: 'the metric took longer than 2 s' });
  });
});

describe('JavaScript', () => {
  const exporting = (body: string) => `export default function scorer({ input, output, record }) {\n  ${body}\n}\n`;
  const runScript = (body: string, project = 'one', box = sandbox) => box.score(project, exporting(body), record, signal);
  const good = () => runScript('return output;');

  // First, while there is an interpreter of Python.
  test('and Python differ by what the code exports', async () => {
    const python = 'def scorer_fn(**kwargs):\n    """\nexport default nothing\n    """\n    return 1\n';
    expect(await sandbox.score('one', python, record, signal)).toMatchObject({ value: 1 });
  });

  test.each([
    ['the process', 'return String(process.pid);', 'process'],
    ['a module', 'return import("node:fs").then((fs) => String(fs));', 'rror'],
    ['require', 'return require("node:child_process").execSync("id").toString();', 'require'],
    ['the global scope of its process', 'return globalThis.constructor.constructor("return process")().pid;', 'process'],
    ['a function made of a text', 'return new Function("return this.process.pid")();', 'undefined'],
    ['fetch', 'return fetch("http://127.0.0.1");', 'fetch'],
    ['a socket', 'return new WebSocket("ws://127.0.0.1");', 'WebSocket'],
    ['a worker', 'return new Worker("data:text/javascript,1");', 'Worker'],
    ['WebAssembly', 'return new WebAssembly.Memory({ initial: 60_000 });', 'WebAssembly'],
    ['its files', 'return std.open("/etc/passwd", "r").readAsString();', 'std'],
    ['the system', 'return os.exec(["id"]);', 'os'],
    ['a timer', 'setTimeout(() => undefined, 1);', 'setTimeout'],
  ])('finds no way to %s', async (_, body, reason) => {
    expect(await runScript(body)).toEqual({ error: expect.stringContaining(reason) });
  });

  test('sees the language alone', async () => {
    const names = 'return Object.getOwnPropertyNames(globalThis).filter((name) => /^[a-z]/.test(name)).sort().join(" ");';
    expect(await runScript(names)).toMatchObject({
      value:
        'decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape',
    });
  });

  test.each([
    ['loops', 'for (;;);'],
    ['waits for itself', 'return (async () => { for (;;) await 1; })();'],
    ['reads a text without end', 'return /^(a+)+$/.test("a".repeat(50) + "b");'],
  ])('that %s costs its own value alone', async (_, body) => {
    expect(await runScript(body, 'one', brief)).toEqual({ error: 'the metric took longer than 2 s' });
    expect(await runScript('return output;', 'one', brief)).toMatchObject({ value: 'Hello' });
  });

  test.each([
    ['eats memory', 'const kept = [];\n  for (;;) kept.push(new Uint8Array(1_000_000).fill(1));', 'more memory than 128 MiB'],
    ['eats it by texts', 'let text = "x";\n  for (;;) text += text;', 'rror'],
    ['waits for what never comes', 'return new Promise(() => undefined);', 'waits for what never comes'],
    ['calls itself without end', 'const again = () => again() + 1;\n  return again();', 'rror'],
    ['gives a long text', 'return "x".repeat(20_000);', '20000 characters'],
  ])('that %s costs its own value alone', async (_, body, reason) => {
    expect(await runScript(body)).toEqual({ error: expect.stringContaining(reason) });
    expect(await good()).toMatchObject({ value: 'Hello' });
  });

  test('that changes what it finds harms itself alone', async () => {
    await runScript('JSON.stringify = () => "[]"; Promise.prototype.then = () => 1; Array.isArray = () => true; return 1;');
    expect(await good()).toMatchObject({ value: 'Hello' });
    expect(await runScript('globalThis.left = 1; return "set";')).toMatchObject({ value: 'set' });
    expect(await runScript('return typeof left;')).toMatchObject({ value: 'undefined' });
  });

  test.each([
    ['return 1;', { value: 1, metadata: null }],
    ['return null;', { none: true }],
    ['', { none: true }],
    ['return Number.NaN;', { error: 'scorer gave NaN, which is no number' }],
    ['return { value: 7, metadata: { why: "seven" } };', { value: 7, metadata: { why: 'seven' } }],
    ['return { value: 7, metadata: { why: "x".repeat(9_000) } };', { value: 7, metadata: null }],
    ['return [1];', { error: 'scorer gave [1]; its score type is a number, a boolean or a text' }],
    ['return record.spans.length + record.name;', { value: '0row' }],
    ['return Promise.resolve(3);', { value: 3 }],
    ['return null.length;', { error: expect.stringMatching(/^TypeError: .*\(line 2\)$/) }],
    ['throw "no";', { error: 'the code threw "no"' }],
  ])('that says %j', async (body, outcome) => {
    expect(await runScript(body, 'four')).toMatchObject(outcome);
  });

  test('says its type, its kinds of records and how values are summed up', async () => {
    const code = `${exporting('return true;')}export const scoreType = 'int';
export const nodeTypes = ['trace'];
export const aggregate = (scores) => ({ most: Math.max(...scores) });\n`;
    expect(await sandbox.describe('four', code, signal)).toEqual({ scoreType: 'int', nodeTypes: ['trace'], aggregates: true });
    expect(await sandbox.score('four', code, record, signal)).toMatchObject({ value: 1 });
    expect(await sandbox.aggregate('four', code, [1, 4, 2], signal)).toEqual({ values: { most: 4 } });
  });

  test.each([
    ['export const x = 1;', 'the code exports no function'],
    ['export default function scorer() { return', 'SyntaxError'],
    ['import fs from "node:fs";\nexport default () => 1;', 'rror'],
    [
      `${exporting('return 1;')}export const scoreType = 'number';`,
      'scoreType is "number"; it must be one of bool, int, float, str',
    ],
    [`${exporting('return 1;')}export const nodeTypes = 'trace';`, 'nodeTypes is no list of names'],
  ])('that cannot be used says why: %j', async (code, reason) => {
    expect(await sandbox.describe('four', code, signal)).toEqual({ error: expect.stringContaining(reason) });
  });
});
