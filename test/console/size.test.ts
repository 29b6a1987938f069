import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../api/console/buildConsole.ts';

const DIST = join(import.meta.dirname, '../../console/dist');
type Manifest = Record<string, { file: string; imports?: string[] }>;
let manifest: Manifest;
beforeAll(async () => {
  await buildConsole(() => undefined);
  manifest = JSON.parse(readFileSync(join(DIST, '.vite/manifest.json'), 'utf8')) as Manifest;
});

/** The files that a browser has loaded when the entry and these are there. */
function filesOf(...names: string[]): Set<string> {
  const seen = new Set<string>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const one of manifest[name]?.imports ?? []) visit(one);
  };
  for (const name of ['index.html', ...names]) visit(name);
  return new Set([...seen].map((name) => manifest[name]?.file ?? ''));
}
/** Kilobytes of JavaScript with gzip. */
const kilobytes = (files: Set<string>): number =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length, 0) / 1_000;

test('sign-in loads at most 130 KB of JavaScript', () => {
  expect(kilobytes(filesOf())).toBeLessThanOrEqual(130);
});

test('the records load at most 205 KB of JavaScript', () => {
  expect(kilobytes(filesOf('src/records/RecordsPage.tsx'))).toBeLessThanOrEqual(205);
});

test.each(['projects/ProjectsPage', 'trace/TracePage', 'sessionPage/SessionPage', 'frame/Palette', 'frame/Help'])(
  '%s loads at most 45 KB beyond the records',
  (page) => {
    const records = filesOf('src/records/RecordsPage.tsx');
    const own = new Set([...filesOf(`src/${page}.tsx`)].filter((file) => !records.has(file)));
    expect(own.size).toBeGreaterThan(0);
    expect(kilobytes(own)).toBeLessThanOrEqual(45);
  },
);
