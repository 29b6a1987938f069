import { createContext, type ReactNode, use, useState } from 'react';
import { countText } from '../parts/format.ts';
import styles from './Payload.module.css';
import { useSteps } from './useSteps.tsx';

/** A JSON value as a tree. What is closed is not built, so a large value costs what is seen of it. */
export const JsonTree = ({ value }: { value: unknown }) => (
  <JsonFrame>
    <JsonNode value={value} name={undefined} depth={0} />
  </JsonFrame>
);

/** Levels below each other on the page: React and browsers call themselves for each, and a thousand are too many for them. */
const MOST_LEVELS = 100;
/** Shows what is below a level in place of all that is above it. */
const ShowBelow = createContext<(below: () => ReactNode) => void>(() => undefined);

/** Frames a tree: deep inside of it a level becomes the new top, and a button leads back. */
export function JsonFrame({ children }: { children: ReactNode }) {
  const [tops, setTops] = useState<readonly (() => ReactNode)[]>([]);
  return (
    <div className={styles.json}>
      {tops.length > 0 && (
        <button type="button" onClick={() => setTops(tops.slice(0, -1))}>
          Back up {countText(MOST_LEVELS)} levels
        </button>
      )}
      <ShowBelow value={(below) => setTops([...tops, below])}>
        {[() => children, ...tops].map((show, level) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a level is its place; what was open above stays open
          <div key={level} hidden={level !== tops.length}>
            {show()}
          </div>
        ))}
      </ShowBelow>
    </div>
  );
}

interface NodeProps {
  value: unknown;
  /** Its key, or place in a list; absent for what is at the top. */
  name: string | undefined;
  depth: number;
}

export function JsonNode({ value, name, depth }: NodeProps) {
  if (typeof value !== 'object' || value === null) return <JsonLeaf value={value} name={name} />;
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  const size = keys ? keys.length : (value as unknown[]).length;
  return (
    <JsonBranch name={name} summary={sizeText(size, !keys)} depth={depth} isOpenAtFirst={depth < 2}>
      {(level) => (
        <JsonEntries size={size}>
          {(place) => {
            const key = keys?.[place] ?? String(place);
            return <JsonNode key={key} name={key} depth={level + 1} value={(value as Record<string, unknown>)[key]} />;
          }}
        </JsonEntries>
      )}
    </JsonBranch>
  );
}

export const sizeText = (size: number, isList: boolean): string =>
  isList ? `${countText(size)} in a list` : `${countText(size)} ${size === 1 ? 'key' : 'keys'}`;

interface BranchProps {
  name: string | undefined;
  summary: string;
  depth: number;
  isOpenAtFirst: boolean;
  /** Called while it is open, with the level at which it is. */
  children(depth: number): ReactNode;
}

/** An object or list with the button that opens it. */
export function JsonBranch({ name, summary, depth, isOpenAtFirst, children }: BranchProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const showBelow = use(ShowBelow);
  const toggle = () => (depth < MOST_LEVELS ? setOpen(!isOpen) : showBelow(() => children(0)));
  return (
    <div>
      <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={toggle}>
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> <Label name={name} />
        <span className="quiet">{summary}</span>
      </button>
      {isOpen && <div className={styles.inner}>{children(depth)}</div>}
    </div>
  );
}

/** The first entries of an object or list, and more when they are asked for. */
export function JsonEntries({ size, children }: { size: number; children(place: number): ReactNode }) {
  const [shown, more] = useSteps(size, { first: 100, more: 1_000 });
  return (
    <>
      {Array.from({ length: shown }, (_, place) => children(place))}
      {more}
    </>
  );
}

interface LeafProps {
  value: unknown;
  name: string | undefined;
  /** A number or word as its text has it. */
  written?: string | undefined;
}

/** A value that has no others. */
export function JsonLeaf({ value, name, written = String(value) }: LeafProps) {
  return (
    <div className={styles.leaf}>
      <Label name={name} />
      {typeof value === 'string' ? <TextLeaf text={value} /> : <span className={styles.literal}>{written}</span>}
    </div>
  );
}

function TextLeaf({ text }: { text: string }) {
  const [shown, more] = useSteps(text.length, { first: 2_000, more: 100_000, left: 'characters are left' });
  return (
    <>
      <span className={styles.text}>{JSON.stringify(more === null ? text : text.slice(0, shown))}</span>
      {more}
    </>
  );
}

/** A key may be long, too. */
const Label = ({ name }: { name: string | undefined }) =>
  name === undefined ? null : <span className={styles.name}>{name.slice(0, 500)}: </span>;
