import { parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';
import { jsonIn } from './messages.ts';

/** A text, or the tree of the JSON that it is. */
export function TextOrJson({ text }: { text: string }) {
  if (text === '') return <p className="quiet">an empty text</p>;
  const read = jsonIn(text, parseWithBigInts);
  return read === undefined ? <LongText text={text} /> : <JsonTree value={read} />;
}
