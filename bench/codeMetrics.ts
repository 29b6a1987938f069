import { parseArgs } from 'node:util';
import { otherUser } from '../shared/childProcesses/codeIsolation.ts';
import { createCodeSandbox } from '../shared/codeMetrics/codeSandbox.ts';
import { interpreters } from '../shared/codeMetrics/sandboxProcess.ts';
import { recordForCode } from '../shared/scorers/recordForCode.ts';
import { scoredRecord } from '../test/support/scoredRecord.ts';

const CODE = 'def scorer_fn(*, step_object, **kwargs) -> int:\n    return len(step_object.output)\n';

/** How long a trivial metric in Python takes over `--rows` records (1000), `--runs` times (3), beside the start of its interpreter. */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { rows: { type: 'string', default: '1000' }, runs: { type: 'string', default: '3' } },
  });
  const sandbox = createCodeSandbox({
    ...{ isOn: true, processes: 1, callMs: 10_000, memoryMb: 128 },
    user: (language) => otherUser({ RUNNER_USER: undefined }, interpreters[language]),
    onBroken: (err) => console.error(err),
  });
  const { signal } = new AbortController();
  const record = recordForCode(scoredRecord({ name: 'row', input: 'Hi', output: 'Hello' }));
  const score = () => sandbox.score('bench', CODE, record, signal);
  const timed = async (what: string, act: () => Promise<unknown>) => {
    const start = performance.now();
    await act();
    console.log(`${what.padEnd(36)}${Math.round(performance.now() - start)} ms`);
  };
  try {
    await timed('first value, with its interpreter', score);
    const rows = Array.from({ length: Number(values.rows) });
    for (let time = 0; time < Number(values.runs); time++)
      await timed(`${values.rows} values`, () => Promise.all(rows.map(score)));
  } finally {
    await sandbox.close();
  }
}
