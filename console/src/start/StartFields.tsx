import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { StartAddress } from '../address/startAddress.ts';
import { datasetQuery } from '../data/datasets.ts';
import { metricsQuery } from '../data/metrics.ts';
import { promptQuery } from '../data/prompts.ts';
import { estimateQuery } from '../data/start.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { useDebounced } from '../parts/useDebounced.ts';
import { useDiscard, useDraft } from '../parts/useDraft.ts';
import { CodePanel } from './CodePanel.tsx';
import { CostEstimate } from './CostEstimate.tsx';
import { DatasetFields } from './DatasetFields.tsx';
import { Problems, TextField } from './Field.tsx';
import { LimitFields, TagFields } from './LimitFields.tsx';
import { MetricFields } from './MetricFields.tsx';
import { problemsOf } from './problemsOf.ts';
import { RunnerFields } from './RunnerFields.tsx';
import styles from './StartPage.module.css';
import type { StartDraft } from './startDraft.ts';
import { StartFormContext } from './startForm.ts';
import { estimateOf, type Field, nameFor, planOf } from './startPlan.ts';
import { useStart } from './useStart.ts';

/** Milliseconds without a change after which the cost is asked for. */
const SETTLED_MS = 400;

interface Props {
  projectId: string;
  address: StartAddress;
  initial: StartDraft;
}

/** The form, and beside it what the run costs and how a program says it. */
export function StartFields({ projectId, address, initial }: Props) {
  const keeping = useDraft<StartDraft>(`start ${projectId} ${JSON.stringify(address)}`);
  const [kept, setKept] = keeping;
  const { discard, bringBack } = useDiscard(keeping);
  const draft = kept ?? initial;
  const [isAwaited, setAwaited] = useState(false);
  const change = (changed: Partial<StartDraft>) => {
    starting.reset();
    setAwaited(false);
    setKept({ ...draft, ...changed });
  };
  const { data: dataset, error: datasetError } = useQuery({ ...datasetQuery(draft.dataset), enabled: draft.dataset !== '' });
  const { data: prompt, error: promptError } = useQuery({ ...promptQuery(draft.prompt), enabled: draft.prompt !== '' });
  const { data: scorers = [], error: scorerError } = useQuery(metricsQuery(projectId));
  const chosen = { dataset, prompt, scorers };
  const { plan, problems } = planOf(draft, chosen);
  const starting = useStart(projectId, draft, setKept);
  const asked = JSON.stringify(plan && estimateOf(plan));
  const settled = useDebounced(asked, SETTLED_MS);
  const body = useMemo(() => (settled === undefined ? undefined : JSON.parse(settled)), [settled]);
  const { data: estimate, error: estimateError, isFetching } = useQuery(estimateQuery(projectId, body));
  const form = useRef<HTMLFormElement>(null);
  const wasSent = starting.error !== null || starting.isRefused;
  const answered = starting.error
    ? problemsOf(starting.error)
    : asked === settled && asked !== undefined
      ? problemsOf(estimateError)
      : [];
  const gone = [
    ...(datasetError ? [{ field: 'dataset' as const, message: 'The dataset is gone, or your account does not see it.' }] : []),
    ...(promptError ? [{ field: 'prompt' as const, message: 'The prompt is gone, or your account does not see it.' }] : []),
  ];
  // An empty field is no mistake before the user starts.
  const own = problems.filter(({ field }) => wasSent || !(draft[field as keyof StartDraft] === '' && field !== 'name'));
  const all = [...gone, ...own, ...(gone.length > 0 ? [] : answered)];
  const problemsAt = (field: Field) => all.filter((one) => one.field === field);
  const isWrong = gone.length > 0 || problems.length > 0;
  const start = () => {
    setAwaited(!isWrong && !plan);
    if (plan && !isWrong) starting.start(plan);
    if (!isWrong) return;
    starting.refuse();
    // Once the fields are marked.
    requestAnimationFrame(() => showWrong(form.current));
  };
  // The service refuses what the form cannot know.
  useEffect(() => {
    if (starting.error) showWrong(form.current);
  }, [starting.error]);
  // A start that is asked for before the chosen dataset and prompt are loaded waits for them.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when they are there
  useEffect(() => {
    if (isAwaited && (plan || isWrong)) start();
  }, [isAwaited, plan, isWrong]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    start();
  };
  const isMarked = all.some(({ field }) => field !== 'form');
  const lacks = plan && !estimateError ? undefined : isMarked ? 'mended' : estimateError ? 'answered' : 'chosen';
  const isStarting = isAwaited || starting.isPending;
  return (
    <StartFormContext value={{ projectId, draft, change, chosen, problemsAt }}>
      <form ref={form} className={styles.form} onSubmit={send} noValidate>
        <div className={styles.fields}>
          <fieldset className={styles.section}>
            <legend>Experiment</legend>
            <div className={styles.pair}>
              <TextField label="Name" field="name" maxLength={1_000} placeholder={nameFor(draft, chosen)} />
              <TextField label="Group" field="group" maxLength={255} placeholder="named after the dataset" />
            </div>
          </fieldset>
          <DatasetFields />
          <RunnerFields />
          {scorerError ? <ErrorNote error={scorerError} /> : <MetricFields estimate={plan && estimate} />}
          <LimitFields />
          <TagFields />
        </div>
        <aside className={styles.aside} aria-label="Before it starts">
          <CostEstimate
            estimate={estimateError && !isFetching ? undefined : estimate}
            isOld={isFetching || asked !== settled}
            lacks={lacks}
          />
          <Problems problems={problemsAt('form')} />
          {starting.isRefused && !plan && <p role="alert">Nothing was started: see the fields that are marked.</p>}
          <div className={styles.buttons}>
            <button type="submit" className="primary" disabled={isStarting}>
              {isStarting ? 'Starting …' : 'Start'}
            </button>
            {kept && (
              <button type="button" onClick={discard}>
                Discard changes
              </button>
            )}
            {bringBack && (
              <button type="button" onClick={bringBack}>
                Bring changes back
              </button>
            )}
          </div>
          {plan && <CodePanel plan={plan} projectId={projectId} />}
        </aside>
      </form>
    </StartFormContext>
  );
}

/** Opens what hides fields with a mistake, and leads to the first of them. */
function showWrong(form: HTMLFormElement | null): void {
  const wrong = form?.querySelectorAll<HTMLElement>('[aria-invalid]') ?? [];
  for (const field of wrong) field.closest('details')?.setAttribute('open', '');
  wrong[0]?.focus();
}
