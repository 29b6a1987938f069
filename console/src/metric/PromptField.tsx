import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { judgePlaceholders } from '../../../shared/wire/judgePlaceholders.ts';
import styles from './Judge.module.css';

interface Props {
  value: string;
  /** Metrics whose values the judge is shown. */
  required: readonly string[];
  onChange(text: string): void;
}

const ofRecords = Object.entries(judgePlaceholders).map(([name, { shows }]) => ({ name, shows }));

/** The field of a judge's prompt. Placeholders are completed behind two braces; the arrows choose, Tab or Enter takes. */
export function PromptField({ value, required, onChange }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState<number>();
  const [chosen, setChosen] = useState(0);
  const id = useId();
  // Names of metrics may have spaces.
  const written = caret === undefined ? undefined : /\{\{\s*([^{}\n]*)$/.exec(value.slice(0, caret))?.[1];
  const all = [...required.map((name) => ({ name: `required_scores.${name}`, shows: `the value of ${name}` })), ...ofRecords];
  const options = written === undefined ? [] : all.filter(({ name }) => name.toLowerCase().startsWith(written.toLowerCase()));
  const look = () => {
    setCaret(field.current?.selectionStart);
    setChosen(0);
  };
  const take = (name: string) => {
    const before = value.slice(0, (caret ?? 0) - (written?.length ?? 0));
    const after = value.slice(caret).replace(/^\w*\s*(?:\}\})?/, '');
    const end = before.length + name.length + 2;
    // The caret is behind it before the next key comes.
    flushSync(() => {
      onChange(`${before}${name}}}${after}`);
      setCaret(undefined);
    });
    field.current?.setSelectionRange(end, end);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (options.length === 0) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const name = options[chosen]?.name;
    if (step !== 0) {
      const next = (chosen + step + options.length) % options.length;
      setChosen(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if ((event.key === 'Enter' || event.key === 'Tab') && name) take(name);
    else if (event.key === 'Escape') setCaret(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className={styles.prompt}>
      <label htmlFor={`${id}-field`}>What the judge is asked</label>
      <textarea
        ref={field}
        id={`${id}-field`}
        required
        rows={Math.min(20, Math.max(6, value.slice(0, 10_000).split('\n').length + 1))}
        value={value}
        placeholder={'Does {{output}} answer {{input}}?'}
        aria-autocomplete="list"
        aria-controls={options.length > 0 ? id : undefined}
        aria-activedescendant={options.length > 0 ? `${id}-${chosen}` : undefined}
        onChange={(event) => {
          onChange(event.target.value);
          look();
        }}
        onClick={look}
        onBlur={() => setCaret(undefined)}
        onKeyDown={onKeyDown}
      />
      {options.length > 0 && (
        <div id={id} role="listbox" aria-label="Placeholders" tabIndex={-1} className={styles.options}>
          {options.map(({ name, shows }, index) => (
            <div
              key={name}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === chosen}
              tabIndex={-1}
              onPointerDown={(event) => {
                event.preventDefault(); // the field keeps the focus
                take(name);
              }}
            >
              <code>{`{{${name}}}`}</code>
              <span className="quiet">{shows}</span>
            </div>
          ))}
        </div>
      )}
      <p className="quiet">
        The judge is shown input, output and the spans below a record anyway. <code>{'{{'}</code> adds other parts of it.
      </p>
    </div>
  );
}
