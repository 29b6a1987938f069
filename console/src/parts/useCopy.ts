import { useEffect, useState } from 'react';

/** Copies a text; says so, or why not, for two seconds. */
export function useCopy(): [said: string | undefined, copy: (text: string) => Promise<void>] {
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('The browser does not let pages copy');
    }
  };
  return [said, copy];
}
