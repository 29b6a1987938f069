/** Files named in the parts of inputs and outputs; undefined where there are none, as nearly always. */
export function fileIds(...values: unknown[]): string[] | undefined {
  let found: Set<string> | undefined;
  const open = values.filter(isObject);
  for (let value = open.pop(); value; value = open.pop()) {
    if (Array.isArray(value)) {
      for (const item of value) if (isObject(item)) open.push(item);
      continue;
    }
    const { type, file_id, content } = value as { type?: unknown; file_id?: unknown; content?: unknown };
    if (type === 'file' && typeof file_id === 'string') {
      found ??= new Set();
      found.add(file_id);
    }
    if (isObject(content)) open.push(content);
  }
  return found && [...found];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
