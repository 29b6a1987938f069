import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { createProject } from '../data/projects.ts';
import { NewNamed } from '../parts/NewNamed.tsx';

/** A button, and the dialog that asks for the name. */
export function NewProject() {
  const navigate = useNavigate();
  const cached = useQueryClient();
  const make = async (name: string) => {
    const { id } = await createProject(name);
    await cached.invalidateQueries({ queryKey: ['projects'] });
    await navigate({ to: '/p/$projectId/records', params: { projectId: id }, search: {} });
  };
  return <NewNamed title="New project" onName={make} maxLength={1_000} />;
}
