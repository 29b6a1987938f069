import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { programMappings, unmapProgramPages } from '../../shared/processMemory/programPages.ts';
import { startRecordService } from '../support/recordService.ts';

const mapping = (range: string, mode: string, file: string, { rss = 8, anonymous = 0, swap = 0 } = {}) =>
  `${range} ${mode} 00000000 fe:00 1234 ${file.padStart(40)}\nSize: 64 kB\nRss:    ${rss} kB\nPrivate_Dirty: ${anonymous} kB\nAnonymous:   ${anonymous} kB\nSwap: ${swap} kB\nVmFlags: rd ex mr\n`;

describe('the mappings whose pages their files have', () => {
  test('are the code and the constants of programs, without those that the loader changed', () => {
    const smaps = [
      mapping('400000-500000', 'r-xp', '/usr/bin/node'),
      mapping('7f0000000000-7f0000010000', 'r--p', '/lib/my engine.so', { rss: 16 }),
      mapping('7f0000010000-7f0000030000', 'r-xp', '/lib/my engine.so'),
      mapping('7f0000030000-7f0000040000', 'r--p', '/lib/my engine.so', { anonymous: 4 }),
      mapping('7f0000040000-7f0000050000', 'r--p', '/lib/my engine.so', { swap: 4 }),
      mapping('7f0000050000-7f0000060000', 'rw-p', '/lib/my engine.so'),
    ].join('');
    expect(programMappings(smaps)).toEqual([
      { file: '/usr/bin/node', start: 0x400000n, length: 0x100000n, resident: 8192 },
      { file: '/lib/my engine.so', start: 0x7f0000000000n, length: 0x10000n, resident: 16384 },
      { file: '/lib/my engine.so', start: 0x7f0000010000n, length: 0x20000n, resident: 8192 },
    ]);
  });

  test('are never memory without a file, data, shared files, or ones of which the kernel does not say what changed', () => {
    const kept = [
      mapping('10000-20000', 'r-xp', ''),
      mapping('20000-30000', 'r-xp', '[vdso]'),
      mapping('30000-40000', 'r--p', '/data/a table'),
      mapping('40000-50000', 'r-xs', '/lib/shared.so'),
      mapping('50000-60000', 'rwxp', '/lib/patched.so'),
      mapping('60000-70000', 'r-xp', '/lib/old.so').replace(/Anonymous.*\n/, ''),
    ].join('');
    expect(programMappings(kept)).toEqual([]);
  });
});

test.runIf(process.platform === 'linux')('the record engine goes on after its pages were unmapped', async () => {
  await using service = await startRecordService();
  const { post } = service.space();
  const traces = () => post('/traces', { traces: [{ input: 'q' }] });
  expect((await traces()).status).toBe(200);
  const engine = () =>
    programMappings(readFileSync('/proc/self/smaps', 'utf8'))
      .filter(({ file }) => file.endsWith('libchdb.so'))
      .reduce((sum, { resident }) => sum + resident, 0);
  const before = engine();
  unmapProgramPages();
  expect(engine()).toBeLessThan(before / 2);
  expect((await traces()).status).toBe(200);
  expect((await post('/traces/search', {})).body.num_rows).toBe(2);
});
