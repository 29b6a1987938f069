import { outputWords } from '../metrics/metricText.ts';
import styles from './Judge.module.css';
import { type JudgeDraft, judgedTypes, seesImages, takesDirection, takesLabels, takesRange, withSight } from './judgeDraft.ts';
import { KindsField } from './KindsField.tsx';
import { ChoiceField, NameFields } from './MetricFields.tsx';
import { PromptField } from './PromptField.tsx';
import { RequiredField } from './RequiredField.tsx';

interface Props {
  draft: JudgeDraft;
  onDraft(draft: JudgeDraft): void;
  /** The project of a new judge, which says here what a version has from its judge. */
  newIn: string | undefined;
  /** The model that judges where none is named. */
  usualModel: string | null | undefined;
}

/** The fields of a judge. */
export function JudgeForm({ draft, onDraft, newIn, usualModel }: Props) {
  const set = (changed: Partial<JudgeDraft>) => onDraft({ ...draft, ...changed });
  const type = draft.outputType;
  return (
    <>
      <NameFields draft={draft} isNew={newIn !== undefined} onChange={set} />
      <PromptField value={draft.prompt} required={draft.required ?? []} onChange={(prompt) => set({ prompt })} />
      <div className={styles.fields}>
        <ChoiceField
          label="It answers"
          value={type}
          options={judgedTypes.map((one) => [one, outputWords[one]])}
          onValue={(outputType) => set({ outputType })}
        />
        {takesRange(type) && (
          <>
            <NumberField label="From" value={draft.min} other={draft.max} onValue={(min) => set({ min })} />
            <NumberField label="To" value={draft.max} other={draft.min} onValue={(max) => set({ max })} />
          </>
        )}
        {takesDirection(type) && (
          <ChoiceField
            label="Better is"
            value={draft.direction}
            options={[
              ['higher', type === 'boolean' ? 'yes' : 'higher'],
              ['lower', type === 'boolean' ? 'no' : 'lower'],
              ['', 'neither'],
            ]}
            onValue={(direction) => set({ direction })}
          />
        )}
        <label>
          Model
          <input
            value={draft.models}
            placeholder={usualModel ?? 'of the run'}
            autoComplete="off"
            onChange={(event) => set({ models: event.target.value })}
          />
        </label>
        <label>
          Judge calls
          <input
            type="number"
            required
            min={1}
            max={10}
            value={draft.judges || ''}
            onChange={(event) => set({ judges: Number(event.target.value) })}
          />
        </label>
        <label className={styles.check}>
          <input type="checkbox" checked={draft.explains} onChange={(event) => set({ explains: event.target.checked })} />
          It explains its answer
        </label>
        <label className={styles.check}>
          <input type="checkbox" checked={seesImages(draft)} onChange={(event) => set(withSight(draft, event.target.checked))} />
          It sees images
        </label>
      </div>
      {takesLabels(type) && (
        <label className={styles.labels}>
          Labels, one a line; without any it gives those it likes
          <textarea rows={4} value={draft.labels} onChange={(event) => set({ labels: event.target.value })} />
        </label>
      )}
      <KindsField kinds={draft.kinds} onKinds={(kinds) => set({ kinds })} />
      {newIn !== undefined && (
        <RequiredField
          projectId={newIn}
          kinds={draft.kinds}
          required={draft.required ?? []}
          onRequired={(required) => set({ required })}
        >
          The judge is shown them, and the prompt may name one: <code>{'{{required_scores.its name}}'}</code>.
        </RequiredField>
      )}
    </>
  );
}

/** One end of the range. The other end alone is no range. */
function NumberField(props: { label: string; value: string; other: string; onValue(value: string): void }) {
  return (
    <label>
      {props.label}
      <input
        type="number"
        step="any"
        required={props.other !== ''}
        value={props.value}
        onChange={(event) => props.onValue(event.target.value)}
      />
    </label>
  );
}
