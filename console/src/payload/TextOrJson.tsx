import { useMemo } from 'react';
import { parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { JsonText } from './JsonText.tsx';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';

/** Reading more at once would hold the page for longer than a person waits for a key. */
const MOST_CHARACTERS = 2_000_000;

/** A text, or the tree of the JSON that it is. */
export function TextOrJson({ text }: { text: string }) {
  const mayBeJson = /^\s*[[{]/.test(text);
  const isLong = text.length > MOST_CHARACTERS;
  const read = useMemo(() => (mayBeJson && !isLong ? jsonIn(text) : undefined), [text, mayBeJson, isLong]);
  if (text === '') return <p className="quiet">an empty text</p>;
  if (mayBeJson && isLong) return <JsonText text={text} />;
  return read === undefined ? <LongText text={text} /> : <JsonTree value={read} />;
}

function jsonIn(text: string): unknown {
  try {
    return parseWithBigInts(text);
  } catch {
    return undefined;
  }
}
