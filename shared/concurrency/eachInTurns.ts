import { freeTurn } from './freeTurn.ts';

/** Elements between two looks at the time: tens of microseconds. */
const ELEMENTS = 64;

/** Goes through a list that may be long: the event loop goes on in between. */
export async function eachInTurns<T>(list: readonly T[], act: (element: T) => void): Promise<void> {
  let done = 0;
  for (const element of list) {
    act(element);
    if (++done % ELEMENTS === 0) await freeTurn();
  }
}
