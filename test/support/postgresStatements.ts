import type { TcpProxy } from './tcpProxy.ts';

/** One exchange that a client waited for: a statement, several that were sent together, or the opening of a connection. */
export interface RoundTrip {
  text: string;
  /** Places in the order of all that went over the proxy; `answered` is infinite until the server is ready again. */
  sent: number;
  answered: number;
}

/** Hears of every round trip of the clients of a Postgres server behind a proxy. */
export function postgresStatements(proxy: TcpProxy): { since(place: number): RoundTrip[]; now(): number } {
  const trips: RoundTrip[] = [];
  const open = new Map<number, RoundTrip[]>();
  const texts = new Map<number, string>();
  let place = 0;
  const begin = (connection: number, text: string) => {
    const trip = { text, sent: place++, answered: Number.POSITIVE_INFINITY };
    trips.push(trip);
    open.set(connection, [...(open.get(connection) ?? []), trip]);
  };
  const sent = new Messages((connection, type, body) => {
    if (type === '') begin(connection, 'connect');
    else if (type === 'Q') begin(connection, body.toString('utf8', 0, body.length - 1));
    else if (type === 'P')
      texts.set(
        connection,
        body
          .subarray(body.indexOf(0) + 1)
          .toString()
          .split('\0')[0] ?? '',
      );
    else if (type === 'S') begin(connection, texts.get(connection) ?? '');
  }, true);
  const received = new Messages((connection, type) => {
    const trip = type === 'Z' ? open.get(connection)?.shift() : undefined;
    if (trip) trip.answered = place++;
  }, false);
  proxy.onSent((data, connection) => sent.read(data, connection));
  proxy.onReceived((data, connection) => received.read(data, connection));
  return { since: (from) => trips.filter((trip) => trip.sent >= from), now: () => place };
}

/** The most of these that came one after the other: each was sent when the one before it had been answered. */
export function oneAfterTheOther(trips: readonly RoundTrip[]): number {
  const depths = new Map<RoundTrip, number>();
  for (const trip of trips) {
    const before = trips.filter(({ answered }) => answered < trip.sent).map((one) => depths.get(one) ?? 0);
    depths.set(trip, 1 + Math.max(0, ...before));
  }
  return Math.max(0, ...depths.values());
}

/** Takes the bytes of each connection apart into messages of the protocol: a type, the length of all that follows, a body. */
class Messages {
  readonly #rests = new Map<number, Buffer>();
  readonly #hear: (connection: number, type: string, body: Buffer) => void;
  readonly #startsUntyped: boolean;

  constructor(hear: (connection: number, type: string, body: Buffer) => void, startsUntyped: boolean) {
    this.#hear = hear;
    this.#startsUntyped = startsUntyped;
  }

  read(data: Buffer, connection: number): void {
    const before = this.#rests.get(connection);
    let rest = before ? Buffer.concat([before, data]) : data;
    let typeBytes = this.#startsUntyped && before === undefined ? 0 : 1;
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) break;
      this.#hear(connection, rest.toString('latin1', 0, typeBytes), rest.subarray(typeBytes + 4, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    this.#rests.set(connection, rest);
  }
}
