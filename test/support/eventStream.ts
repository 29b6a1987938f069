import { expect, onTestFinished } from 'vitest';

/** A stream of events as it is on the wire. It ends with the test, at the latest. */
export async function openEvents(url: string, headers: Record<string, string>) {
  const left = new AbortController();
  const response = await fetch(url, { headers, signal: left.signal });
  onTestFinished(() => left.abort());
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let ended = false;
  const next = async () => {
    const { done, value } = await reader.read();
    ended ||= done;
    text += value ?? '';
  };
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    leave: () => left.abort(),
    /** Reads until the text has come. */
    async until(awaited: string) {
      while (!text.includes(awaited) && !ended) await next();
      expect(text).toContain(awaited);
    },
    async untilEnd() {
      while (!ended) await next();
    },
  };
}
