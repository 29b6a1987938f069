import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { writeCode } from '../data/codeMetrics.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import styles from './Judge.module.css';

interface Props {
  /** The kind of records that the code is to score. */
  kind: string | undefined;
  onCode(code: string): void;
}

/** Has a model write code from a sentence. What it writes takes the place of the code that is there. */
export function DraftByModel({ kind, onCode }: Props) {
  const [sentence, setSentence] = useState('');
  const [model, setModel] = useState('');
  const writing = useMutation({
    mutationFn: () => writeCode({ user_message: sentence, node_type: kind, model_name: model.trim() || null }),
    onSuccess({ code }) {
      if (code !== null) onCode(code);
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    writing.mutate();
  };
  return (
    <form className={styles.fields} aria-label="Have a model write it" onSubmit={send}>
      <label className={styles.long}>
        In words
        <input
          value={sentence}
          required
          maxLength={10_000}
          placeholder="The share of sentences that end with a question mark"
          onChange={(event) => setSentence(event.target.value)}
        />
      </label>
      <label>
        Model
        <input value={model} placeholder="the default" autoComplete="off" onChange={(event) => setModel(event.target.value)} />
      </label>
      <button type="submit" disabled={writing.isPending}>
        {writing.isPending ? 'A model writes …' : 'Have a model write it'}
      </button>
      {writing.error && <ErrorNote error={writing.error} />}
      {writing.data?.problem && <p role="alert">What the model wrote cannot be used: {writing.data.problem}</p>}
    </form>
  );
}
