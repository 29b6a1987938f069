import { useMemo } from 'react';
import { entriesAt, isBranch, type JsonEntry, type JsonPiece, jsonPieceOf } from '../../../shared/wire/jsonPieces.ts';
import { countText } from '../parts/format.ts';
import { JsonBranch, JsonEntries, JsonFrame, JsonLeaf, sizeText } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';

/** The entries of longer pieces are found when they are opened. */
const LONG = 100_000;

/**
 * A JSON text as a tree of what is written in it: keys in their order, also one that comes twice, and numbers with all their digits. Of each object or list
 * that is opened its entries are found, however long the text is.
 */
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
  const { text, start, end } = props;
  if (!isBranch(text, start)) return <Leaf {...props} />;
  return end - start <= LONG ? <ShortBranch {...props} /> : <LongBranch {...props} />;
}

function LongBranch(props: Props) {
  const { text, start, end, name, depth } = props;
  return (
    <JsonBranch
      name={name}
      summary={`${text[start] === '[' ? 'a list' : 'an object'} of ${countText(end - start)} characters`}
      depth={depth}
      isOpenAtFirst={depth === 0}
    >
      {/* The levels below are closed at first, as there may be much of them. */}
      {(level) => <Entries {...props} depth={level + 1} />}
    </JsonBranch>
  );
}

function ShortBranch(props: Props) {
  const { text, start, end, name, depth } = props;
  const entries = useMemo(() => props.entries ?? entriesAt(text, start)?.entries, [props.entries, text, start]);
  if (!entries) return <JsonLeaf value={text.slice(start, end)} name={name} />;
  return (
    <JsonBranch name={name} summary={sizeText(entries.length, text[start] === '[')} depth={depth} isOpenAtFirst={depth < 2}>
      {(level) => <Entries {...props} entries={entries} depth={level} />}
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

function Leaf({ text, start, end, name }: Props) {
  const written = text.slice(start, end);
  const value = useMemo(() => readOf(written), [written]);
  return <JsonLeaf value={value} name={name} written={typeof value === 'string' ? undefined : written} />;
}

/** The value of a text or number; anything else as it is written. */
function readOf(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}
