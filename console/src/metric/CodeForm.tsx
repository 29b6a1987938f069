import { type ChangeEvent, useId } from 'react';
import { outputWords } from '../metrics/metricText.ts';
import { type CodeDraft, codeTypes, takesDirection } from './codeDraft.ts';
import styles from './Judge.module.css';
import { KindsField } from './KindsField.tsx';
import { ChoiceField, NameFields } from './MetricFields.tsx';
import { RequiredField } from './RequiredField.tsx';

interface Props {
  draft: CodeDraft;
  onDraft(draft: CodeDraft): void;
  /** The project of a new metric, which says here what holds for all its versions. */
  newIn: string | undefined;
}

/** The fields of a metric of code. */
export function CodeForm({ draft, onDraft, newIn }: Props) {
  const id = useId();
  const isNew = newIn !== undefined;
  const set = (changed: Partial<CodeDraft>) => onDraft({ ...draft, ...changed });
  return (
    <>
      {isNew && <NameFields draft={draft} isNew onChange={set} />}
      <div className={styles.prompt}>
        <label htmlFor={id}>Source code</label>
        <textarea
          id={id}
          required
          spellCheck={false}
          rows={Math.min(30, Math.max(8, draft.code.slice(0, 10_000).split('\n').length + 1))}
          value={draft.code}
          onChange={(event: ChangeEvent<HTMLTextAreaElement>) => set({ code: event.target.value })}
        />
        <p className="quiet">
          <code>scorer_fn</code> gets one record as <code>step_object</code>, and gives a number, a boolean, a text or{' '}
          <code>None</code>. The type that it is annotated with is that of the values. JavaScript is taken as well: it exports a
          function that gets <code>{'{ input, output }'}</code>.
        </p>
      </div>
      {isNew && (
        <div className={styles.fields}>
          <ChoiceField
            label="It gives"
            value={draft.outputType}
            options={[['', 'what suits its type'], ...codeTypes.map((one) => [one, outputWords[one]] as const)]}
            onValue={(outputType) => set({ outputType })}
          />
          {takesDirection(draft.outputType) && (
            <ChoiceField
              label="Better is"
              value={draft.direction}
              options={[
                ['higher', 'higher, or yes'],
                ['lower', 'lower, or no'],
                ['', 'neither'],
              ]}
              onValue={(direction) => set({ direction })}
            />
          )}
        </div>
      )}
      <KindsField kinds={draft.kinds} onKinds={(kinds) => set({ kinds })} />
      {isNew && (
        <RequiredField
          projectId={newIn}
          kinds={draft.kinds}
          required={draft.required ?? []}
          onRequired={(required) => set({ required })}
        >
          The code finds them in <code>required_scores</code> by their names.
        </RequiredField>
      )}
    </>
  );
}
