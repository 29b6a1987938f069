import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mustBeStartable } from '../../shared/jobs/jobs.ts';
import { otherJobs, startableJobs } from '../../shared/wire/jobs.ts';
import { everyEndpoint } from '../support/everyEndpoint.ts';

/** The names of jobs that the interface has. */
const names = [
  ...['default', 'inference', 'lykos_migration', 'monitor_run', 'monitor_scorer', 'prompt_chain_run', 'prompt_optimization'],
  ...['prompt_rater', 'prompt_run', 'prompt_scorer', 'protect_scorer', 'registered_scorer_validation', 'metric_critique'],
  ...['auto_gen', 'generated_scorer_validation', 'log_record_generated_scorer_validation', 'log_stream_run', 'playground_run'],
  ...['log_stream_scorer', 'synthetic_datagen', 'logstream_insights', 'auto_metric_suggestion'],
];

const refusal = (job_name: string): string | undefined => {
  try {
    mustBeStartable({ job_name });
    return undefined;
  } catch (err) {
    return (err as { items: { msg: string }[] }).items[0]?.msg;
  }
};

test('every job of the interface is started, or refused with what does the same here', () => {
  expect([...startableJobs, ...Object.keys(otherJobs)].sort()).toEqual(names.toSorted());
  for (const name of names)
    expect([name, refusal(name)]).toEqual([name, startableJobs.includes(name) ? undefined : expect.stringContaining(': ')]);
});

test('another name is refused with those that can be started', () => {
  for (const name of ['playground', '__proto__', 'constructor'])
    expect(refusal(name)).toBe(`there is no such job; those that can be started: ${startableJobs.join(', ')}`);
});

test('the operations that a refusal names are served', async () => {
  const served = new Set((await everyEndpoint()).map(({ method, path }) => `${method.toUpperCase()} /v2${path}`));
  const named = Object.values(otherJobs).flatMap((text) => text.match(/(?:GET|POST) \/v2\/[\w/{}-]+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  for (const operation of named) expect(served).toContain(operation);
});

test('the page of jobs names each of them', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/jobs.md'), 'utf8');
  for (const name of names) expect(page).toContain(`\`${name}\``);
});
