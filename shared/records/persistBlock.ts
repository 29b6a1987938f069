import { ServiceError } from '../errors/errors.ts';
import type { Block } from './recordStore.ts';
import { LocksLost } from './writeLocks.ts';

/** Pauses before a block that could not be stored is sent again. */
const RETRY_MS = [50, 200, 800];

/**
 * Sends a block, up to four times while the store is away; the store knows a repeat by its token.
 * @param confirm asked before each of its steps: nothing more is sent when it rejects
 * @param onSent called when the block is stored, or some of it may be
 */
export async function persistBlock(block: Block, confirm: () => Promise<void>, onSent: () => void): Promise<void> {
  let isBegun = false;
  const begin = async () => {
    await confirm();
    isBegun = true;
  };
  for (const pause of [...RETRY_MS, undefined]) {
    try {
      await block.send(begin);
      onSent();
      return;
    } catch (err) {
      if (isBegun || !(err instanceof LocksLost)) onSent();
      if (pause === undefined || !isTransient(err) || err instanceof LocksLost) throw err;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** True when the store may accept the same block later: it is not reachable, or short of memory or time. */
export const isTransient = (err: unknown): boolean =>
  err instanceof ServiceError && (err.code === 'Unavailable' || err.code === 'QueryTooExpensive');

/** A statement of ours that is too expensive is no fault of the client that logs: the store is short of memory or time. */
export const asUnavailable = (err: unknown): unknown =>
  err instanceof ServiceError && err.code === 'QueryTooExpensive'
    ? new ServiceError('Unavailable', 'the record store is overloaded; send this request again later', {
        retryAfterSeconds: 2,
        cause: err,
      })
    : err;
