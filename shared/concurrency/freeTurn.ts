import { setImmediate as nextLoop, setTimeout as pause } from 'node:timers/promises';
import { currentCaller } from './currentCaller.ts';
import { othersArePresent } from './presentCallers.ts';

/**
 * Milliseconds of one turn of the event loop that all work together takes which asks here. A search of another caller needs some ten turns, and waits for
 * each of them.
 */
const MS_PER_TURN = 2;
/** Where other callers are present, the work of one caller gets a third of the time. */
const PART = 3;
/** Milliseconds that a caller may be ahead of that third, so that an answer of a few hundred kilobytes is not delayed. */
const MS_AHEAD = 30;

let turnBegan: number | undefined;
/** Up to when the time of this turn is counted. */
let countedUntil = 0;
/** By caller: until when the time that its work took is its part of all time. */
const paidUntil = new Map<string, number>();

/**
 * For work that awaits nothing but itself for long, such as reading a file row by row: asked before it and after every piece, it lets the event loop go
 * on where the time of this turn is used up. A piece takes well under a millisecond. Where other callers are present, they get two thirds of the time.
 */
export function freeTurn(): Promise<void> | undefined {
  const now = performance.now();
  if (turnBegan === undefined) {
    beginTurn(now);
    return undefined;
  }
  if (now - turnBegan < MS_PER_TURN) return undefined;
  const took = now - Math.max(turnBegan, countedUntil);
  countedUntil = now;
  return nextTurn(now, took);
}

function beginTurn(now: number): void {
  turnBegan = now;
  setImmediate(() => {
    turnBegan = undefined;
  });
}

async function nextTurn(now: number, took: number): Promise<void> {
  const caller = currentCaller();
  await (caller !== undefined && othersArePresent(caller) ? leaveTime(caller, now, took) : nextLoop());
  // Where several wait, the first of them begins the turn of all.
  if (turnBegan === undefined) beginTurn(performance.now());
}

/** Milliseconds of CPU that this thread has taken: on a busy machine short work takes long otherwise. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds from which work without a pause is long. */
const LONG_MS = 100;

/**
 * For work that could not pause, such as a statement of the embedded Postgres, asked after it: where it held the event loop for long, and other callers
 * are present, they get two thirds of the time.
 * @param took milliseconds of CPU
 */
export function leaveTimeAfter(took: number): Promise<void> | undefined {
  const caller = currentCaller();
  if (took < LONG_MS || caller === undefined || !othersArePresent(caller)) return undefined;
  countedUntil = performance.now();
  return leaveTime(caller, countedUntil, took);
}

/** Several works of one caller wait one after the other. */
async function leaveTime(caller: string, now: number, took: number): Promise<void> {
  const until = Math.max(now, paidUntil.get(caller) ?? 0) + took * PART;
  paidUntil.set(caller, until);
  const wait = until - now - MS_AHEAD;
  await (wait > 0 ? pause(wait) : nextLoop());
  if ((paidUntil.get(caller) ?? 0) <= performance.now()) paidUntil.delete(caller);
}
