/** Words and signs of conditions, and the operators of a search's filter. */
export const operators = {
  '=': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
  contains: 'contains',
  in: 'one_of',
  'not in': 'not_in',
} as const;
export type OperatorText = keyof typeof operators;

/** A part of the text, from `start` up to and without `end`. */
export interface Place {
  start: number;
  end: number;
}
export interface Word extends Place {
  text: string;
  isQuoted: boolean;
}

/** A condition as it is written: what its column and values mean depends on the columns of the run. */
export interface Condition {
  column: Word;
  operator: OperatorText;
  operatorPlace: Place;
  values: Word[];
}
export type Expression = { condition: Condition } | { and: Expression[] } | { or: Expression[] } | { not: Expression };

/** A problem of a filter's text, and its place. */
export class FilterTextError extends Error {
  override readonly name = 'FilterTextError';
  readonly place: Place;
  constructor(message: string, place: Place) {
    super(message);
    this.place = place;
  }
}

/** Brackets and `not` nest at most this deep: as deep as a search's filter may. */
const MAX_DEPTH = 32;

export type Token = Word & { kind: 'word' | 'operator' | 'open' | 'close' | 'comma' | 'end' };

const token = /\s*(?:("(?:[^"\\]|\\.)*"?)|(<=|>=|!=|=|<|>)|(\()|(\))|(,)|([^\s"<>=!(),]+|!))/y;
const kinds = ['word', 'operator', 'open', 'close', 'comma', 'word'] as const;

/** The words and signs of a text, then one `end`. A text in quotes that does not end is as `unquote` reads it. */
export function tokensOf(text: string, unquote = unquoted): Token[] {
  const tokens: Token[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const group = match.findIndex((part, index) => index > 0 && part !== undefined);
    const written = match[group] as string;
    const end = match.index + match[0].length;
    const place = { start: end - written.length, end };
    const isQuoted = group === 1;
    tokens.push({
      ...place,
      kind: kinds[group - 1] as Token['kind'],
      isQuoted,
      text: isQuoted ? unquote(written, place) : written,
    });
  }
  return [...tokens, { kind: 'end', text: '', isQuoted: false, start: text.length, end: text.length }];
}

function unquoted(written: string, place: Place): string {
  try {
    return JSON.parse(written) as string;
  } catch {
    throw new FilterTextError('this text in quotes does not end, or has a backslash that means nothing', place);
  }
}

/**
 * Reads conditions (`column operator value`) joined by `and`, `or`, `not` and brackets; `and` binds closer than `or`. A column or value of several words
 * may stand without quotes as long as none of them is `and`, `or` or a sign.
 * @throws FilterTextError at the first character that cannot be read
 */
export function parseExpression(text: string): Expression {
  const tokens = tokensOf(text);
  let at = 0;
  const peek = (ahead = 0) => tokens[Math.min(at + ahead, tokens.length - 1)] as Token;
  const isKeyword = (one: Token, ...words: string[]) =>
    one.kind === 'word' && !one.isQuoted && words.includes(one.text.toLowerCase());

  function joined(keyword: 'or' | 'and', part: () => Expression): Expression {
    const parts = [part()];
    while (isKeyword(peek(), keyword)) {
      at += 1;
      parts.push(part());
    }
    if (parts.length === 1) return parts[0] as Expression;
    return keyword === 'or' ? { or: parts } : { and: parts };
  }
  const either = (depth: number): Expression => joined('or', () => joined('and', () => one(depth)));

  function one(depth: number): Expression {
    const first = peek();
    if (depth > MAX_DEPTH) throw new FilterTextError(`brackets and not nest at most ${MAX_DEPTH} deep`, first);
    if (isKeyword(first, 'not')) {
      at += 1;
      return { not: one(depth + 1) };
    }
    if (first.kind !== 'open') return { condition: condition() };
    at += 1;
    const inner = either(depth + 1);
    if (peek().kind !== 'close') throw new FilterTextError('here ) is missing, or and, or or', peek());
    at += 1;
    return inner;
  }

  /** Words that stand side by side, as they are written; undefined where there is none. */
  function words(ends: () => boolean, { withCommas = false } = {}): Word | undefined {
    const first = peek();
    if (first.kind !== 'word' || ends()) return undefined;
    at += 1;
    if (first.isQuoted) return first;
    let last = first;
    while (((peek().kind === 'word' && !peek().isQuoted) || (withCommas && peek().kind === 'comma')) && !ends()) {
      last = peek();
      at += 1;
    }
    return { start: first.start, end: last.end, isQuoted: false, text: text.slice(first.start, last.end) };
  }

  /** `contains`, `in` and `not in` as operators: after a column, and before a value. */
  function wordOperator(): OperatorText | undefined {
    if (isKeyword(peek(), 'contains', 'in')) return peek().text.toLowerCase() as OperatorText;
    return isKeyword(peek(), 'not') && isKeyword(peek(1), 'in') ? 'not in' : undefined;
  }

  function condition(): Condition {
    const column = words(() => wordOperator() !== undefined || isKeyword(peek(), 'and', 'or'));
    if (!column) throw new FilterTextError('here a column is missing, as in status_code = 500', peek());
    const operatorPlace = { start: peek().start, end: peek().end };
    const byWord = wordOperator();
    if (!byWord && peek().kind !== 'operator')
      throw new FilterTextError(
        `after ${column.text} one of ${Object.keys(operators).join(' ')} is missing`,
        peek().kind === 'end' ? column : peek(),
      );
    const operator = byWord ?? (peek().text as OperatorText);
    at += operator === 'not in' ? 2 : 1;
    operatorPlace.end = tokens[at - 1]?.end ?? operatorPlace.end;
    const values = operator === 'in' || operator === 'not in' ? list() : [value({ withCommas: true })];
    return { column, operator, operatorPlace, values };
  }

  function value(options = {}): Word {
    const found = words(() => isKeyword(peek(), 'and', 'or'), options);
    if (!found)
      throw new FilterTextError('here a value is missing; one that begins with a sign or bracket stands in quotes', peek());
    return found;
  }

  /** `a, b` or `(a, b)`. */
  function list(): Word[] {
    const isBracketed = peek().kind === 'open';
    if (isBracketed) at += 1;
    const values = [value()];
    while (peek().kind === 'comma') {
      at += 1;
      values.push(value());
    }
    if (!isBracketed) return values;
    if (peek().kind !== 'close') throw new FilterTextError('here ) or a comma is missing', peek());
    at += 1;
    return values;
  }

  const expression = either(0);
  if (peek().kind !== 'end')
    throw new FilterTextError('before this and, or or is missing; a value that holds signs or brackets stands in quotes', peek());
  return expression;
}
