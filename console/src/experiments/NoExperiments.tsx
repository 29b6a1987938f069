import { useQuery } from '@tanstack/react-query';
import { home } from '../address/home.ts';
import { useMay } from '../data/permissions.ts';
import { projectQuery } from '../data/projects.ts';
import { CopyButton } from '../parts/CopyButton.tsx';
import notes from '../parts/notes.module.css';
import { EmptyNote } from '../parts/notes.tsx';
import { StartLink } from '../parts/StartLink.tsx';

/** The lines of code that fill this page, with its own address and project. */
export function NoExperiments({ projectId }: { projectId: string }) {
  const { data: project } = useQuery(projectQuery(projectId));
  const mayRun = useMay(projectId, 'create_run');
  if (!project) return null;
  const code = `import { runExperiment } from '@assay/client';
const client = { apiUrl: ${JSON.stringify(home.api)}, apiKey: process.env.SERVICE_API_KEY };
const dataset = [{ input: 'What is 6 times 7?', output: '42' }];
await runExperiment({ client, projectName: ${JSON.stringify(project.name)}, experimentName: 'first', dataset, function: answer, metrics: ['exact_match'] });`;
  return (
    <EmptyNote title="No experiments yet">
      <p>
        An experiment runs every row of a dataset through your application and measures the answers. Give it yours as{' '}
        <code>answer</code>, and each run is a row of this page.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines */}
      <pre tabIndex={0}>{code}</pre>
      <div className={notes.buttons}>
        <StartLink projectId={projectId} search={{}} label="New experiment" isPrimary />
        <CopyButton label="Copy the code" text={() => code} />
      </div>
      {!mayRun && <p>Your account reads this project and starts no runs in it. Its owners and editors do.</p>}
    </EmptyNote>
  );
}
