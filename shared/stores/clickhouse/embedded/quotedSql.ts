const escapes: Record<string, string> = {
  '\\': '\\\\',
  "'": "\\'",
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

export const escapeText = (text: string): string => text.replace(/[\\'\0\b\f\n\r\t]/g, (char) => escapes[char] ?? char);
/** A text as SQL has it. */
export const literal = (text: string): string => `'${escapeText(text)}'`;
/** A name as SQL has it. */
export const identifier = (name: string): string => `\`${name.replace(/[\\`]/g, '\\$&')}\``;
