import { useCallback, useLayoutEffect, useRef } from 'react';

/** Returns a function that stays the same and does what the newest one given does, so that what it is handed to is not built anew for it. */
export function useSteady<A extends readonly unknown[]>(act: (...args: A) => void): (...args: A) => void {
  const newest = useRef(act);
  useLayoutEffect(() => {
    newest.current = act;
  });
  return useCallback((...args) => newest.current(...args), []);
}
