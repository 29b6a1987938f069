import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { embeddedSettings } from '../../shared/childProcesses/nodeSettings.ts';

const folder = mkdtempSync(join(tmpdir(), 'node-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a program that says how it runs. */
async function started(environment: NodeJS.ProcessEnv, ...flags: string[]) {
  const settings = join(import.meta.dirname, '../../shared/childProcesses/nodeSettings.ts');
  const program = join(folder, 'program.ts');
  writeFileSync(
    program,
    `import { applyNodeSettings, embeddedSettings } from ${JSON.stringify(settings)};
    applyNodeSettings(embeddedSettings, process.env);
    const { pid, execArgv, env, argv } = process;
    console.log(JSON.stringify({ pid, execArgv, env, argv }));`,
  );
  const child = spawn(process.execPath, [...flags, program, 'an argument'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { execArgv, env, argv, pid } = JSON.parse(await text(child.stdout)) as Pick<
    NodeJS.Process,
    'execArgv' | 'env' | 'argv' | 'pid'
  >;
  return { isSameProcess: pid === child.pid, execArgv, env, given: argv.slice(2) };
}

test('a program of the service starts itself with its settings, as the same process, and keeps what the user has set', async () => {
  const bare = await started({ PATH: process.env.PATH });
  expect(bare).toMatchObject({ isSameProcess: true, execArgv: embeddedSettings.flags, given: ['an argument'] });
  expect(bare.env).toEqual({ PATH: process.env.PATH, ...embeddedSettings.environment });

  const own = await started({ PATH: process.env.PATH, MALLOC_ARENA_MAX: '4' }, '--v8-pool-size=3', '--no-warnings');
  expect(own.execArgv).toEqual([
    '--v8-pool-size=3',
    '--no-warnings',
    ...embeddedSettings.flags.filter((it) => !it.includes('pool-size')),
  ]);
  expect(own.env).toMatchObject({ MALLOC_ARENA_MAX: '4', UV_THREADPOOL_SIZE: '16' });
});
