import { type KeyboardEvent, useId, useRef, useState } from 'react';
import type { FilterTextError } from '../../../shared/filterText/filterSyntax.ts';
import { useTextOfPage } from '../parts/useDraft.ts';
import { useKeys } from '../parts/useKeys.ts';
import styles from './FilterBar.module.css';
import { type Option, withOption } from './filterCompletion.ts';

interface Props {
  /** The filter that was asked for. */
  q: string;
  /** Why it cannot be read. */
  problem: FilterTextError | undefined;
  placeholder: string;
  /** Finds the texts that may come next at the caret; none where there is no caret. */
  useCompletion(text: string, caret: number | undefined): { options: readonly Option[]; note: string };
  onAsk(q: string | undefined): void;
}

/** The filter as text, with completion of columns, operators and values. Enter asks; what cannot be read is shown at its place and stays. */
export function FilterBar({ q, problem, placeholder, useCompletion, onAsk }: Props) {
  const [text, setText] = useTextOfPage('filter', q);
  const [caret, setCaret] = useState<number>();
  const [chosenText, setChosenText] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { options, note } = useCompletion(text, caret);
  const chosen = options.findIndex((option) => option.text === chosenText);
  // The list below is that of the filter that was asked for, and a text that was kept may be another.
  const isAsked = text.trim() === q.trim();
  useKeys({ '/': () => input.current?.focus() });

  const suggest = () => {
    const { value = '', selectionStart } = input.current ?? {};
    setCaret(selectionStart ?? value.length);
  };
  // The caret is set in the next frame, when the field has the text. What closes the list in between is not undone, nor a choice that is made in between.
  const frame = useRef(0);
  const suggestAt = (place: number) => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      input.current?.setSelectionRange(place, place);
      suggest();
    });
  };
  const close = () => {
    cancelAnimationFrame(frame.current);
    setCaret(undefined);
    setChosenText(undefined);
  };
  /** First the list closes, then the table has the keyboard. */
  const leave = () => {
    if (caret === undefined || (options.length === 0 && note === '')) document.querySelector<HTMLElement>('[role=grid]')?.focus();
    close();
  };
  const take = (option: Option) => {
    const taken = withOption(text, caret ?? text.length, option);
    setChosenText(undefined); // an Enter right behind it asks
    setText(taken.text);
    suggestAt(taken.caret);
  };
  const ask = () => {
    close();
    if (text.trim() === q) setText(q);
    onAsk(text.trim() || undefined);
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
    else if (event.key === 'Escape') leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
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
        aria-description={isAsked ? undefined : 'not asked yet: Enter asks'}
        aria-activedescendant={chosen >= 0 ? `${listId}-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={text}
        onChange={(event) => {
          // With the text: an arrow right behind a letter is to choose among what fits all letters.
          cancelAnimationFrame(frame.current);
          const { value, selectionStart } = event.target;
          setText(value);
          setCaret(selectionStart ?? value.length);
          setChosenText(undefined);
        }}
        onFocus={suggest}
        onBlur={close}
        onKeyDown={onKeyDown}
      />
      {!isAsked && <kbd className={styles.unasked}>Enter</kbd>}
      <div className={styles.completions} hidden={options.length === 0 && note === ''}>
        <div
          id={listId}
          role="listbox"
          aria-label="Completions"
          tabIndex={-1} // browsers stop at what can be scrolled, and it goes when the field is left
          hidden={options.length === 0}
          className={styles.options}
        >
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
