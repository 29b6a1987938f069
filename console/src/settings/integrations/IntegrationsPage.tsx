import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useGoing } from '../../data/deletions.ts';
import { availableQuery, type IntegrationRow, integrationsQuery, modelsQuery } from '../../data/integrations.ts';
import { useStanding } from '../../data/permissions.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { countText } from '../../parts/format.ts';
import lists from '../../parts/ListPage.module.css';
import { EmptyNote, LoadingNote } from '../../parts/notes.tsx';
import { Time } from '../../parts/Time.tsx';
import { useTitle } from '../../parts/useTitle.ts';
import styles from '../Settings.module.css';
import { providerLabels } from './providerFields.ts';

/** The providers of models that are connected, and those that can be. */
export function IntegrationsPage() {
  useTitle('Integrations', 'Settings');
  const { data, error, refetch } = useQuery(integrationsQuery);
  const { addsIntegrations } = useStanding();
  const hidden = useGoing();
  const rows = (data ?? []).filter(({ id }) => !hidden.has(id));
  return (
    <>
      <div className={styles.head}>
        <h1>Integrations</h1>
      </div>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="integrations" />}
      {rows.length > 0 && <IntegrationTable rows={rows} />}
      {data && rows.length === 0 && (
        <EmptyNote title="No provider of models is connected">
          <p>
            Prompts, judges and synthetic rows call models through an integration. Connect a provider, or any endpoint that speaks
            the OpenAI chat protocol.
          </p>
          {!addsIntegrations && <p>Administrators and managers connect one.</p>}
        </EmptyNote>
      )}
      {data && addsIntegrations && <Connectable taken={rows} />}
    </>
  );
}

function IntegrationTable({ rows }: { rows: readonly IntegrationRow[] }) {
  const { data: models } = useQuery(modelsQuery);
  return (
    <table className={lists.table}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Provider</th>
          <th scope="col" className="number">
            Models
          </th>
          <th scope="col" className={lists.wide}>
            State
          </th>
          <th scope="col" className={`number ${lists.wide}`}>
            Changed
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, name, provider, updated_at, is_disabled }) => (
          <tr key={id}>
            <td>
              <Link to="/settings/integrations/$integrationId" params={{ integrationId: id }}>
                {name}
              </Link>
            </td>
            <td>{providerLabels[provider] ?? provider}</td>
            <td className="number">{modelCount(models?.[name]?.models)}</td>
            <td className={lists.wide}>{is_disabled ? 'switched off' : 'connected'}</td>
            <td className={`number ${lists.wide}`}>
              <Time at={updated_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const modelCount = (models: readonly string[] | undefined): string => (models?.length === 0 ? 'any' : countText(models?.length));

function Connectable({ taken }: { taken: readonly IntegrationRow[] }) {
  const { data: available = [] } = useQuery(availableQuery);
  const free = available.filter((provider) => provider === 'custom' || !taken.some((one) => one.provider === provider));
  return (
    <section className={styles.part} aria-label="Connect">
      <h2>Connect</h2>
      <div className={styles.buttons}>
        {free.map((provider) => (
          <Link key={provider} className={styles.button} to="/settings/integrations/new" search={{ provider }}>
            {providerLabels[provider] ?? provider}
          </Link>
        ))}
      </div>
    </section>
  );
}
