import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ExperimentTab } from '../address/experimentAddress.ts';
import { type ExperimentRef, experimentQuery, runSettingsQuery } from '../data/experiment.ts';
import type { Experiment } from '../data/experiments.ts';
import { useProjectName } from '../data/projectName.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { lineText } from '../parts/format.ts';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { Tabs } from '../parts/Tabs.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { ExperimentFacts } from './ExperimentFacts.tsx';
import styles from './ExperimentPage.module.css';
import { FailureCauses } from './FailureCauses.tsx';
import { FigureStrip } from './FigureStrip.tsx';
import { Figures } from './Figures.tsx';
import { RunActions } from './RunActions.tsx';
import { RunProgress } from './RunProgress.tsx';
import { RunRows } from './RunRows.tsx';
import { stateText } from './runState.ts';
import { Setup } from './Setup.tsx';
import { from, useExperimentAddress } from './useExperimentAddress.ts';
import { type LiveRun, useLiveRun } from './useLiveRun.ts';

type Tab = ExperimentTab | 'rows';
const tabs = [
  ['rows', 'Rows'],
  ['figures', 'Figures'],
  ['setup', 'Setup'],
] as const;

/** One experiment: how its run goes on, what people may do with it, its figures, and its rows. */
export function ExperimentPage() {
  const { projectId, experimentId } = useParams({ from });
  const of = useMemo(() => ({ projectId, experimentId }), [projectId, experimentId]);
  const { data: experiment, error, refetch } = useQuery(experimentQuery(of));
  const live = useLiveRun(of);
  if (experiment && live.isGone) return <Deleted experiment={experiment} />;
  if (error && !experiment) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!experiment) return <LoadingNote what="the experiment" />;
  return <Shown key={experimentId} {...{ of, experiment, live }} />;
}

function Shown({ of, experiment, live }: { of: ExperimentRef; experiment: Experiment; live: LiveRun }) {
  const [{ tab }, change] = useExperimentAddress();
  const { data: run, error } = useQuery(runSettingsQuery(of));
  const { progress } = live;
  const state = progress?.state ?? experiment.state;
  useTitle(experiment.name, useProjectName(of.projectId));
  const shown: Tab = tab ?? 'rows';
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.title}>
          <h1 dir="auto">{lineText(experiment.name, 300)}</h1>
          <span role="status" className={styles.state} data-state={state}>
            {stateText(state)}
          </span>
          {experiment.approved_at !== null && <span className={styles.approved}>approved baseline</span>}
          {experiment.gate && (
            <span className={styles.gate} data-gate={experiment.gate.status}>
              gate {experiment.gate.status}
            </span>
          )}
        </div>
        <ExperimentFacts experiment={experiment} />
        {progress ? <RunProgress progress={progress} /> : !live.error && <LoadingNote what="how far it is" />}
        {live.error && !live.isGone && <ErrorNote error={live.error} />}
        {progress && run && <RunActions {...{ of, experiment, run, progress }} onSteered={live.steered} />}
        {error && <ErrorNote error={error} />}
        {progress && <FailureCauses {...{ of, progress }} />}
        <FigureStrip {...{ of, experiment, progress }} />
      </header>
      <div className={styles.tabs}>
        <Tabs
          label="What of it is shown"
          tabs={tabs}
          chosen={shown}
          onChoose={(next) => change({ tab: next === 'rows' ? undefined : next })}
        >
          {shown === 'rows' && <RunRows {...{ of, experiment, progress }} />}
          {shown === 'figures' && <Figures {...{ of, experiment, progress }} />}
          {shown === 'setup' && <Setup {...{ experiment, run, progress }} />}
        </Tabs>
      </div>
    </div>
  );
}

/** In place of an experiment that was deleted while somebody looked at it. */
function Deleted({ experiment }: { experiment: Experiment }) {
  return (
    <EmptyNote title="This experiment is gone" isPage>
      <p role="alert">
        “{lineText(experiment.name, 300)}” was deleted while it was shown, or your account does not see it any more. Its rows went
        with it.
      </p>
      <p>
        <Link to="/p/$projectId/experiments" params={{ projectId: experiment.project_id }} search={{}}>
          Experiments of the project
        </Link>
      </p>
    </EmptyNote>
  );
}
