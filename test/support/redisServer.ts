import { ownPort } from './ownPort.ts';
import { accepts, findProgram, type ServerProcess, serverProcess, startServer, untilUp } from './serverProcess.ts';

export const redisProgram = { name: 'redis-server', path: findProgram('redis-server') };

export interface RedisServer extends ServerProcess {
  url: string;
  port: number;
}

/** A Redis of its own that keeps nothing on disk. */
export async function startRedisServer(program: string, options: { port?: number } = {}): Promise<RedisServer> {
  const port = options.port ?? (await ownPort());
  const child = startServer(program, [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    '/tmp',
  ]);
  await untilUp(child, () => accepts(port));
  return { url: `redis://127.0.0.1:${port}`, port, ...serverProcess(child) };
}
