/** The lines of a text that comes in pieces of bytes, those of a piece together. A piece may end within a line, and within a character. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[], void> {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + utf8.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield lines.filter((line) => line !== '');
  }
  rest += utf8.decode();
  if (rest !== '') yield [rest];
}
