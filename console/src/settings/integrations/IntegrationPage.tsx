import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { deleteIntegrationLater } from '../../data/deletions.ts';
import { type IntegrationRow, integrationSettingsQuery, integrationsQuery, mayOnIntegration } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { EmptyNote, LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { Time } from '../../parts/Time.tsx';
import { useTitle } from '../../parts/useTitle.ts';
import { People } from '../People.tsx';
import styles from '../Settings.module.css';
import { CallLimits } from './CallLimits.tsx';
import { OwnPrices } from './OwnPrices.tsx';
import { fieldsOf, providerLabels, valuesOf } from './providerFields.ts';
import { SettingsForm } from './SettingsForm.tsx';
import { TestCall } from './TestCall.tsx';

/** One integration: how it is reached, whether it answers, what it costs, what it may use, and who may use it. */
export function IntegrationPage() {
  const { integrationId } = useParams({ from: '/signed in/settings/integrations/$integrationId' });
  const { data, error, refetch } = useQuery(integrationsQuery);
  const integration = data?.find(({ id }) => id === integrationId);
  useTitle(integration?.name ?? 'Integration', 'Settings');
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <LoadingNote what="the integration" />;
  if (!integration)
    return (
      <EmptyNote title="There is no such integration" isPage>
        <p>
          It was deleted, or your account does not see it. <Link to="/settings/integrations">All integrations</Link>
        </p>
      </EmptyNote>
    );
  return <Integration key={integrationId} integration={integration} />;
}

function Integration({ integration }: { integration: IntegrationRow }) {
  const { id, name, provider, created_at, updated_at } = integration;
  const navigate = useNavigate();
  const { data: settings, error } = useQuery(integrationSettingsQuery(id));
  const mayUpdate = mayOnIntegration(integration, 'update');
  const remove = () => {
    deleteIntegrationLater(integration);
    void navigate({ to: '/settings/integrations' });
  };
  return (
    <>
      <div className={styles.head}>
        <h1>{name}</h1>
        {mayOnIntegration(integration, 'delete') && (
          <button type="button" className="bad" onClick={remove}>
            Delete
          </button>
        )}
      </div>
      <p className="quiet">
        {providerLabels[provider] ?? provider}, connected <Time at={created_at} />, changed <Time at={updated_at} />
      </p>
      {mayUpdate && <TestCall integration={integration} />}
      <section className={styles.part} aria-label="Settings">
        <h2>Settings</h2>
        {error ? <ErrorNote error={error} /> : !settings && <LoadingNote what="the settings" />}
        {settings && mayUpdate && (
          <SettingsForm
            provider={provider}
            taken={[]}
            stored={{ name, settings }}
            onSaved={() => say('The settings are saved; calls go by them within a second')}
          />
        )}
        {settings && !mayUpdate && (
          <dl className={styles.facts}>
            {fieldsOf(provider, valuesOf(provider, settings)).flatMap(({ path, label, isSecret, options }) => {
              const value = valuesOf(provider, settings)[path];
              const text = options?.find(([one]) => one === value)?.[1] ?? value;
              return isSecret || !text ? [] : [<dt key={label}>{label}</dt>, <dd key={path}>{text}</dd>];
            })}
          </dl>
        )}
      </section>
      <OwnPrices id={id} mayChange={mayUpdate} />
      <CallLimits id={id} mayChange={mayUpdate} />
      <People
        thing={`/integrations/${id}`}
        note="Runs of every project call its models. These people and groups see or change it beside its maker, administrators and managers."
        mayShare={mayOnIntegration(integration, 'share')}
      />
    </>
  );
}
