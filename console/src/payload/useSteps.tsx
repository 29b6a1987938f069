import { type ReactNode, useState } from 'react';
import { countText } from '../parts/format.ts';

interface Steps {
  first: number;
  /** How many more with each press of the button. */
  more: number;
  /** The words of the button behind the number of those that are left, as in `characters are left`. */
  left?: string;
}

/**
 * How much of something long is on the page, and the button for more of it; null when all is there. A browser builds a million characters, or some thousand
 * elements, in a second.
 */
export function useSteps(size: number, { first, more, left = 'are left' }: Steps): [shown: number, button: ReactNode] {
  const [steps, setSteps] = useState(0);
  const shown = Math.min(size, first + steps * more);
  if (shown === size) return [size, null];
  return [
    shown,
    <button key="more" type="button" onClick={() => setSteps(steps + 1)}>
      Show more ({countText(size - shown)} {left})
    </button>,
  ];
}
