import { useMemo } from 'react';
import { entriesAt, isBranch, type JsonEntry, type JsonPiece, jsonPieceOf } from '../../../shared/wire/jsonPieces.ts';
import { parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { countText } from '../parts/format.ts';
import { JsonBranch, JsonEntries, JsonFrame, JsonLeaf, JsonNode } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';

/** Pieces up to so many characters are read as a whole. */
const WHOLE = 100_000;

/** A JSON text that is too long to be read at once: of each object or list that is opened its entries are found, and read when they are small. */
export function JsonText({ text }: { text: string }) {
  const piece = useMemo(() => jsonPieceOf(text), [text]);
  if (!piece) return <LongText text={text} />;
  return (
    <JsonFrame>
      <Piece text={text} {...piece} name={undefined} depth={0} />
    </JsonFrame>
  );
}

interface Props extends JsonPiece {
  text: string;
  name: string | undefined;
  depth: number;
  /** Where they are known already. */
  entries?: readonly JsonEntry[];
}

function Piece(props: Props) {
  const { text, start, end, name, depth } = props;
  if (end - start <= WHOLE || !isBranch(text, start)) return <ReadPiece {...props} />;
  return (
    <JsonBranch
      name={name}
      summary={`${text[start] === '[' ? 'a list' : 'an object'} of ${countText(end - start)} characters`}
      depth={depth}
      isOpenAtFirst={depth === 0}
    >
      {(level) => <Entries {...props} depth={level} />}
    </JsonBranch>
  );
}

function Entries({ text, start, depth, entries: known }: Props) {
  const entries = useMemo(() => known ?? entriesAt(text, start)?.entries ?? [], [text, start, known]);
  return (
    <JsonEntries size={entries.length}>
      {(place) => {
        const { name, ...piece } = entries[place] as JsonEntry;
        const label = name === undefined ? String(place) : String(readOf(name));
        return <Piece key={place} text={text} {...piece} name={label} depth={depth + 1} />;
      }}
    </JsonEntries>
  );
}

function ReadPiece({ text, start, end, name, depth }: Props) {
  const value = useMemo(() => readOf(text.slice(start, end)), [text, start, end]);
  if (typeof value === 'object' && value !== null) return <JsonNode value={value} name={name} depth={depth + 1} />;
  return <JsonLeaf value={value} name={name} />;
}

/** Shows JSON as a tree, and any other text as it is written. */
function readOf(written: string): unknown {
  try {
    return parseWithBigInts(written);
  } catch {
    return written;
  }
}
