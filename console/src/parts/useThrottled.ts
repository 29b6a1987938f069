import { useEffect, useRef, useState } from 'react';

/** The value, which changes at most once in so many milliseconds. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    if (Object.is(value, shown)) return;
    const change = () => {
      changedAt.current = Date.now();
      setShown(value);
    };
    const timer = setTimeout(change, Math.max(0, changedAt.current + ms - Date.now()));
    return () => clearTimeout(timer);
  }, [value, shown, ms]);
  return shown;
}
