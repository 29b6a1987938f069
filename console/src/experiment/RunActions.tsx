import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  approve,
  type ExperimentRef,
  type LiveProgress,
  type RunSettings,
  renewExperiment,
  startAgain,
  steerRun,
} from '../data/experiment.ts';
import type { Experiment } from '../data/experiments.ts';
import { useMay } from '../data/permissions.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import { say } from '../parts/notice.ts';
import { StartLink } from '../parts/StartLink.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { CancelDialog } from './CancelDialog.tsx';
import { Concurrency } from './Concurrency.tsx';
import styles from './ExperimentPage.module.css';
import { hasEnded, isUnderWay } from './runState.ts';
import type { Steered } from './useLiveRun.ts';

interface Props {
  of: ExperimentRef;
  experiment: Experiment;
  run: RunSettings;
  progress: LiveProgress;
  onSteered(reply: Steered): void;
}

/** Shows the actions that the account may take on the run now, and no other. */
export function RunActions({ of, experiment, run, progress, onSteered }: Props) {
  const mayRun = useMay(of.projectId, 'create_run');
  const mayApprove = useMay(of.projectId, 'update');
  const [isAsking, setAsking] = useState(false);
  const acting = useMutation({ mutationFn: (act: () => Promise<unknown>) => act(), onSuccess: () => renewExperiment(of) });
  const act = (work: () => Promise<unknown>) => acting.mutate(work);
  const steer = (what: 'pause' | 'resume' | 'cancel') => act(async () => onSteered(await steerRun(of, what)));
  const again = (rows: 'missing' | 'failed' | 'none', nothing: string) =>
    act(async () => {
      const reply = await startAgain(of, rows);
      if (reply.started) onSteered(reply);
      else say(nothing);
    });
  const { state, rows_done: done, rows_total: total, rows_failed: failed } = progress;
  const isGoing = state === 'running' || state === 'requested';
  // Rows of a function of the caller run where that function is.
  const isHosted = run.runner.kind !== 'caller_function';
  const isApproved = experiment.approved_at !== null;
  useKeys({ '.': () => mayRun && (state === 'paused' ? steer('resume') : isGoing && steer('pause')) });
  const button = (label: string, work: () => void, key?: string) => (
    <button key={label} type="button" disabled={acting.isPending} onClick={work}>
      {label} {key && <kbd>{key}</kbd>}
    </button>
  );
  return (
    <>
      <div role="group" aria-label="Actions" className={styles.actions}>
        {mayRun && isGoing && button('Pause', () => steer('pause'), '.')}
        {mayRun && state === 'paused' && button('Resume', () => steer('resume'), '.')}
        {mayRun && isUnderWay(state) && button('Cancel', () => setAsking(true))}
        {isUnderWay(state) && <Concurrency {...{ of, onSteered }} value={progress.concurrency} mayChange={mayRun} />}
        {mayRun &&
          hasEnded(state) &&
          isHosted &&
          failed > 0 &&
          button(`Retry ${countText(failed)} failed`, () => again('failed', 'No row failed: nothing was started.'))}
        {mayRun &&
          hasEnded(state) &&
          isHosted &&
          done < total &&
          button(`Run the ${countText(total - done)} left`, () => again('missing', 'No row is left: nothing was started.'))}
        {mayRun && hasEnded(state) && button('Score again', () => again('none', 'No score is missing, failed or stale.'))}
        {mayApprove && state === 'completed' && !isApproved && button('Approve as baseline', () => act(() => approve(of, true)))}
        {mayApprove && isApproved && button('Take approval back', () => act(() => approve(of, false)))}
        <StartLink projectId={of.projectId} search={{ from: of.experimentId }} label="Run again with changes" />
        <Link
          to="/p/$projectId/compare"
          params={{ projectId: of.projectId }}
          search={{ with: [of.experimentId] }}
          className={styles.link}
        >
          Compare
        </Link>
        {run.workflow_url !== null && (
          <a href={run.workflow_url} target="_blank" rel="noreferrer" className={styles.link}>
            Temporal <Icon name="right" />
          </a>
        )}
      </div>
      {acting.error && <ErrorNote error={acting.error} />}
      {isAsking && (
        <CancelDialog rowsLeft={Math.max(0, total - done)} onCancel={() => steer('cancel')} onClose={() => setAsking(false)} />
      )}
    </>
  );
}
