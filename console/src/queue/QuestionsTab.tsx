import { useMutation, useQueryClient } from '@tanstack/react-query';
import {
  addQuestion,
  changeQuestion,
  mayDo,
  type NewQuestion,
  orderQuestions,
  type Queue,
  type Template,
} from '../data/annotations.ts';
import { deleteQuestionLater, useGoing } from '../data/deletions.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { NewQuestionForm } from './NewQuestionForm.tsx';
import styles from './QueuePage.module.css';
import { constraintsText } from './questionKinds.ts';

/** The questions of a queue in their order, and a form for one more. */
export function QuestionsTab({ queue }: { queue: Queue }) {
  const cached = useQueryClient();
  const hidden = useGoing();
  const changed = () => cached.invalidateQueries({ queryKey: ['queue', queue.id] });
  const adding = useMutation({ mutationFn: (one: NewQuestion) => addQuestion(queue.id, one), onSuccess: changed });
  const ordering = useMutation({ mutationFn: (ids: string[]) => orderQuestions(queue.id, ids), onSuccess: changed });
  const shown = queue.templates.filter(({ id }) => !hidden.has(id));
  const ids = queue.templates.map(({ id }) => id);
  const moveUp = (id: string) => {
    const at = ids.indexOf(id);
    ordering.mutate([...ids.slice(0, at - 1), id, ids[at - 1] as string, ...ids.slice(at + 1)]);
  };
  const isEditor = mayDo(queue, 'update');
  return (
    <div className={styles.settings}>
      {shown.length === 0 && <p className="quiet">This queue asks nothing yet.</p>}
      <ol className={styles.list}>
        {shown.map((template, index) => (
          <OneQuestion
            key={template.id}
            {...{ queue, template, isEditor, changed }}
            onUp={index === 0 || shown.length < ids.length ? undefined : () => moveUp(template.id)}
          />
        ))}
      </ol>
      {ordering.error && <ErrorNote error={ordering.error} />}
      {isEditor && <NewQuestionForm queueId={queue.id} onAdd={adding.mutateAsync} error={adding.error} />}
    </div>
  );
}

interface OneProps {
  queue: Queue;
  template: Template;
  isEditor: boolean;
  changed(): Promise<void>;
  onUp: (() => void) | undefined;
}

function OneQuestion({ queue, template, isEditor, changed, onUp }: OneProps) {
  const { id, name, criteria, constraints, usage_count } = template;
  const renaming = useMutation({
    mutationFn: (to: string) => changeQuestion(queue.id, id, { name: to, criteria }),
    onSuccess: changed,
  });
  return (
    <li>
      {isEditor ? (
        <input
          key={name}
          aria-label={`Name of ${name}`}
          defaultValue={name}
          maxLength={255}
          onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
          onBlur={({ target }) => {
            const to = target.value.trim();
            if (to === '') target.value = name;
            else if (to !== name) renaming.mutate(to);
          }}
        />
      ) : (
        <span>{name}</span>
      )}
      <span className="quiet">{constraintsText(constraints)}</span>
      <span className="quiet number">
        {countText(usage_count)} {usage_count === 1 ? 'answer' : 'answers'}
      </span>
      {isEditor && (
        <>
          <button type="button" className="plain" disabled={!onUp} onClick={onUp} aria-label={`Move ${name} up`}>
            ↑
          </button>
          <button type="button" onClick={() => deleteQuestionLater(queue.id, template)}>
            Delete
          </button>
        </>
      )}
      {renaming.error && <ErrorNote error={renaming.error} />}
    </li>
  );
}
