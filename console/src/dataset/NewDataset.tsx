import { useNavigate } from '@tanstack/react-router';
import { createDataset } from '../data/datasets.ts';
import { NewNamed } from '../parts/NewNamed.tsx';

/** Makes an empty dataset and leads to it. */
export function NewDataset({ projectId }: { projectId: string }) {
  const navigate = useNavigate();
  const make = async (name: string) => {
    const datasetId = await createDataset(name, projectId);
    await navigate({ to: '/datasets/$datasetId', params: { datasetId }, search: { project: projectId } });
  };
  return <NewNamed title="New dataset" onName={make} />;
}
