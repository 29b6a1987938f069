import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { integrationsQuery } from '../../data/integrations.ts';
import { useStanding } from '../../data/permissions.ts';
import { say } from '../../parts/notice.ts';
import { useTitle } from '../../parts/useTitle.ts';
import styles from '../Settings.module.css';
import { providerLabels } from './providerFields.ts';
import { SettingsForm } from './SettingsForm.tsx';

/** Connects a provider of models. */
export function NewIntegrationPage() {
  const { provider = 'custom' } = useSearch({ from: '/signed in/settings/integrations/new' });
  const label = providerLabels[provider] ?? provider;
  useTitle(`Connect ${label}`, 'Settings');
  const { data } = useQuery(integrationsQuery);
  const { addsIntegrations } = useStanding();
  const navigate = useNavigate();
  const taken = (data ?? []).filter((one) => one.provider === 'custom').map(({ name }) => name);
  return (
    <>
      <div className={styles.head}>
        <h1>{label}</h1>
      </div>
      {addsIntegrations ? (
        <SettingsForm
          key={provider}
          {...{ provider, taken }}
          stored={undefined}
          onSaved={({ id, name }) => {
            say(`${name} is connected: make a test call`);
            void navigate({ to: '/settings/integrations/$integrationId', params: { integrationId: id } });
          }}
        />
      ) : (
        <p>Administrators and managers connect providers; your account may not.</p>
      )}
    </>
  );
}
