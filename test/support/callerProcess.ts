import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runExperiment } from '../../client/index.ts';

// A user's script: it runs an experiment with a function of its own. Each execution is a line `row process` in a file outside the service. Those after the
// line `holdAt`, where one is named, do not end: the script is killed before it is through.
const [attemptsFile = '', name = '', rows, concurrency, blockFor, holdAt] = process.argv.slice(2);
const blocked = `${attemptsFile}.blocked`;
const dataset = Array.from({ length: Number(rows) }, (_, index) => ({ input: `question ${index}`, output: `answer ${index}` }));

/** Never ends. */
const held = Promise.withResolvers<never>();
let executions = existsSync(attemptsFile) ? readFileSync(attemptsFile, 'utf8').split('\n').length - 1 : 0;
const { progress, resumed } = await runExperiment({
  experimentName: name,
  projectName: 'callers',
  dataset,
  metrics: ['exact_match'],
  concurrency: Number(concurrency),
  async function(input: string, { ordinal }) {
    appendFileSync(attemptsFile, `${ordinal} ${process.pid}\n`);
    if (Number(blockFor) > 0 && ordinal === 30 && !existsSync(blocked)) {
      writeFileSync(blocked, '');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockFor)); // nothing else happens in this process meanwhile
    }
    if (Number(holdAt) > 0 && ++executions > Number(holdAt)) await held.promise;
    await sleep(50);
    return input.replace('question', 'answer');
  },
});
console.log(JSON.stringify({ ...progress, resumed }));
