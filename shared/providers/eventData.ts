/** An event of a stream of server-sent events: the lines of its data. */
export interface EventData {
  name: string | undefined;
  lines: string[];
}

/**
 * The events of a stream of bytes, as servers really write them: lines end in CR, LF or both, a character or a line end may be cut anywhere, comments
 * stand between, and the last event may lack its empty line. Events without data are left out.
 */
export async function* eventData(parts: AsyncIterable<Uint8Array>): AsyncGenerator<EventData, void> {
  const decoder = new TextDecoder(); // skips a byte order mark
  let rest = '';
  let name: string | undefined;
  let lines: string[] = [];
  const event = (): EventData[] => {
    const ended = lines.length > 0 ? [{ name, lines }] : [];
    name = undefined;
    lines = [];
    return ended;
  };
  const take = (line: string): EventData[] => {
    if (line === '') return event();
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') lines.push(value ?? '');
    else if (field === 'event') name = value;
    return [];
  };
  for await (const part of parts) {
    const text = decoder.decode(part, { stream: true });
    // A line that comes in thousands of parts is not looked through again for each.
    if (!/[\r\n]/.test(text) && !rest.endsWith('\r')) {
      rest += text;
      continue;
    }
    rest += text;
    // A CR at the end may be the half of a line end.
    const isHalf = rest.endsWith('\r');
    const whole = (isHalf ? rest.slice(0, -1) : rest).split(/\r\n|\r|\n/);
    rest = (whole.pop() ?? '') + (isHalf ? '\r' : '');
    for (const line of whole) yield* take(line);
  }
  rest += decoder.decode();
  for (const line of rest.split(/\r\n|\r|\n/)) yield* take(line);
  yield* event();
}
