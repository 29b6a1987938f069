import { freeTurn } from './freeTurn.ts';

/** Things that are read at once: some 20 ms of the embedded Postgres, which runs on the event loop. */
export const PIECE = 200;

/** Returns the answers of `read` for a list that may be long, in its order. It reads piece by piece, and other callers are let in between. */
export async function inPieces<T, R>(
  list: readonly T[],
  read: (piece: readonly T[]) => Promise<readonly R[]> | readonly R[],
): Promise<R[]> {
  const all: R[] = [];
  for (let from = 0; from < list.length; from += PIECE) {
    await freeTurn();
    for (const one of await read(list.slice(from, from + PIECE))) all.push(one);
  }
  return all;
}
