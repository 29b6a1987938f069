import { mkdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/**
 * Holds a folder for this process with a socket that only a living process can answer on: the kernel lets go of it when the process ends, however
 * it ends, and a restarted container's equal process id means nothing.
 * @throws Error with one sentence when another process holds the folder.
 */
export async function lockFolder(folder: string): Promise<{ release(): Promise<void> }> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'lock');
  if (await answers(path)) throw new Error(`the data folder ${folder} is in use by another process: stop it, or give this one a DATA_DIR of its own`);
  const server = await listen(path);
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function listen(path: string): Promise<Server> {
  try {
    unlinkSync(path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
  }
  const server = createServer((socket) => socket.end());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve(server));
  });
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
