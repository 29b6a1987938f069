import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** An HTTP proxy before the service that keeps what it was sent. */
export interface RecordingProxy extends AsyncDisposable {
  url: string;
  /** Bodies of the `POST` requests whose path ends so, in their order. */
  sent(path: RegExp): unknown[];
}

export async function startRecordingProxy(to: string): Promise<RecordingProxy> {
  const posts: { path: string; body: unknown }[] = [];
  const server = createServer(async (incoming, answer) => {
    const body = await buffer(incoming);
    const path = incoming.url ?? '/';
    if (incoming.method === 'POST') posts.push({ path, body: body.length > 0 ? JSON.parse(body.toString()) : undefined });
    const outgoing = request(new URL(path, to), { method: incoming.method, headers: incoming.headers });
    outgoing.on('error', () => answer.destroy());
    outgoing.end(body);
    const [reply] = await once(outgoing, 'response');
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  // The caller closes what is idle: a busy process closes a connection before it has read the request that has come on it.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: (path) => posts.filter((one) => path.test(one.path)).map(({ body }) => body),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
