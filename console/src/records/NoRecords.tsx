import { useQuery } from '@tanstack/react-query';
import { home } from '../address/home.ts';
import { projectQuery } from '../data/projects.ts';
import { CopyButton } from '../parts/CopyButton.tsx';
import { EmptyNote } from '../parts/notes.tsx';
import type { RecordsView } from './useRecordsView.ts';

/** The lines of code that fill this page, with its own address and names. */
export function NoRecords({ view }: { view: RecordsView }) {
  const { data: project } = useQuery(projectQuery(view.projectId));
  const stream = view.streams?.find(({ id }) => id === view.run?.runId)?.name ?? 'default';
  const code = `import { Logger, log } from '@assay/client';

new Logger({ client: { apiUrl: ${JSON.stringify(home.api)} }, projectName: ${JSON.stringify(project?.name ?? '…')}, logStream: ${JSON.stringify(stream)} });
export const answer = log({ kind: 'llm', name: 'answer' }, askTheModel);`;
  return (
    <EmptyNote title="Nothing is logged here yet">
      <p>
        Wrap a function of your application, set SERVICE_API_KEY, and each call is a trace on this page. Any OpenTelemetry
        exporter can send here, too.
      </p>
      <pre>{code}</pre>
      <div>
        <CopyButton label="Copy the code" text={() => code} />
      </div>
    </EmptyNote>
  );
}
