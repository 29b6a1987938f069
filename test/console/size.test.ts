import { beforeAll, expect, test } from 'vitest';
import { type ConsoleBytes, consoleBytes } from '../support/consoleBytes.ts';

let bytes: ConsoleBytes;
beforeAll(async () => {
  bytes = await consoleBytes();
});

test('sign-in loads at most 130 KB of JavaScript', () => {
  expect(bytes.kilobytes(bytes.filesOf())).toBeLessThanOrEqual(130);
});

test('the records load at most 205 KB of JavaScript', () => {
  expect(bytes.kilobytes(bytes.filesOf('src/records/RecordsPage.tsx'))).toBeLessThanOrEqual(205);
});

test.each(['projects/ProjectsPage', 'trace/TracePage', 'sessionPage/SessionPage', 'frame/Palette', 'frame/Help'])(
  '%s loads at most 45 KB beyond the records',
  (page) => {
    const records = bytes.filesOf('src/records/RecordsPage.tsx');
    const own = [...bytes.filesOf(`src/${page}.tsx`)].filter((file) => !records.has(file));
    expect(own.length).toBeGreaterThan(0);
    expect(bytes.kilobytes(own)).toBeLessThanOrEqual(45);
  },
);
