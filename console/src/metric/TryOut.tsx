import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { ChosenAddress } from '../address/metricAddress.ts';
import { datasetsQuery } from '../data/datasets.ts';
import type { ChosenRecords, ChosenRows, Tried } from '../data/judgeTryOut.ts';
import { useMay } from '../data/permissions.ts';
import { logStreamsQuery } from '../data/projects.ts';
import { columnsQuery } from '../data/records.ts';
import { filterOf as leafOf } from '../data/selection.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { useDraft } from '../parts/useDraft.ts';
import { filterOf } from '../records/useRecordsView.ts';
import styles from './Judge.module.css';
import { kindOfRecords } from './judgeDraft.ts';
import { ChoiceField } from './MetricFields.tsx';
import { TriedSamples } from './TriedSamples.tsx';

interface Props<Unsaved> {
  projectId: string;
  chosen: ChosenAddress;
  /** The metric to try, as it is now. */
  unsaved: Unsaved;
  isJudge: boolean;
  /** The kinds of records that it looks at. */
  kinds: readonly string[];
  /** True while there is nothing to try. */
  isBlank: boolean;
  note?: string | undefined;
  onRecords(unsaved: Unsaved, records: ChosenRecords): Promise<Tried>;
  onRows(unsaved: Unsaved, rows: ChosenRows): Promise<Tried>;
}

/** The samples that a metric is tried on: kept in the tab, as the metric is. */
interface Choice {
  from: 'chosen' | 'records' | 'rows';
  stream: string;
  filter: string;
  dataset: string;
  count: number;
}

/** Tries a metric that is not saved on records or rows, and shows what it says of each. Users who may switch no metric on see nothing. */
export function TryOut<Unsaved extends object>(props: Props<Unsaved>) {
  return useMay(props.projectId, 'set_metric') && <Trial {...props} />;
}

function Trial<Unsaved extends object>(props: Props<Unsaved>) {
  const { projectId, chosen, unsaved, isJudge, kinds, isBlank, note, onRecords, onRows } = props;
  const [kept, setChoice] = useDraft<Choice>(`try ${projectId} ${chosen.ids?.join(' ') ?? ''}`);
  const streams = useQuery(logStreamsQuery(projectId)).data ?? [];
  const datasets = useQuery(datasetsQuery('')).data ?? [];
  const choice: Choice = kept ?? { from: chosen.ids ? 'chosen' : 'records', stream: '', filter: '', dataset: '', count: 5 };
  const set = (changed: Partial<Choice>) => setChoice({ ...choice, ...changed });
  const stream = choice.stream || streams[0]?.id;
  const dataset = choice.dataset || datasets[0]?.id;
  const run = { projectId, runId: stream ?? '', isExperiment: false };
  const kind = kindOfRecords(kinds);
  const columns = useQuery({ ...columnsQuery(run, kind), enabled: stream !== undefined && choice.filter !== '' });
  const { filter, problem } = filterOf({ q: choice.filter }, columns.data);
  const isUnread = choice.from === 'records' && choice.filter !== '' && (columns.data === undefined || problem !== undefined);
  const trying = useMutation({
    mutationFn: (tried: Unsaved) => {
      if (choice.from === 'rows')
        return onRows(tried, { dataset_id: dataset as string, limit: choice.count, project_id: projectId });
      if (choice.from === 'records')
        return onRecords(tried, { log_stream_id: stream, limit: choice.count, ...(filter ? { filter_tree: filter } : {}) });
      const ids = chosen.ids ?? [];
      const ofRun = chosen.experiment ? { experiment_id: chosen.experiment } : { log_stream_id: chosen.run };
      return onRecords(tried, { ...ofRun, limit: ids.length, filter_tree: leafOf({ records: { ids } }) });
    },
  });
  const lacks = choice.from === 'rows' ? dataset === undefined : choice.from === 'records' && stream === undefined;
  const isOfAnother = trying.variables !== undefined && JSON.stringify(trying.variables) !== JSON.stringify(unsaved);
  const send = (event: FormEvent) => {
    event.preventDefault();
    trying.mutate(unsaved);
  };
  return (
    <section className={styles.try} aria-label="Try it out">
      <h2>Try it out</h2>
      <form className={styles.fields} aria-label="Samples" onSubmit={send}>
        <label>
          On
          <select value={choice.from} onChange={(event) => set({ from: event.target.value as Choice['from'] })}>
            {chosen.ids && <option value="chosen">{countText(chosen.ids.length)} chosen records</option>}
            <option value="records">the newest records of</option>
            <option value="rows">the first rows of</option>
          </select>
        </label>
        {choice.from === 'records' && (
          <ChoiceField label="Log stream" value={stream} options={namesOf(streams)} onValue={(id) => set({ stream: id })} />
        )}
        {choice.from === 'rows' && (
          <ChoiceField label="Dataset" value={dataset} options={namesOf(datasets)} onValue={(id) => set({ dataset: id })} />
        )}
        {choice.from !== 'chosen' && (
          <label>
            How many
            <input
              type="number"
              required
              min={1}
              max={100}
              value={choice.count || ''}
              onChange={(event) => set({ count: Number(event.target.value) })}
            />
          </label>
        )}
        {choice.from === 'records' && (
          <label className={styles.long}>
            Only where
            <input
              value={choice.filter}
              placeholder="status_code >= 400"
              spellCheck={false}
              aria-invalid={problem !== undefined}
              onChange={(event) => set({ filter: event.target.value })}
            />
          </label>
        )}
        <button type="submit" disabled={trying.isPending || lacks || isBlank || isUnread}>
          {trying.isPending ? (isJudge ? 'Asking the judge …' : 'Running the code …') : 'Try it'}
        </button>
      </form>
      {problem && <p role="alert">{problem.message}</p>}
      {lacks && <p className="quiet">There is none of these in the project yet.</p>}
      {note && <p className="quiet">{note}</p>}
      {trying.error && <ErrorNote error={trying.error} />}
      {trying.data && isOfAnother && (
        <p role="status" className={styles.outdated}>
          You changed the {isJudge ? 'judge' : 'code'} since: below is what it said before. Try it again.
        </p>
      )}
      {trying.data && (
        <TriedSamples
          {...{ projectId, tried: trying.data, kinds }}
          isJudged={isJudge}
          experiment={choice.from === 'chosen' ? chosen.experiment : undefined}
        />
      )}
    </section>
  );
}

const namesOf = (all: readonly { id: string; name: string }[]) => all.map(({ id, name }) => [id, name] as const);
