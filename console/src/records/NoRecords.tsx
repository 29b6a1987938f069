import { useMutation, useQuery } from '@tanstack/react-query';
import { home } from '../address/home.ts';
import { createLoggingKey } from '../data/apiKeys.ts';
import { useMay, useStanding } from '../data/permissions.ts';
import { currentUserQuery, projectQuery } from '../data/projects.ts';
import { CopyButton } from '../parts/CopyButton.tsx';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import notes from '../parts/notes.module.css';
import { EmptyNote } from '../parts/notes.tsx';
import type { RecordsView } from './useRecordsView.ts';

/** Shows the lines of code that fill this page, with its own address and names, and a key that is made here. */
export function NoRecords({ view }: { view: RecordsView }) {
  const { data: project } = useQuery(projectQuery(view.projectId));
  const { data: user } = useQuery(currentUserQuery);
  const mayLog = useMay(view.projectId, 'log_data');
  const { isUser } = useStanding();
  const making = useMutation({ mutationFn: createLoggingKey, gcTime: 0 });
  if (!project || !user) return null;
  const run = view.run?.isExperiment
    ? `experimentId: ${JSON.stringify(view.run.runId)}`
    : `logStream: ${JSON.stringify(view.streams?.find(({ id }) => id === view.run?.runId)?.name ?? 'default')}`;
  const client = `{ apiUrl: ${JSON.stringify(home.api)}, apiKey: ${JSON.stringify(making.data ?? 'YOUR_API_KEY')} }`;
  const code = `import { Logger, log } from '@assay/client';
new Logger({ client: ${client}, projectName: ${JSON.stringify(project.name)}, ${run} });
log({ kind: 'llm', name: 'answer' }, () => 'what your model says')();`;
  return (
    <EmptyNote title="Nothing is logged here yet">
      <p>
        Run these lines as they are, then wrap a function of your application in their place: each call is a trace on this page.
        Any OpenTelemetry exporter can send here, too.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines */}
      <pre tabIndex={0}>{code}</pre>
      <div className={notes.buttons}>
        {mayLog && isUser && making.data === undefined && (
          <button type="button" className="primary" disabled={making.isPending} onClick={() => making.mutate(project)}>
            Make an API key
          </button>
        )}
        <CopyButton label="Copy the code" text={() => code} />
        {making.data !== undefined && <CopyButton label="Copy the key" text={() => making.data} />}
      </div>
      <p role="status">{making.data !== undefined && KEY_IS_MADE}</p>
      {!mayLog && <p>Your account reads this project and does not log to it. Its owners and editors can make an API key.</p>}
      {mayLog && !isUser && (
        <p>You signed in with a key of this project, which makes no other keys. Log with that one, or sign in as a user.</p>
      )}
      {making.error && <ErrorNote error={making.error} />}
    </EmptyNote>
  );
}

const KEY_IS_MADE =
  'The code holds a new API key, which logs to this project and reaches no other. It is shown this once: keep it in a safe place, such as the variable SERVICE_API_KEY.';
