import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One connection to a service, for what no HTTP client would send. */
export interface RawConnection {
  socket: Socket;
  /** Resolves when the other side has closed, with the received text that no call of `answer` took. */
  closed: Promise<string>;
  /** The next answer, once its body has the length it names. */
  answer(): Promise<{ status: number; head: string; text: string }>;
}

export async function rawConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk;
  });
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  socket.on('error', () => undefined); // a reset ends it too: `closed` resolves then
  return {
    socket,
    closed,
    async answer() {
      for (;;) {
        const end = received.indexOf('\r\n\r\n');
        const head = received.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        const body = Buffer.from(received.slice(end + 4));
        if (end >= 0 && body.length >= length) {
          received = body.toString('utf8', length);
          return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), head, text: body.toString('utf8', 0, length) };
        }
        if (socket.destroyed) throw new Error(`the connection was closed amid the answer: ${JSON.stringify(received)}`);
        await Promise.race([once(socket, 'data'), closed]);
      }
    },
  };
}
