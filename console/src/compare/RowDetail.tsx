import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ComparedExperiment, ComparedRow, ComparedTrace, Comparison } from '../data/comparison.ts';
import { recordQuery } from '../data/records.ts';
import { TextDiff } from '../diff/TextDiff.tsx';
import { Icon } from '../parts/Icon.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { LongText } from '../payload/LongText.tsx';
import { plainText } from '../payload/messages.ts';
import { Payload } from '../payload/Payload.tsx';
import styles from './ComparedRows.module.css';
import { idOf, isCut, outputText } from './comparedRow.ts';
import { RowScores } from './RowScores.tsx';
import { useCompareAddress } from './useCompareAddress.ts';

interface Props {
  projectId: string;
  baseline: ComparedExperiment;
  experiment: ComparedExperiment;
  comparison: Comparison;
  row: ComparedRow;
  /** `17 of 163` */
  place: string;
  onMove(step: number): void;
}

/** The row that is open, and the way to the ones beside it. */
export function RowDetail({ place, onMove, ...row }: Props) {
  return (
    <article className={styles.detail} aria-label="Row">
      <div className={styles.bar}>
        <button type="button" className="plain iconed" aria-label="Previous row" onClick={() => onMove(-1)}>
          <Icon name="up" /> <kbd>p</kbd>
        </button>
        <button type="button" className="plain iconed" aria-label="Next row" onClick={() => onMove(1)}>
          <Icon name="down" /> <kbd>n</kbd>
        </button>
        <span role="status" className={styles.place}>
          {place}
        </span>
      </div>
      <RowContent key={idOf(row.row)} {...row} />
    </article>
  );
}

/** Shows a row's input and reference, the scores of both sides, and both outputs with the words marked that differ. */
function RowContent({ projectId, baseline, experiment, comparison, row }: Omit<Props, 'place' | 'onMove'>) {
  const trials = Math.max(row.baseline.length, row.experiment.length);
  const [trial, setTrial] = useState(0);
  const before = useWhole(projectId, row.baseline[trial]);
  const after = useWhole(projectId, row.experiment[trial]);
  const { input, reference } = useWholeInput(projectId, row);
  return (
    <>
      {row.content_changed && (
        <p className={styles.note}>The two ran different contents of this row of the dataset: they are not compared.</p>
      )}
      <section aria-label="Input">
        <h3>Input</h3>
        <Payload value={input} />
      </section>
      {reference !== null && (
        <section aria-label="Reference">
          <h3>Reference</h3>
          <LongText text={reference} />
        </section>
      )}
      {trials > 1 && (
        <select aria-label="Trial" value={trial} onChange={(event) => setTrial(Number(event.target.value))}>
          {Array.from({ length: trials }, (_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: trials are their numbers
            <option key={index} value={index}>
              trial {index + 1} of {trials}
            </option>
          ))}
        </select>
      )}
      <RowScores {...{ baseline, experiment, comparison }} before={before.trace} after={after.trace} />
      <Outputs {...{ projectId, baseline, experiment, before, after, reference }} />
    </>
  );
}

/** A trace of a side; what the list has cut is read whole. */
interface Whole {
  trace: ComparedTrace | undefined;
  /** Undefined while it is read. */
  output: string | undefined;
}

function useWhole(projectId: string, trace: ComparedTrace | undefined): Whole {
  const needed = trace !== undefined && isCut(trace.output);
  const { data, error } = useQuery({ ...recordQuery(projectId, 'traces', trace?.trace_id ?? ''), enabled: needed });
  return { trace, output: !needed || error ? outputText(trace) : data && plainText(data.output) };
}

function useWholeInput(projectId: string, { input, reference, experiment, baseline }: ComparedRow) {
  const trace = experiment[0] ?? baseline[0];
  const needed = trace !== undefined && (isCut(input) || isCut(reference));
  const { data } = useQuery({ ...recordQuery(projectId, 'traces', trace?.trace_id ?? ''), enabled: needed });
  if (!needed || !data) return { input, reference };
  const { dataset_output: output } = data;
  return { input: data.dataset_input ?? data.input, reference: typeof output === 'string' ? output : reference };
}

interface OutputsProps extends Pick<Props, 'projectId' | 'baseline' | 'experiment'> {
  before: Whole;
  after: Whole;
  reference: string | null;
}

function Outputs({ projectId, baseline, experiment, before, after, reference }: OutputsProps) {
  const [{ against }, change] = useCompareAddress();
  if (before.output === undefined || after.output === undefined) return <LoadingNote what="the outputs" />;
  const labelOf = ({ name }: ComparedExperiment, { trace }: Whole) => <Label {...{ projectId, name, trace }} />;
  const byReference = against === 'reference' && reference !== null;
  return (
    <section aria-label="Outputs" className={styles.outputs}>
      <div className={styles.outputsHead}>
        <h3>Outputs</h3>
        {reference !== null && (
          <label className={styles.against}>
            <input
              type="checkbox"
              checked={byReference}
              onChange={(event) => change({ against: event.target.checked ? 'reference' : undefined }, { replace: true })}
            />
            against the reference
          </label>
        )}
      </div>
      {byReference ? (
        [[baseline, before] as const, [experiment, after] as const].map(([side, whole]) => (
          <TextDiff
            key={side.id}
            before={reference}
            after={whole.output ?? ''}
            labels={{ before: 'Reference', after: labelOf(side, whole) }}
          />
        ))
      ) : (
        <TextDiff
          before={before.output}
          after={after.output}
          labels={{ before: labelOf(baseline, before), after: labelOf(experiment, after) }}
        />
      )}
    </section>
  );
}

/** A side by its name, with the way to its trace, and why it failed. */
function Label({ projectId, name, trace }: { projectId: string; name: string; trace: ComparedTrace | undefined }) {
  if (!trace) return <>{name} has no such row</>;
  return (
    <>
      <span className={styles.side}>{name}</span>{' '}
      <Link to="/p/$projectId/traces/$traceId" params={{ projectId, traceId: trace.trace_id }} search={{}}>
        trace
        <span className="only-read"> of {name}</span>
      </Link>
      {trace.error_message !== '' && <span className={styles.failure}>failed: {trace.error_message}</span>}
    </>
  );
}
