import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildConsole } from '../../api/console/buildConsole.ts';

const DIST = join(import.meta.dirname, '../../console/dist');

export interface ConsoleBytes {
  /** The files of JavaScript that a browser has loaded when the entry and these modules of `console/` are there. */
  filesOf(...modules: string[]): Set<string>;
  /** Kilobytes (1,000 bytes) of the files with gzip. */
  kilobytes(files: Iterable<string>): number;
}

/** Reads the manifest of the console as built, which is built first. */
export async function consoleBytes(): Promise<ConsoleBytes> {
  await buildConsole(() => undefined);
  const text = readFileSync(join(DIST, '.vite/manifest.json'), 'utf8');
  const manifest = JSON.parse(text) as Record<string, { file: string; imports?: string[] }>;
  return {
    filesOf(...modules) {
      const seen = new Set<string>();
      const visit = (name: string) => {
        if (seen.has(name)) return;
        seen.add(name);
        const chunk = manifest[name];
        if (!chunk) throw new Error(`the console has no module ${name} of its own`);
        for (const one of chunk.imports ?? []) visit(one);
      };
      for (const name of ['index.html', ...modules]) visit(name);
      return new Set([...seen].map((name) => manifest[name]?.file ?? ''));
    },
    kilobytes: (files) =>
      [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length, 0) / 1_000,
  };
}
