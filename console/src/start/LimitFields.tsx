import { useId, useRef } from 'react';
import { Icon } from '../parts/Icon.tsx';
import { LabelledField, NumberField, Problems } from './Field.tsx';
import styles from './StartPage.module.css';
import { useStartForm } from './startForm.ts';

/** How many rows go on at once, and when the run gives up or waits. */
export function LimitFields() {
  const { draft, change } = useStartForm();
  return (
    <details className={styles.section}>
      <summary>
        <h2>Speed, limits and failures</h2>
      </summary>
      <div className={styles.pair}>
        <NumberField label="Rows at a time" field="concurrency" min={1} max={1_000} />
        <NumberField
          label="Seconds for a row"
          field="rowSeconds"
          step="any"
          placeholder="600"
          hint="A row that takes longer has failed."
        />
        <NumberField label="Tries of a call" field="attempts" min={1} max={100} placeholder="6" />
        <NumberField label="Pause after failed rows" field="pauseAfter" placeholder="0" hint="One after the other. 0: never." />
        <NumberField
          label="Pause after provider failures"
          field="pauseAfterProvider"
          placeholder="20"
          hint="One after the other: it is down, or refuses everything."
        />
        <LabelledField label="A row that failed counts" field="failedRows">
          {(control) => (
            <select
              {...control}
              value={draft.failedRows}
              onChange={(event) => change({ failedRows: event.target.value as typeof draft.failedRows })}
            >
              <option value="omit">not at all</option>
              <option value="worst">as the worst value of the metric</option>
            </select>
          )}
        </LabelledField>
        <NumberField label="Model calls at a time" field="limitCalls" min={1} placeholder="of the integration" />
        <NumberField label="Model calls a minute" field="limitRequests" min={1} placeholder="of the integration" />
        <NumberField label="Tokens a minute" field="limitTokens" min={1} placeholder="of the integration" />
      </div>
    </details>
  );
}

/** Tags of the experiment, such as the commit that it is about. */
export function TagFields() {
  const { draft, change, problemsAt } = useStartForm();
  const fields = useRef<HTMLFieldSetElement>(null);
  const problems = problemsAt('tags');
  const said = useId();
  const invalid = (isWrong: boolean) =>
    problems.length > 0 && isWrong ? ({ 'aria-invalid': true, 'aria-describedby': said } as const) : {};
  const isTwice = (key: string) => draft.tags.filter((one) => one.key.trim() === key.trim()).length > 1;
  const add = () => {
    change({ tags: [...draft.tags, { id: crypto.randomUUID(), key: '', value: '' }] });
    requestAnimationFrame(() =>
      fields.current?.querySelector<HTMLElement>(`[aria-label="Key of tag ${draft.tags.length + 1}"]`)?.focus(),
    );
  };
  const set = (id: string, changed: { key?: string; value?: string }) =>
    change({ tags: draft.tags.map((tag) => (tag.id === id ? { ...tag, ...changed } : tag)) });
  return (
    <fieldset ref={fields} className={styles.section}>
      <legend>Tags</legend>
      {draft.tags.map(({ id, key, value }, index) => (
        <div key={id} className={styles.tag}>
          <input
            {...invalid(key.trim() !== '' && isTwice(key))}
            aria-label={`Key of tag ${index + 1}`}
            placeholder="key"
            maxLength={256}
            value={key}
            onChange={(event) => set(id, { key: event.target.value })}
          />
          <input
            {...invalid(key.trim() !== '' && value.trim() === '')}
            aria-label={`Value of tag ${index + 1}`}
            placeholder="value"
            maxLength={256}
            value={value}
            onChange={(event) => set(id, { value: event.target.value })}
          />
          <button
            type="button"
            className="plain"
            aria-label={`Remove tag ${index + 1}`}
            onClick={() => change({ tags: draft.tags.filter((tag) => tag.id !== id) })}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      {problems.length > 0 && (
        <div id={said}>
          <Problems problems={problems} />
        </div>
      )}
      <button type="button" className={styles.add} onClick={add}>
        Add a tag
      </button>
    </fieldset>
  );
}
