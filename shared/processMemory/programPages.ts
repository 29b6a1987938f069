import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A part of the address space, in bytes, and the file that it shows. */
interface Mapping {
  file: string;
  start: bigint;
  length: bigint;
  /** Bytes of it that are in memory and mapped. */
  resident: number;
}

/** madvise(2): unmap these pages. Of a file they are read again when they are next used. */
const MADV_DONTNEED = 4;

/** Returns whether a file stays mapped as long as this process runs, so that no other thread can have put memory of its own in its place. */
const isLasting = (file: string): boolean => file === process.execPath || file.endsWith('/libchdb.so');

/**
 * Unmaps the pages of Node.js and of the record engine. Their files have them, and those that are used again are mapped again, from the kernel's cache as
 * a rule. The engine runs through 170 MB of its library as it starts and needs some 30 of them when it idles; until the kernel wants their room,
 * all would count as memory of this process. On systems other than Linux nothing is done.
 *
 * Node.js cannot call madvise, so koffi does. It goes when Node.js has a foreign-function interface of its own (https://github.com/nodejs/node/pull/46905).
 */
export function unmapProgramPages(): void {
  if (process.platform !== 'linux') return;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const madvise = koffi.load(null).func('int madvise(uintptr_t address, size_t length, int advice)');
    for (const { file, start, length } of programMappings(readFileSync('/proc/self/smaps', 'utf8'))) {
      if (isLasting(file)) madvise(start, length, MADV_DONTNEED);
    }
  } catch {
    // The pages stay: koffi has no file for this machine, or the system hides its mappings. Nothing depends on it.
  }
}

/**
 * The mappings of programs and libraries that hold nothing but what their files do: read-only, and without a page that was changed, as the
 * loader changes those with addresses.
 * @param smaps the text of /proc/PID/smaps
 */
export function programMappings(smaps: string): Mapping[] {
  const mappings = [...smaps.matchAll(MAPPING)].flatMap(({ groups }) => {
    const { from = '', to = '', mode = '', file = '', details = '' } = groups ?? {};
    return file.startsWith('/') ? [{ from, to, mode, file, details }] : [];
  });
  const programs = new Set(mappings.filter(({ mode }) => mode.includes('x')).map(({ file }) => file));
  const isReadOnly = (mode: string) => /^r-[x-]p$/.test(mode);
  // In memory, or in the swap space.
  const isChanged = (details: string) => kilobytes(details, 'Anonymous') + kilobytes(details, 'Swap') !== 0;
  return mappings
    .filter(({ file, mode, details }) => programs.has(file) && isReadOnly(mode) && !isChanged(details))
    .map(({ file, from, to, details }) => ({
      file,
      start: BigInt(`0x${from}`),
      length: BigInt(`0x${to}`) - BigInt(`0x${from}`),
      resident: kilobytes(details, 'Rss') * 1024,
    }));
}

const MAPPING = /^(?<from>[0-9a-f]+)-(?<to>[0-9a-f]+) (?<mode>\S{4}) \S+ \S+ \d+ *(?<file>.*)\n(?<details>(?:[A-Z]\w*:.*\n?)*)/gm;

/** NaN where the kernel does not say. */
const kilobytes = (details: string, name: string): number =>
  Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(details)?.[1] ?? Number.NaN);
