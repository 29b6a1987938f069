import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import type { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { useKeys } from '../parts/useKeys.ts';
import { endOfWord, type Option } from './filterCompletion.ts';
import styles from './RecordsPage.module.css';
import { useFilterCompletion } from './useFilterCompletion.ts';
import { type RecordsView, useRecordsAddress } from './useRecordsView.ts';

/** The filter as text, with completion of columns, operators and values. Enter asks; what cannot be read is shown at its place and stays. */
export function FilterBar({ view }: { view: RecordsView }) {
  const [{ q = '' }, change] = useRecordsAddress();
  const [text, setText] = useState(q);
  const [caret, setCaret] = useState<number>();
  const [chosenText, setChosenText] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { options, note } = useFilterCompletion(view, text, caret);
  const chosen = options.findIndex((option) => option.text === chosenText);
  useEffect(() => setText(q), [q]);
  useKeys({ '/': () => input.current?.focus() });

  const suggest = () => {
    const { value = '', selectionStart } = input.current ?? {};
    setCaret(selectionStart ?? value.length);
    setChosenText(undefined);
  };
  // The caret is read in the next frame, when the field has the text. What closes the list in between is not undone.
  const frame = useRef(0);
  const suggestSoon = (before?: () => void) => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      before?.();
      suggest();
    });
  };
  const close = () => {
    cancelAnimationFrame(frame.current);
    setCaret(undefined);
    setChosenText(undefined);
  };
  const take = ({ start, text: taken }: Option) => {
    setText(text.slice(0, start) + taken + text.slice(endOfWord(text, start, caret ?? text.length)).trimStart());
    suggestSoon(() => input.current?.setSelectionRange(start + taken.length, start + taken.length));
  };
  const ask = () => {
    close();
    change({ q: text.trim() || undefined, open: undefined });
  };
  /** Round the options, by way of none. */
  const choose = (next: number) => {
    const at = next < -1 ? options.length - 1 : next;
    setChosenText(options[at]?.text);
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && options.length > 0) choose(chosen + step);
    else if ((event.key === 'Tab' || event.key === 'Enter') && options[chosen]) take(options[chosen]);
    else if (event.key === 'Enter') ask();
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const { problem } = view;
  return (
    <div className={styles.filter}>
      <input
        ref={input}
        role="combobox"
        aria-label="Filter"
        aria-expanded={options.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-invalid={problem !== undefined}
        aria-activedescendant={chosen >= 0 ? `${listId}-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="Filter, as in status_code >= 400 and (name = answer or tags in prod)"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          suggestSoon();
        }}
        onFocus={suggest}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      <div className={styles.completions} hidden={options.length === 0 && note === ''}>
        <div id={listId} role="listbox" aria-label="Completions" hidden={options.length === 0} className={styles.options}>
          {options.map((option, index) => (
            <div
              key={option.text}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === chosen}
              tabIndex={-1}
              onPointerDown={(event) => {
                event.preventDefault(); // the input keeps the focus
                take(option);
              }}
            >
              <code>{option.text}</code>
              <span className="quiet one-line">{option.hint}</span>
            </div>
          ))}
        </div>
        <p aria-hidden className="quiet">
          {note}
        </p>
      </div>
      <span role="status" className="only-read">
        {note}
      </span>
      {problem && <Problem text={q} problem={problem} />}
    </div>
  );
}

function Problem({ text, problem }: { text: string; problem: FilterTextError }) {
  const { start, end } = problem.place;
  return (
    <p role="alert" className={styles.problem}>
      {problem.message}
      {end > start && (
        <>
          : <code>{text.slice(Math.max(0, start - 20), start)}</code>
          <mark>
            <code>{text.slice(start, end)}</code>
          </mark>
          <code>{text.slice(end, end + 20)}</code>
        </>
      )}
    </p>
  );
}
