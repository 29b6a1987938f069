import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMay } from '../../data/permissions.ts';
import { projectQuery } from '../../data/projects.ts';
import { sentenceOf } from '../../parts/ErrorNote.tsx';
import { LoadingNote } from '../../parts/notes.tsx';
import { People } from '../People.tsx';
import { SectionHead } from '../SectionHead.tsx';
import { IngestCounters } from './IngestCounters.tsx';
import { PlaygroundLimitsPart } from './PlaygroundLimitsPart.tsx';
import { ProjectField } from './ProjectField.tsx';
import { RetentionPart } from './RetentionPart.tsx';

/** The settings of a project: its people, how long it keeps records, and what its playground may use. */
export function ProjectSettingsPage() {
  const { project } = useSearch({ from: '/signed in/settings/projects' });
  const navigate = useNavigate();
  return (
    <>
      <SectionHead title="Projects" />
      <ProjectField
        project={project}
        onChoose={(chosen) => void navigate({ to: '/settings/projects', search: { project: chosen } })}
      />
      {project !== undefined && <OneProject key={project} projectId={project} />}
    </>
  );
}

function OneProject({ projectId }: { projectId: string }) {
  const { data: project, error } = useQuery(projectQuery(projectId));
  const mayShare = useMay(projectId, 'share');
  const mayDelete = useMay(projectId, 'delete_data');
  const mayUpdate = useMay(projectId, 'update');
  if (error) return <p role="alert">{sentenceOf(error)}</p>;
  if (!project) return <LoadingNote what="the project" />;
  return (
    <>
      <RetentionPart project={project} mayChange={mayDelete} />
      <PlaygroundLimitsPart projectId={projectId} mayChange={mayUpdate} />
      <People
        thing={`/projects/${projectId}`}
        note="These people and groups, beside administrators and managers, who own every project."
        mayShare={mayShare}
      />
      <IngestCounters projectId={projectId} />
    </>
  );
}
