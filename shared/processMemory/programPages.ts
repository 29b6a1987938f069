import { readFile } from 'node:fs/promises';

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

/**
 * Unmaps the pages of the programs and libraries that this process runs. Their files have them, and those that are used again are mapped again, from the
 * kernel's cache as a rule. The record engine runs through 170 MB of its library as it starts and needs some 10 of them when it idles; until the
 * kernel wants their room, all would count as memory of this process. On systems other than Linux nothing is done.
 *
 * Node.js cannot call madvise, so koffi does. It goes when Node.js has a foreign-function interface of its own (https://github.com/nodejs/node/pull/46905).
 */
export async function unmapProgramPages(): Promise<void> {
  if (process.platform !== 'linux') return;
  // Where it has no build for the machine, the pages stay.
  const koffi = await import('koffi').then((loaded) => loaded.default).catch(() => undefined);
  if (!koffi) return;
  const madvise = koffi.load(null).func('int madvise(uintptr_t address, size_t length, int advice)');
  for (const { start, length } of programMappings(await readFile('/proc/self/smaps', 'utf8'))) {
    madvise(start, length, MADV_DONTNEED);
  }
}

/**
 * The mappings of programs and libraries that hold nothing but what their files do: read-only, and without a page that was changed, as the
 * loader changes those with addresses. No other file counts: a program stays mapped as long as the process runs, so no other thread can have put memory of
 * its own in its place meanwhile.
 * @param smaps the text of /proc/PID/smaps
 */
export function programMappings(smaps: string): Mapping[] {
  const mappings = [...smaps.matchAll(MAPPING)].flatMap(({ groups }) => {
    const { from = '', to = '', mode = '', file = '', details = '' } = groups ?? {};
    if (!file.startsWith('/')) return [];
    const start = BigInt(`0x${from}`);
    return [
      {
        start,
        length: BigInt(`0x${to}`) - start,
        file,
        mode,
        resident: kilobytes(details, 'Rss') * 1024,
        // In memory, or in the swap space.
        changed: kilobytes(details, 'Anonymous') + kilobytes(details, 'Swap'),
      },
    ];
  });
  const programs = new Set(mappings.filter(({ mode }) => mode.includes('x')).map(({ file }) => file));
  return mappings
    .filter(({ file, mode, changed }) => programs.has(file) && /^r-[x-]p$/.test(mode) && changed === 0)
    .map(({ start, length, resident, file }) => ({ start, length, resident, file }));
}

const MAPPING = /^(?<from>[0-9a-f]+)-(?<to>[0-9a-f]+) (?<mode>\S{4}) \S+ \S+ \d+ *(?<file>.*)\n(?<details>(?:[A-Z]\w*:.*\n?)*)/gm;

/** NaN where the kernel does not say. */
const kilobytes = (details: string, name: string): number =>
  Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(details)?.[1] ?? Number.NaN);
