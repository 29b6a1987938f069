/** JSON for a file of lines: with what readers of other languages take for the end of one written as an escape. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return LINE_ENDS.test(text)
    ? text.replaceAll(new RegExp(LINE_ENDS, 'g'), (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text;
}

const LINE_ENDS = /[\u0085\u2028\u2029]/;
