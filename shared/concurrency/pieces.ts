/** Work that can be interrupted where it yields. A piece takes well under a millisecond. */
export type Pieces<T> = Generator<undefined, T>;

/**
 * Milliseconds of one turn of the event loop that all work in pieces of this process takes together, however many lanes score. A request needs a
 * few turns; what it waits beside long texts `npm run bench -- metrics` prints.
 */
const MS_PER_TURN = 5;

/** Runs one piece. @returns true when the work goes on */
type Step = () => boolean;

/** First pieces: they come first, so that a short metric does not wait for a long one. */
const begun: Step[] = [];
/** Work that has more pieces. One is finished before the next goes on, so that the memory of one is in use. */
const unfinished: Step[] = [];
let usedMs = 0;
let isRunning = false;
let isTurnCounted = false;

/**
 * Runs work piece by piece: the event loop gets its turn whenever the time of a turn is used up.
 * @throws what the work throws, or the signal's reason when it aborts before the work has ended
 */
export function pieceByPiece<T>(pieces: Pieces<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    begun.push(() => {
      try {
        signal.throwIfAborted();
        const { done, value } = pieces.next();
        if (done) resolve(value);
        return !done;
      } catch (err) {
        reject(err);
        return false;
      }
    });
    runPieces();
  });
}

/** Runs work that cannot be interrupted, within the time that such work has in a turn. @throws as {@link pieceByPiece} does */
export async function inOnePiece<T>(work: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
  // biome-ignore lint/correctness/useYield: there is one piece
  const pieces = function* (): Pieces<T | Promise<T>> {
    return work();
  };
  return pieceByPiece(pieces(), signal);
}

/** Runs work to its end at once, where it is known to be short. */
export function allPieces<T>(pieces: Pieces<T>): T {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

const isWaiting = (): boolean => begun.length > 0 || unfinished.length > 0;

function runPieces(): void {
  if (isRunning) return;
  isRunning = true;
  const [startedAt, usedBefore] = [performance.now(), usedMs];
  while (usedMs < MS_PER_TURN && isWaiting()) {
    const isFirst = begun.length > 0;
    const step = (isFirst ? begun.shift() : unfinished[0]) as Step;
    const goesOn = step();
    if (isFirst && goesOn) unfinished.push(step);
    if (!isFirst && !goesOn) unfinished.shift();
    usedMs = usedBefore + performance.now() - startedAt;
  }
  isRunning = false;
  if (isTurnCounted) return;
  isTurnCounted = true;
  setImmediate(nextTurn);
}

/** Runs once in each turn of the event loop in which pieces were run. */
function nextTurn(): void {
  usedMs = 0;
  isTurnCounted = false;
  if (isWaiting()) runPieces();
}
