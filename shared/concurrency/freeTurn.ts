import { setImmediate } from 'node:timers/promises';

/**
 * Milliseconds of one turn of the event loop that all work together takes which asks here. A search of another caller needs some ten turns, and waits for
 * each of them.
 */
const MS_PER_TURN = 2;
let turnBegan = 0;

/**
 * For work that awaits nothing but itself for long, such as reading a file row by row: asked after every piece, it lets the event loop go on where
 * the time of this turn is used up. A piece takes well under a millisecond.
 */
export function freeTurn(): Promise<void> | undefined {
  if (performance.now() - turnBegan < MS_PER_TURN) return undefined;
  return nextTurn();
}

async function nextTurn(): Promise<void> {
  await setImmediate();
  // Where several wait, the first of them begins the turn of all.
  if (performance.now() - turnBegan >= MS_PER_TURN) turnBegan = performance.now();
}
