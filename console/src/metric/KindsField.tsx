import styles from './Judge.module.css';

const all = ['trace', 'session', 'llm', 'retriever', 'tool', 'agent', 'workflow'] as const;

/** The kinds of records that a metric looks at. */
export function KindsField({ kinds, onKinds }: { kinds: readonly string[]; onKinds(kinds: string[]): void }) {
  return (
    <fieldset className={styles.kinds}>
      <legend>It looks at</legend>
      {all.map((kind) => (
        <label key={kind} className={styles.check}>
          <input
            type="checkbox"
            checked={kinds.includes(kind)}
            onChange={({ target }) => onKinds(target.checked ? [...kinds, kind] : kinds.filter((one) => one !== kind))}
          />
          {kind}
        </label>
      ))}
      {kinds.length === 0 && (
        <p role="alert" className="bad">
          Choose at least one: without it there is nothing to look at.
        </p>
      )}
    </fieldset>
  );
}
