import { useMemo } from 'react';
import { JsonText } from './JsonText.tsx';
import { LongText } from './LongText.tsx';

/** Reading more at once would hold the page for longer than a person waits for a key. */
const MOST_CHARACTERS = 2_000_000;

/** A text, or the tree of the JSON that it is. */
export function TextOrJson({ text }: { text: string }) {
  const mayBeJson = /^\s*[[{]/.test(text);
  const isLong = text.length > MOST_CHARACTERS;
  const isTree = useMemo(() => mayBeJson && (isLong || isJson(text)), [text, mayBeJson, isLong]);
  if (text === '') return <p className="quiet">an empty text</p>;
  return isTree ? <JsonText text={text} /> : <LongText text={text} />;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
