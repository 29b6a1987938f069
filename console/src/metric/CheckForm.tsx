import { useQuery } from '@tanstack/react-query';
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';
import { modelNamesQuery } from '../data/modelNames.ts';
import { Field } from '../parts/Field.tsx';
import { NoModels } from '../parts/NoModels.tsx';
import { type CheckDraft, type CheckType, checkWords, jsonProblem, modeWords, stepKinds } from './checkDraft.ts';
import styles from './Judge.module.css';
import { KindsField } from './KindsField.tsx';
import { ChoiceField, NameFields } from './MetricFields.tsx';
import { TextsField } from './TextsField.tsx';

interface Props {
  draft: CheckDraft;
  onDraft(draft: CheckDraft): void;
  /** A new check is named here. */
  isNew: boolean;
}

/** Properties of the fields of one type of check. */
interface FieldsProps {
  draft: CheckDraft;
  set(changed: Partial<CheckDraft>): void;
}

/** The fields of a check. */
export function CheckForm({ draft, onDraft, isNew }: Props) {
  const set = (changed: Partial<CheckDraft>) => onDraft({ ...draft, ...changed });
  const SettingFields = fieldsOf[draft.type];
  return (
    <>
      <NameFields draft={draft} isNew={isNew} onChange={set} />
      <div className={styles.fields}>
        <ChoiceField
          label="It is true where"
          value={draft.type}
          options={Object.entries(checkWords) as [CheckType, string][]}
          onValue={(type) => set({ type })}
        />
        <ChoiceField
          label="Better is"
          value={draft.direction}
          options={[
            ['higher', 'yes'],
            ['lower', 'no'],
          ]}
          onValue={(direction) => set({ direction })}
        />
      </div>
      <SettingFields draft={draft} set={set} />
      <KindsField kinds={draft.kinds} onKinds={(kinds) => set({ kinds })} />
    </>
  );
}

const fieldsOf: Record<CheckType, (props: FieldsProps) => ReactNode> = {
  regex: PatternFields,
  contains_all: WantedFields,
  contains_any: WantedFields,
  json_schema: SchemaField,
  edit_distance: ({ draft, set }) => (
    <NumberField label="Characters that may differ" value={draft.max} min={0} step={1} onValue={(max) => set({ max })} />
  ),
  embedding_similarity: MeaningFields,
  tool_calls: CallFields,
  trajectory: StepFields,
  latency: ({ draft, set }) => (
    <NumberField label="Most milliseconds" value={draft.maxMs} min={0} onValue={(maxMs) => set({ maxMs })} />
  ),
  cost: ({ draft, set }) => (
    <NumberField label="Most US dollars" value={draft.maxUsd} min={0} onValue={(maxUsd) => set({ maxUsd })} />
  ),
};

function PatternFields({ draft, set }: FieldsProps) {
  return (
    <>
      <Field label="Pattern" hint="In the syntax of RE2: ^ and $ are ends of lines, and nothing looks ahead or back.">
        {(control) => (
          <input
            {...control}
            value={draft.pattern}
            required
            spellCheck={false}
            autoComplete="off"
            placeholder="^AB-[0-9]+$"
            onChange={(event) => set({ pattern: event.target.value })}
          />
        )}
      </Field>
      <CaseField draft={draft} set={set} />
    </>
  );
}

function WantedFields({ draft, set }: FieldsProps) {
  return (
    <>
      <TextsField legend="Texts to look for" one="Text" texts={draft.texts} least={1} onTexts={(texts) => set({ texts })} />
      <CaseField draft={draft} set={set} />
    </>
  );
}

const CaseField = ({ draft, set }: FieldsProps) => (
  <label className={styles.checked}>
    <input type="checkbox" checked={draft.ignoresCase} onChange={({ target }) => set({ ignoresCase: target.checked })} />
    Upper and lower case are alike
  </label>
);

function SchemaField({ draft, set }: FieldsProps) {
  return (
    <JsonField
      label="JSON Schema"
      hint="Draft 7."
      value={draft.schema}
      problem={jsonProblem(draft)}
      onValue={(schema) => set({ schema })}
    />
  );
}

function MeaningFields({ draft, set }: FieldsProps) {
  const { data: models = [] } = useQuery(modelNamesQuery);
  const listId = useId();
  return (
    <>
      <NoModels />
      <Field
        label="Embedding model"
        hint="A model of an integration that answers /embeddings as OpenAI does. Each record costs a call of it."
      >
        {(control) => (
          <input
            {...control}
            value={draft.model}
            required
            pattern=".*\S.*"
            maxLength={255}
            list={listId}
            autoComplete="off"
            placeholder="text-embedding-3-small"
            onChange={(event) => set({ model: event.target.value })}
          />
        )}
      </Field>
      <datalist id={listId}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <NumberField
        label="Least cosine similarity"
        value={draft.threshold}
        min={-1}
        max={1}
        onValue={(threshold) => set({ threshold })}
      />
    </>
  );
}

function CallFields({ draft, set }: FieldsProps) {
  return (
    <>
      <ExpectedFields draft={draft} set={set} what="calls" />
      {draft.expects === 'same' && (
        <JsonField
          label="Expected calls"
          hint={
            <>
              A JSON list. A call without <code>arguments</code> may have any.
            </>
          }
          value={draft.calls}
          problem={jsonProblem(draft)}
          onValue={(calls) => set({ calls })}
        />
      )}
    </>
  );
}

function StepFields({ draft, set }: FieldsProps) {
  const toggle = (kind: (typeof stepKinds)[number], isOn: boolean) =>
    set({ stepKinds: isOn ? [...draft.stepKinds, kind] : draft.stepKinds.filter((one) => one !== kind) });
  return (
    <>
      <ExpectedFields draft={draft} set={set} what="steps" />
      {draft.expects === 'same' && (
        <TextsField legend="Names of the expected steps" one="Step" texts={draft.steps} onTexts={(steps) => set({ steps })} />
      )}
      <fieldset className={styles.kinds}>
        <legend>Spans that are steps</legend>
        {stepKinds.map((kind) => (
          <label key={kind} className={styles.check}>
            <input
              type="checkbox"
              checked={draft.stepKinds.includes(kind)}
              onChange={({ target }) => toggle(kind, target.checked)}
            />
            {kind}
          </label>
        ))}
        {draft.stepKinds.length === 0 && (
          <p role="alert" className="bad">
            Choose at least one: without it there are no steps.
          </p>
        )}
      </fieldset>
    </>
  );
}

function ExpectedFields({ draft, set, what }: FieldsProps & { what: 'calls' | 'steps' }) {
  return (
    <div className={styles.fields}>
      <ChoiceField
        label={`Expected ${what} are`}
        value={draft.expects}
        options={[
          ['row', 'in the reference output of each row'],
          ['same', 'the same of all records'],
        ]}
        onValue={(expects) => set({ expects })}
      />
      <ChoiceField
        label="It made"
        value={draft.mode}
        options={Object.entries(modeWords) as [CheckDraft['mode'], string][]}
        onValue={(mode) => set({ mode })}
      />
    </div>
  );
}

interface JsonProps {
  label: string;
  hint: ReactNode;
  value: string;
  problem: string | undefined;
  onValue(value: string): void;
}

const JsonField = ({ label, hint, value, problem, onValue }: JsonProps) => (
  <Field label={label} hint={hint} problem={problem} className={styles.prompt}>
    {(control) => (
      <textarea
        {...control}
        spellCheck={false}
        rows={Math.min(20, Math.max(4, value.slice(0, 10_000).split('\n').length + 1))}
        value={value}
        onChange={(event) => onValue(event.target.value)}
      />
    )}
  </Field>
);

interface NumberProps extends Pick<InputHTMLAttributes<HTMLInputElement>, 'min' | 'max' | 'step'> {
  label: string;
  value: string;
  onValue(value: string): void;
}

const NumberField = ({ label, value, onValue, step = 'any', ...limits }: NumberProps) => (
  <div className={styles.fields}>
    <label>
      {label}
      <input type="number" required {...limits} step={step} value={value} onChange={(event) => onValue(event.target.value)} />
    </label>
  </div>
);
