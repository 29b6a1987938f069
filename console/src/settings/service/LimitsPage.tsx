import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ServiceState } from '../../../../shared/wire/serviceState.ts';
import { useMay } from '../../data/permissions.ts';
import { serviceStateQuery } from '../../data/serviceState.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { countText, numberText, UNKNOWN } from '../../parts/format.ts';
import lists from '../../parts/ListPage.module.css';
import { LoadingNote } from '../../parts/notes.tsx';
import { ShareBar } from '../../parts/ShareBar.tsx';
import { PlaygroundLimitsPart } from '../projects/PlaygroundLimitsPart.tsx';
import { ProjectField } from '../projects/ProjectField.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';

type Limit = ServiceState['limits'][number];

/** Shows the limits of the service, how far each is used, and the setting that changes it; then those of a project. */
export function LimitsPage() {
  const { data, error, refetch } = useQuery(serviceStateQuery);
  return (
    <>
      <SectionHead title="Limits" />
      <p className="quiet">
        Of the process that answers. The operator changes them by settings of the environment. What became of the records of a
        project is in <Link to="/settings/projects">its section</Link>.
      </p>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="the limits" />}
      {data && (
        <table className={lists.table}>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" className="number">
                At most
              </th>
              <th scope="col">Used now</th>
              <th scope="col" className={lists.wide}>
                Setting
              </th>
            </tr>
          </thead>
          <tbody>
            {data.limits.map((one) => (
              <tr key={one.id}>
                <td>{one.label}</td>
                <td className="number">{amount(one, one.limit)}</td>
                <td>
                  {one.used === null ? (
                    <span className="quiet">{UNKNOWN}</span>
                  ) : (
                    <span className={styles.buttons}>
                      {amount(one, one.used)}
                      <span className={lists.wide}>
                        <ShareBar label={`Used of ${one.label}`} share={one.used / one.limit} />
                      </span>
                    </span>
                  )}
                </td>
                <td className={lists.wide}>{one.setting === null ? 'fixed' : <code>{one.setting}</code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <LimitsOfProject />
    </>
  );
}

function LimitsOfProject() {
  const { project } = useSearch({ from: '/signed in/settings/limits' });
  const navigate = useNavigate();
  return (
    <section className={styles.part} aria-label="Of a project">
      <h2>Of a project</h2>
      <ProjectField
        project={project}
        onChoose={(chosen) => void navigate({ to: '/settings/limits', search: { project: chosen } })}
      />
      {project !== undefined && <LimitsOf key={project} projectId={project} />}
    </section>
  );
}

function LimitsOf({ projectId }: { projectId: string }) {
  return <PlaygroundLimitsPart projectId={projectId} mayChange={useMay(projectId, 'update')} />;
}

/** Settings count in these. */
const MEBIBYTE = 1024 * 1024;

const amount = ({ unit }: Limit, value: number): string =>
  unit === 'bytes' ? `${numberText(value / MEBIBYTE)} MiB` : countText(value);
