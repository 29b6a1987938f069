import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { type GetModuleInfo, type ManualChunksOption, type ModuleFormat, type Plugin, rollup } from 'rollup';
import { commonJs } from './commonJs.ts';
import { withoutBlanks } from './withoutBlanks.ts';

/**
 * Bytes of a file at most, its blanks included: without them it is a quarter smaller. The same file in another format stands beside it in a package, and
 * gzip sees within 32 KiB what is the same.
 */
const MAX_PART_BYTES = 34_000;

export interface Bundled {
  /** Entry modules by the name of their file. */
  input: Record<string, string>;
  plugins: Plugin[];
  extension: '.js' | '.d.ts';
}

/**
 * Bundles the modules that the entries lead to, in a few files for each format: entries under their own names, `part1`, `part2`, … below them.
 * @returns texts by path, the first folder being the format's
 */
export async function bundleParts(
  { input, plugins, extension }: Bundled,
  formats: Record<string, ModuleFormat>,
): Promise<Map<string, string>> {
  const bundle = await rollup({
    input,
    plugins,
    onLog(_level, { code, message }) {
      if (code !== 'EMPTY_BUNDLE') throw new Error(message); // declarations that nothing public names
    },
  });
  const hasMap = extension === '.js';
  const texts = new Map<string, string>();
  for (const [folder, format] of Object.entries(formats)) {
    const { output } = await bundle.generate({
      format: 'es',
      entryFileNames: `[name]${extension}`,
      chunkFileNames: `[name]${extension}`,
      sourcemap: hasMap,
      sourcemapExcludeSources: true,
      minifyInternalExports: false,
      hoistTransitiveImports: false,
      manualChunks: inParts(Object.values(input)),
    });
    for (const file of output) {
      const path = `${folder}/${file.fileName}`;
      if (file.type === 'chunk' && !file.isEntry && file.exports.length === 0) continue;
      if (file.type === 'chunk') texts.set(path, withoutBlanks(format === 'cjs' ? commonJs(file.code) : file.code));
      else texts.set(path, byLine(String(file.source)));
    }
  }
  await bundle.close();
  return texts;
}

/** Modules in the order in which they need each other, cut where a part is full: no part needs a later one. */
function inParts(entries: string[]): ManualChunksOption {
  let parts: Map<string, string> | undefined;
  return (id, { getModuleInfo }) => {
    parts ??= cut(
      inOrder(entries, getModuleInfo).filter((one) => !entries.includes(one)),
      getModuleInfo,
    );
    return parts.get(id);
  };
}

function inOrder(entries: string[], getModuleInfo: GetModuleInfo): string[] {
  const order = new Set<string>();
  const visit = (id: string): void => {
    if (order.has(id)) return;
    for (const needed of getModuleInfo(id)?.importedIds ?? []) visit(needed);
    if (!getModuleInfo(id)?.isExternal) order.add(id);
  };
  entries.forEach(visit);
  return [...order];
}

function cut(ids: string[], getModuleInfo: GetModuleInfo): Map<string, string> {
  const parts = new Map<string, string>();
  let number = 1;
  let bytes = 0;
  for (const id of ids) {
    const size = getModuleInfo(id)?.code?.length ?? 0;
    if (bytes > 0 && bytes + size > MAX_PART_BYTES) {
      number++;
      bytes = 0;
    }
    bytes += size;
    parts.set(id, `part${number}`);
  }
  return parts;
}

/**
 * One position a line, its first, without columns: enough for stack traces and breakpoints. All positions would take a third of the package, and
 * the columns 3 KB of its 60.
 */
function byLine(sourceMap: string): string {
  const map = JSON.parse(sourceMap) as { mappings: string };
  const lines = decode(map.mappings).map(([first]): SourceMapSegment[] =>
    first && first.length > 1 ? [[0, first[1] as number, first[2] as number, 0]] : [],
  );
  return JSON.stringify({ ...map, mappings: encode(lines) });
}
