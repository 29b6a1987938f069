import { useQuery } from '@tanstack/react-query';
import { defaultJudgeQuery, setDefaultJudge } from '../data/metrics.ts';
import { useMay } from '../data/permissions.ts';
import { NewNamed } from '../parts/NewNamed.tsx';

/** The model that judges where a metric names none, and the dialog that changes it. */
export function DefaultJudge({ projectId }: { projectId: string }) {
  const { data } = useQuery(defaultJudgeQuery(projectId));
  const maySet = useMay(projectId, 'set_metric');
  if (!data) return null;
  return (
    <>
      <span className="quiet">Default judge: {data.model ?? 'none'}</span>
      {maySet && (
        <NewNamed
          title="Set the default judge"
          action="Set"
          label="Model"
          className=""
          name={data.model ?? ''}
          maxLength={512}
          onName={(model) => setDefaultJudge(projectId, model)}
        />
      )}
      {maySet && data.model !== null && (
        <button type="button" className="plain" onClick={() => void setDefaultJudge(projectId, null)}>
          No default judge
        </button>
      )}
    </>
  );
}
