import { type OperatorText, operators, type Token, tokensOf } from './filterSyntax.ts';

interface Part {
  /** Without quotes. */
  text: string;
  start: number;
}

/** The end of a filter's text that is still being written. */
export interface WrittenPart {
  /** Where the condition begins. */
  start: number;
  /** The words of its column that are complete. */
  column: string;
  /** Undefined until it is complete. */
  operator: OperatorText | undefined;
  /** The text after the operator, or after the last comma of its list. */
  value: Part;
  /** The word that the text ends with; empty behind a space or sign. */
  word: Part;
  /** True where the condition may be complete, so that `and` or `or` can follow. */
  mayEnd: boolean;
}

/** Reads a text up to where somebody writes, however incomplete it is. */
export function writtenPart(text: string): WrittenPart {
  const tokens = tokensOf(text, unquotedSoFar).slice(0, -1);
  let column: Token[] = [];
  let value: Token[] = [];
  let operator: OperatorText | undefined;
  let isClosed = false;
  let start: number | undefined;
  const begin = () => {
    column = [];
    value = [];
    operator = undefined;
    isClosed = false;
    start = undefined;
  };
  const read = (token: Token) => {
    const isKeyword = (...words: string[]) =>
      token.kind === 'word' && !token.isQuoted && token.end < text.length && words.includes(token.text.toLowerCase());
    if (isKeyword('and', 'or')) return begin();
    if (token.kind === 'close') isClosed = true;
    else if (operator !== undefined) {
      if (token.kind === 'open' || (token.kind === 'comma' && isList(operator))) value = [];
      else value.push(token);
    } else if (token.kind === 'open' || (column.length === 0 && isKeyword('not'))) begin();
    else if (token.kind === 'operator' && token.text in operators) operator = token.text as OperatorText;
    else if (column.length > 0 && isKeyword('contains')) operator = 'contains';
    else if (column.length > 0 && isKeyword('in')) {
      const isNegated = column.length > 1 && column.at(-1)?.text.toLowerCase() === 'not';
      if (isNegated) column.pop();
      operator = isNegated ? 'not in' : 'in';
    } else {
      start ??= token.start;
      column.push(token);
    }
  };
  for (const token of tokens) read(token);

  const last = (operator === undefined ? column : value).at(-1);
  const isInWord = !isClosed && last !== undefined && last.end === text.length;
  const word = isInWord ? { text: last.text, start: last.start } : { text: '', start: text.length };
  const complete = operator === undefined && isInWord ? column.slice(0, -1) : column;
  return {
    start: start ?? text.length,
    column: partOf(complete, text, complete.at(-1)?.end).text,
    operator,
    value: isClosed ? { text: '', start: text.length } : partOf(value, text, text.length),
    word,
    mayEnd: isClosed || value.length > 1 || (value.length > 0 && !isInWord),
  };
}

const isList = (operator: OperatorText): boolean => operator === 'in' || operator === 'not in';

/** Words that stand side by side, with what is between them. */
function partOf(words: readonly Token[], text: string, end = text.length): Part {
  const [first] = words;
  if (!first) return { text: '', start: text.length };
  return { text: first.isQuoted ? first.text : text.slice(first.start, end), start: first.start };
}

function unquotedSoFar(written: string): string {
  for (const whole of [written, `${written}"`])
    try {
      return JSON.parse(whole) as string;
    } catch {
      // Its end is still missing.
    }
  return written.slice(1);
}
