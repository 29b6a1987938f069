import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type KeyboardEvent, useId, useState } from 'react';
import { type PlaygroundAddress, promptPlace } from '../address/playgroundAddress.ts';
import { modelNamesQuery } from '../data/modelNames.ts';
import { useMayCallModels } from '../data/permissions.ts';
import { type CallRequest, valuesQuery } from '../data/playground.ts';
import { variablesQuery } from '../data/prompts.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { NoModels } from '../parts/NoModels.tsx';
import { moveDraft, useDiscard, useDraft } from '../parts/useDraft.ts';
import { MessagesEditor } from '../prompt/MessagesEditor.tsx';
import { templateOf } from '../prompt/promptText.ts';
import { askedOf, callOf, forget, isUnderWay, run, stop, useStates } from './calls.ts';
import { type Column, newColumn, type PlaygroundDraft, type Start } from './draft.ts';
import { LimitsLeft } from './LimitsLeft.tsx';
import { ModelColumn } from './ModelColumn.tsx';
import { OutputsDiff } from './OutputsDiff.tsx';
import styles from './Playground.module.css';
import { PlaygroundHead } from './PlaygroundHead.tsx';
import { SaveActions } from './SaveActions.tsx';
import { useRunKey } from './useRunKey.ts';
import type { Opened } from './useStart.ts';
import { VariableFields } from './VariableFields.tsx';

interface Props {
  projectId: string;
  address: PlaygroundAddress;
  start: Start;
  opened: Omit<Opened, 'start' | 'error' | 'retry'>;
}

/** As many as an account may call at a time. */
const MOST_COLUMNS = 5;

const draftKey = (projectId: string, { from = '', prompt = '' }: PlaygroundAddress): string =>
  `playground ${projectId} ${from} ${prompt}`;

/** Messages and variables at one side, the models and what they say at the other. */
export function Playground({ projectId, address, start, opened }: Props) {
  const keeping = useDraft<PlaygroundDraft>(draftKey(projectId, address));
  const [kept, setKept] = keeping;
  const { discard, bringBack } = useDiscard(keeping);
  const draft = kept ?? start.draft;
  const { messages, columns } = draft;
  const set = (changed: Partial<PlaygroundDraft>) => setKept({ ...draft, ...changed });
  const navigate = useNavigate({ from: '/p/$projectId/playground' });
  const mayCall = useMayCallModels(projectId);
  const { data: models = [] } = useQuery(modelNamesQuery);
  const { data: names = [] } = useQuery(variablesQuery(messages.map(({ text }) => text)));
  const source = draft.row === undefined ? start.source : (draft.row ?? undefined);
  const { data: given = {}, error: noValues } = useQuery(valuesQuery(source, names));
  const [error, setError] = useState<unknown>();
  const ids = columns.map(({ id }) => id);
  const states = useStates(ids);
  const isRunning = /waiting|writing/.test(states);
  const [formId, modelsId] = [useId(), useId()];
  useRunKey(mayCall === true ? formId : undefined);

  /** @throws SyntaxError for a message that is broken JSON */
  const requestOf = (settings: Record<string, unknown>): CallRequest => ({
    template: templateOf(messages),
    variables: Object.fromEntries(names.map((name) => [name, draft.values[name] ?? given[name] ?? ''])),
    ...(start.version && { prompt_template_version_id: start.version.id }),
    settings,
  });
  const isAsked = ({ id, settings }: Column): boolean => {
    try {
      const call = callOf(id);
      return call !== undefined && call.asked === askedOf(requestOf(settings));
    } catch {
      return false;
    }
  };
  const runAll = (event: FormEvent) => {
    event.preventDefault();
    if (mayCall !== true) return;
    setError(undefined);
    try {
      const requests = columns.map(({ id, settings }) => [id, requestOf(settings)] as const);
      for (const [id, request] of requests) void run(id, projectId, request);
    } catch (err) {
      setError(err);
    }
  };
  const startOver = () => {
    for (const { id } of columns) forget(id);
    discard();
  };
  const addModel = () => set({ columns: [...columns, newColumn({ ...columns.at(-1)?.settings })] });
  const saved = (promptId: string, version: number) => {
    const next = { ...address, prompt: promptPlace(promptId, version) };
    moveDraft(draftKey(projectId, address), draftKey(projectId, next), draft);
    return navigate({ search: next, replace: true });
  };
  return (
    <div className={styles.page}>
      <datalist id={modelsId}>
        {models.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <PlaygroundHead {...{ projectId, opened }} version={start.version} />
      <div className={styles.bar}>
        {mayCall === true && (
          <button type="submit" form={formId} className="primary" title="Ctrl-Enter">
            Run
          </button>
        )}
        {mayCall === false && (
          <p className={styles.refusal}>Calls of models are paid for: only owners and editors of the project run them.</p>
        )}
        {isRunning && columns.length > 1 && (
          <button type="button" onClick={() => ids.filter((id) => isUnderWay(callOf(id))).forEach(stop)}>
            Stop all
          </button>
        )}
        <SaveActions
          {...{ projectId, draft }}
          prompt={opened.prompt}
          base={start.version}
          datasetId={source && 'index' in source ? source.datasetId : opened.datasetId}
          onSaved={saved}
        />
        {kept && (
          <button type="button" className="plain" onClick={startOver}>
            Start over
          </button>
        )}
        {bringBack && (
          <button type="button" className="plain" onClick={bringBack}>
            Bring back what was typed
          </button>
        )}
      </div>
      <LimitsLeft {...{ projectId, states }} />
      {error !== undefined && <ErrorNote error={error} />}
      <form id={formId} className={styles.body} onSubmit={runAll} onKeyDown={dontSubmit}>
        <section className={styles.asked} aria-label="What is asked">
          <h2>Messages</h2>
          {start.isMediaText && (
            <p className={styles.note}>
              Pictures and files of the record are text here: models are sent their letters, and do not see them.
            </p>
          )}
          <MessagesEditor messages={messages} onChange={(changed) => set({ messages: changed })} />
          <VariableFields {...{ projectId, names, given, draft, source }} onChange={set} error={noValues} />
        </section>
        <section className={styles.answers} aria-label="What models answer">
          <h2>Models</h2>
          <NoModels />
          <div className={styles.columns}>
            {columns.map((column, index) => (
              <ModelColumn
                key={column.id}
                {...{ column, index, projectId, modelsId }}
                isAsked={isAsked(column)}
                onSettings={(settings) =>
                  set({ columns: columns.map((one) => (one === column ? { ...column, settings } : one)) })
                }
                onRemove={
                  columns.length > 1
                    ? () => {
                        forget(column.id);
                        set({ columns: columns.filter((one) => one !== column) });
                      }
                    : undefined
                }
              />
            ))}
          </div>
          {columns.length < MOST_COLUMNS && (
            <button type="button" className={styles.add} onClick={addModel}>
              Add a model
            </button>
          )}
          <OutputsDiff columns={columns} recorded={start.recorded} />
        </section>
      </form>
    </div>
  );
}

/** Enter in a field of one line takes its value; what costs money has a key of its own. */
function dontSubmit(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
}
