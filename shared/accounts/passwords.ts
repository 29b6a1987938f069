import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ServiceError } from '../errors/errors.ts';

const derive = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>;

// OWASP Password Storage Cheat Sheet, Argon2id, second choice of its equal ones: 19 MiB, 2 passes, 1 lane. About 30 ms here.
const recommended = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
const phcString = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export interface Passwords {
  /** PHC string of Argon2id with a fresh salt. */
  hash(password: string): Promise<string>;
  /**
   * True when `password` gives `hash`. Without a hash (no such user) the same work is done and the answer is false.
   * @param party who asks, such as the client's address: parties take turns, and each has only so many places in the line.
   * @throws ServiceError `TooManyRequests` when too many wait already.
   */
  verify(password: string, hash: string | null, party?: string): Promise<boolean>;
}

/**
 * @param limits `atOnce` hashes are computed at a time: each holds 19 MiB and a thread of the pool that files and DNS need too. `waiting` more
 * may wait, `waitingOfOne` of them of one party; a longer line is refused rather than let grow.
 * @param cost what a hash takes; less than is recommended is for tests alone.
 */
export function createPasswords(
  limits: { atOnce: number; waiting: number; waitingOfOne: number },
  cost: Readonly<typeof recommended> = recommended,
): Passwords {
  const inTurn = createLine(limits);
  const ofNobody = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(randomBytes(SALT_BYTES))}$${unpadded(randomBytes(TAG_BYTES))}`;
  return {
    hash: (password) =>
      inTurn('', async () => {
        const salt = randomBytes(SALT_BYTES);
        const tag = await derive('argon2id', { message: password, nonce: salt, tagLength: TAG_BYTES, ...cost });
        return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
      }),
    verify: (password, hash, party = '') =>
      inTurn(party, async () => {
        const [, memory, passes, parallelism, salt = '', tag = ''] = phcString.exec(hash ?? ofNobody) ?? [];
        const expected = Buffer.from(tag, 'base64');
        if (expected.length === 0) throw new Error('a stored password hash is not a PHC string of Argon2id');
        const actual = await derive('argon2id', {
          message: password,
          nonce: Buffer.from(salt, 'base64'),
          tagLength: expected.length,
          memory: Number(memory),
          passes: Number(passes),
          parallelism: Number(parallelism),
        });
        return timingSafeEqual(actual, expected) && hash !== null;
      }),
  };
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

function createLine({ atOnce, waiting, waitingOfOne }: { atOnce: number; waiting: number; waitingOfOne: number }) {
  let running = 0;
  let inLine = 0;
  // In the order of their turns; none is empty.
  const lines = new Map<string, (() => void)[]>();
  const nextInLine = (): (() => void) | undefined => {
    const [first] = lines;
    if (!first) return undefined;
    const [party, line] = first;
    lines.delete(party);
    const go = line.shift();
    if (line.length > 0) lines.set(party, line);
    inLine -= 1;
    return go;
  };
  return async <T>(party: string, work: () => Promise<T>): Promise<T> => {
    if (running < atOnce) running += 1;
    else {
      const line = lines.get(party) ?? [];
      if (inLine >= waiting || line.length >= waitingOfOne)
        throw new ServiceError('TooManyRequests', 'too many logins at once: try again in a moment', { retryAfterSeconds: 2 });
      inLine += 1;
      lines.set(party, line);
      // A call that ends hands its place over, so `running` does not change.
      await new Promise<void>((go) => line.push(go));
    }
    try {
      return await work();
    } finally {
      const next = nextInLine();
      if (next) next();
      else running -= 1;
    }
  };
}
