import type { CallGate } from '../coordination/coordination.ts';
import { untilStored } from './untilStored.ts';

/**
 * The gate of model calls, of which callers wait for their permit while its store is lost: what is under way goes on, and no row starts over.
 * @param onTrouble gets what keeps them waiting
 */
export const retryingCallGate = (calls: CallGate, onTrouble: (err: unknown) => void): CallGate => ({
  enter: (key, limits, options) => untilStored(() => calls.enter(key, limits, options), options.signal, onTrouble),
  heldBack: calls.heldBack,
  changed: calls.changed,
});
