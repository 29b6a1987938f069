import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The paths of the files in a folder and in those below it. The engine removes folders of merged parts at any moment: what is gone has none. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const paths = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
  return (await Promise.all(paths)).flat();
}
