import { sentenceOf } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import type { Found } from './useFound.ts';

interface Props {
  /** The one in the address. */
  text: string | undefined;
  found: Found;
  onFind(text: string | undefined): void;
  /** Goes on to the next of these. */
  onNext(ids: ReadonlySet<string>): void;
}

/** Finds a text in the trace, and says where it looked and how many have it. Enter leads to the first, and from there to the next. */
export function FindInTrace({ text, found, onFind, onNext }: Props) {
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
        onKeyDown={(event) => {
          if (event.key === 'Enter') void find(event.currentTarget.value);
        }}
      />
      {text !== undefined && (
        <span role="status" className="quiet">
          {found.error
            ? `${countText(found.ids.size)} by name alone: ${sentenceOf(found.error)}`
            : found.isReading
              ? 'Searching …'
              : `${countText(found.ids.size)} found in names, inputs, outputs, errors`}
        </span>
      )}
    </>
  );
}
