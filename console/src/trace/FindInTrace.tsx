import { sentenceOf } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import type { Found } from './useFound.ts';

interface Props {
  /** The one that is looked for. */
  text: string | undefined;
  found: Found;
  /** Marks what has the text while it is typed. */
  onType(text: string): void;
  /** Keeps it in the address. */
  onFind(text: string | undefined): void;
  /** Goes on to the next of these. */
  onNext(ids: ReadonlySet<string>): void;
}

/** Finds a text in the trace, by names while it is typed, and says where it looked and how many have it. Enter leads to the first, and from there to the next. */
export function FindInTrace({ text, found, onType, onFind, onNext }: Props) {
  const find = async (wanted: string) => {
    onFind(wanted || undefined);
    if (wanted !== '') onNext(await found.of(wanted));
  };
  return (
    <>
      <input
        type="search"
        aria-label="Find in the trace"
        placeholder="Find in names, inputs, outputs; Enter"
        defaultValue={text ?? ''}
        onChange={(event) => onType(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') void find(event.currentTarget.value);
          if (event.key === 'Escape') document.querySelector<HTMLElement>('[role=treegrid]')?.focus();
        }}
      />
      {text !== undefined && (
        <span role="status" className="quiet">
          {found.error
            ? `${countText(found.ids.size)} by name alone: ${sentenceOf(found.error)}`
            : found.isReading
              ? `${countText(found.ids.size)} by name, searching inputs and outputs …`
              : `${countText(found.ids.size)} found in names, inputs, outputs, errors`}
        </span>
      )}
    </>
  );
}
