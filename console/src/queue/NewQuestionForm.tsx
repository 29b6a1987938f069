import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { NewQuestion } from '../data/annotations.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { useDraft } from '../parts/useDraft.ts';
import styles from './QueuePage.module.css';
import { constraintsOf, type QuestionKind, questionKinds } from './questionKinds.ts';

interface Props {
  queueId: string;
  onAdd(question: NewQuestion): Promise<unknown>;
  error: Error | null;
}

/** The fields of the form as the browser sends them. */
type Fields = Partial<Record<string, string>>;

/** Asks for a question: its name, what it is answered by, and whether people are asked why. What was typed stays until the service has it. */
export function NewQuestionForm({ queueId, onAdd, error }: Props) {
  const [draft, setDraft] = useDraft<Fields>(`question of ${queueId}`);
  const [initial, setInitial] = useState<Fields>(draft ?? usual);
  const [kind, setKind] = useState((draft?.kind ?? 'like_dislike') as QuestionKind);
  const [added, setAdded] = useState(0);
  const element = useRef<HTMLFormElement>(null);
  // The fields take what is usual once they have it as what a reset gives.
  useEffect(() => {
    if (added > 0) element.current?.reset();
  }, [added]);
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const question: NewQuestion = {
      ...{ name: text('name'), criteria: text('criteria') || null, include_explanation: form.get('why') === 'on' },
      constraints: constraintsOf(kind, form),
    };
    await onAdd(question).then(
      () => {
        setDraft(undefined);
        setInitial(usual);
        setKind('like_dislike');
        setAdded(added + 1);
      },
      () => undefined, // shown below
    );
  };
  return (
    <form
      ref={element}
      aria-label="New question"
      onSubmit={(event) => void send(event)}
      onInput={({ currentTarget }) => setDraft(Object.fromEntries(new FormData(currentTarget)) as Fields)}
      className={styles.settings}
    >
      <h2>New question</h2>
      <div className={styles.row}>
        <label>
          Question
          <input name="name" required pattern=".*\S.*" maxLength={255} defaultValue={initial.name} />
        </label>
        <label>
          Answered by
          <select name="kind" value={kind} onChange={(event) => setKind(event.target.value as QuestionKind)}>
            {questionKinds.map(([one, label]) => (
              <option key={one} value={one}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          What counts (optional)
          <input name="criteria" defaultValue={initial.criteria} />
        </label>
      </div>
      <KindFields {...{ kind, initial }} />
      <label className={styles.moves}>
        <input type="checkbox" name="why" defaultChecked={initial.why === 'on'} />
        People may say why
      </label>
      {error && <ErrorNote error={error} />}
      <div>
        <button type="submit" className="primary">
          Add the question
        </button>
      </div>
    </form>
  );
}

const usual: Fields = { why: 'on', min: '0', max: '10' };

function KindFields({ kind, initial }: { kind: QuestionKind; initial: Fields }) {
  if (kind === 'score')
    return (
      <div className={styles.row}>
        {(['min', 'max'] as const).map((name) => (
          <label key={name}>
            {name === 'min' ? 'From' : 'To'}
            <input name={name} type="number" required min={0} step={1} defaultValue={initial[name] ?? usual[name]} />
          </label>
        ))}
      </div>
    );
  if (kind !== 'choice' && kind !== 'tags' && kind !== 'tree_choice') return null;
  const isTree = kind === 'tree_choice';
  return (
    <div className={styles.row}>
      <label>
        {isTree ? 'Tree, as YAML: a list of label, id and children' : 'One a line'}
        <textarea name="values" required rows={5} defaultValue={initial.values} />
      </label>
      {!isTree && (
        <label className={styles.moves}>
          <input type="checkbox" name="other" defaultChecked={initial.other === 'on'} />
          Or another
        </label>
      )}
    </div>
  );
}
