import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections and to servers that name none (from 32,768 on Linux, from 49,152 elsewhere): one of those
 * may be gone before the server that it was found for listens there.
 */
const RANGE = { first: 20_000, size: 12_000 };
const MAX_TRIES = 100;

/** A port on which nothing listens, for a server that is started afterwards, maybe more than once. */
export async function freePort(ip = '127.0.0.1'): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = RANGE.first + Math.floor(Math.random() * RANGE.size);
    try {
      await assertFree(port, ip);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries === MAX_TRIES) throw error;
    }
  }
}

/** @throws the system's error when the port is taken or cannot be listened on */
export async function assertFree(port: number, ip = '127.0.0.1'): Promise<void> {
  const probe = createServer().listen(port, ip);
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}
