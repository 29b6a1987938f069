/** Lines of JSON as one JSON array, while they arrive. */
export async function* jsonArrayOf(lines: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let before = '[\n';
  let rest = '';
  for await (const bytes of lines) {
    const found = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = found.pop() ?? '';
    for (const line of found) {
      if (line === '') continue;
      yield before + line;
      before = ',\n';
    }
  }
  rest += decoder.decode();
  if (rest !== '') yield before + rest;
  yield rest !== '' || before !== '[\n' ? '\n]\n' : '[]\n';
}
