import { textDiff } from './textDiff.ts';

/** The question to the worker, which answers a `TextDiff`. */
export interface DiffQuestion {
  before: string;
  after: string;
}

self.addEventListener('message', ({ data: { before, after } }: MessageEvent<DiffQuestion>) => {
  self.postMessage(textDiff(before, after, { timeoutMs: 2_000, most: 300_000 }));
});
