import { useEffect, useMemo, useState } from 'react';
import type { DiffQuestion } from './diff.worker.ts';
import { type TextDiff, textDiff } from './textDiff.ts';

/** Characters of both texts that are compared while the page waits. */
const AT_ONCE = 20_000;
/** Milliseconds that the page waits for them. */
const AT_ONCE_MS = 30;

/** Compares two texts word by word; undefined while a worker compares large ones. */
export function useTextDiff(before: string, after: string): TextDiff | undefined {
  const small = useMemo(() => smallDiff(before, after), [before, after]);
  const [large, setLarge] = useState<DiffQuestion & { found: TextDiff }>();
  useEffect(() => {
    if (small) return;
    const worker = new Worker(new URL('./diff.worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<TextDiff>) => setLarge({ before, after, found: data }));
    // Without an answer both texts are shown as they are.
    worker.addEventListener('error', () => setLarge({ before, after, found: replaced(before, after) }));
    worker.postMessage({ before, after } satisfies DiffQuestion);
    return () => worker.terminate();
  }, [small, before, after]);
  return small ?? (large?.before === before && large.after === after ? large.found : undefined);
}

function smallDiff(before: string, after: string): TextDiff | undefined {
  if (before.length + after.length > AT_ONCE) return undefined;
  const found = textDiff(before, after, { timeoutMs: AT_ONCE_MS, most: AT_ONCE });
  return found.notCompared === 0 ? found : undefined;
}

const replaced = (before: string, after: string): TextDiff => ({
  parts: [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ],
  notCompared: before.length + after.length,
});
