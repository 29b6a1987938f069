/** Texts inside of texts that are read: `"{\"arguments\": \"{\\\"city\\\": …}\"}"` has three. */
const MAX_DEPTH = 8;

/**
 * A JSON text without the escapes that it does not need, also in the JSON texts within: `"Z\u00fcrich"` becomes `"Zürich"`, which a search finds.
 * Everything else stays as it was written, numbers and spaces included. What is no JSON stays as it is.
 */
export function readableJson(text: string, depth = 0): string {
  if (!text.includes('\\u') || !/^\s*[[{"]/.test(text) || !isJson(text)) return text;
  const readable = unescaped(text);
  return depth < MAX_DEPTH && readable.includes('\\\\u') ? withReadableTexts(readable, depth) : readable;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A loop over character codes: an expression that calls a function for each escape takes seconds for some megabytes of them. */
function unescaped(json: string): string {
  const codes = new Uint16Array(json.length);
  let length = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    codes[length++] = code;
    if (code !== BACKSLASH) continue;
    const escaped = json.charCodeAt(at + 1);
    const unit = escaped === U ? hexAt(json, at + 2) : 0;
    const pair = isHigh(unit) && json.charCodeAt(at + 6) === BACKSLASH && json.charCodeAt(at + 7) === U ? hexAt(json, at + 8) : 0;
    if (isLow(pair)) {
      codes[length - 1] = unit;
      codes[length++] = pair;
      at += 11;
    } else if (isPlain(unit)) {
      codes[length - 1] = unit;
      at += 5;
    } else {
      codes[length++] = escaped;
      at++;
    }
  }
  return length === json.length ? json : Buffer.from(codes.buffer, 0, 2 * length).toString('utf16le');
}

const BACKSLASH = 0x5c;
const U = 0x75;

function hexAt(json: string, at: number): number {
  let value = 0;
  for (let digit = at; digit < at + 4; digit++) {
    const code = json.charCodeAt(digit) | 0x20;
    value = value * 16 + (code < 0x3a ? code - 0x30 : code - 0x57);
  }
  return value;
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000;
/** Quotes, backslashes, control characters and halves of characters need their escapes. */
const isPlain = (code: number): boolean => code >= 0xa0 && !isHigh(code) && !isLow(code);

/** The JSON texts among the strings of a JSON text, made readable. */
function withReadableTexts(json: string, depth: number): string {
  let readable = '';
  let written = 0;
  for (let start = json.indexOf('"'); start !== -1; ) {
    const end = endOfString(json, start);
    const string = json.slice(start, end);
    if (string.includes('\\\\u')) {
      const text = JSON.parse(string) as string;
      const readableText = readableJson(text, depth + 1);
      if (readableText !== text) {
        readable += json.slice(written, start) + JSON.stringify(readableText);
        written = end;
      }
    }
    start = json.indexOf('"', end);
  }
  return written === 0 ? json : readable + json.slice(written);
}

/** Behind the quote that closes the string. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
}

const QUOTE = 0x22;
