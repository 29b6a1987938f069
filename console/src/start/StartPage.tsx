import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { experimentQuery, runSettingsQuery } from '../data/experiment.ts';
import { metricsQuery } from '../data/metrics.ts';
import { useMay } from '../data/permissions.ts';
import { useProjectName } from '../data/projectName.ts';
import { projectQuery } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { EmptyNote, LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { StartFields } from './StartFields.tsx';
import styles from './StartPage.module.css';
import { draftOfAddress, draftOfExperiment } from './startDraft.ts';

const from = '/signed in/p/$projectId/experiments/new';

/** Starts an experiment: what is run, what it will cost, and the same as code. What is typed stays in the tab until it has started. */
export function StartPage() {
  const { projectId } = useParams({ from });
  const address = useSearch({ from });
  useTitle('New experiment', useProjectName(projectId));
  const { data: project, error } = useQuery(projectQuery(projectId));
  const mayRun = useMay(projectId, 'create_run');
  if (error) return <ErrorNote error={error} />;
  if (!project) return <LoadingNote what="the project" />;
  if (!mayRun)
    return (
      <EmptyNote title="Your account starts no experiments here" isPage>
        <p>It reads this project. Its owners and editors start experiments in it.</p>
      </EmptyNote>
    );
  return (
    <div className={styles.page}>
      <header>
        <h1>{address.from === undefined ? 'New experiment' : 'Run again with changes'}</h1>
        <p className="quiet">
          <Link to="/p/$projectId/experiments" params={{ projectId }} search={{}}>
            Experiments
          </Link>
        </p>
      </header>
      {address.from === undefined ? (
        <StartFields key={JSON.stringify(address)} initial={draftOfAddress(address)} {...{ projectId, address }} />
      ) : (
        <Again key={address.from} experimentId={address.from} projectId={projectId} />
      )}
    </div>
  );
}

/** The form with what an experiment was run with. */
function Again({ projectId, experimentId }: { projectId: string; experimentId: string }) {
  const of = { projectId, experimentId };
  const { data: experiment, error } = useQuery(experimentQuery(of));
  const { data: run, error: runError } = useQuery(runSettingsQuery(of));
  const { data: scorers, error: scorerError } = useQuery(metricsQuery(projectId));
  const problem = error ?? runError ?? scorerError;
  if (problem) return <ErrorNote error={problem} />;
  if (!experiment || !run || !scorers) return <LoadingNote what="what it was run with" />;
  const metrics = scorers.filter((one) => run.metrics.some(({ name }) => name === one.name || name === one.metric_name));
  const initial = draftOfExperiment(
    experiment,
    run,
    metrics.map(({ id }) => id),
  );
  return (
    <>
      {run.runner.kind === 'caller_function' && (
        <p role="note">
          “{experiment.name}” ran a function of a program. Only that program can run it again; choose here what else runs the
          rows.
        </p>
      )}
      {experiment.dataset === null && (
        <p role="note">Its rows came with the run and are in no dataset: choose a dataset to run over.</p>
      )}
      <StartFields initial={initial} projectId={projectId} address={{ from: experimentId }} />
    </>
  );
}
