import { beforeAll, expect, test } from 'vitest';
import { type ConsoleBytes, consoleBytes } from '../support/consoleBytes.ts';

let bytes: ConsoleBytes;
beforeAll(async () => {
  bytes = await consoleBytes();
});

test('sign-in loads at most 130 KB of JavaScript', () => {
  expect(bytes.kilobytes(bytes.filesOf())).toBeLessThanOrEqual(130);
});

test('the records load at most 205 KB of JavaScript', () => {
  expect(bytes.kilobytes(bytes.filesOf('src/records/RecordsPage.tsx'))).toBeLessThanOrEqual(205);
});

test.each([
  'projects/ProjectsPage',
  'experiments/ExperimentsPage',
  'experiment/ExperimentPage',
  'start/StartPage',
  'compare/ComparePage',
  'trace/TracePage',
  'sessionPage/SessionPage',
  'dataset/DatasetsPage',
  'dataset/DatasetPage',
  'dataset/import/ImportDialog',
  'prompt/PromptsPage',
  'prompt/PromptPage',
  'playground/PlaygroundPage',
  'metrics/MetricsPage',
  'metric/MetricPage',
  'metric/NewJudgePage',
  'metric/NewCheckPage',
  'queues/QueuesPage',
  'queue/QueuePage',
  'settings/SettingsLayout',
  'settings/integrations/IntegrationsPage',
  'settings/integrations/IntegrationPage',
  'settings/integrations/NewIntegrationPage',
  'settings/projects/ProjectsPage',
  'settings/prices/PricesPage',
  'settings/service/LimitsPage',
  'settings/service/HealthPage',
  'settings/keys/KeysPage',
  'settings/users/UsersPage',
  'settings/users/GroupsPage',
  'settings/account/AccountPage',
  'frame/Palette',
  'frame/Help',
])('%s loads at most 45 KB beyond the records', (page) => {
  const records = bytes.filesOf('src/records/RecordsPage.tsx');
  const own = [...bytes.filesOf(`src/${page}.tsx`)].filter((file) => !records.has(file));
  expect(own.length).toBeGreaterThan(0);
  expect(bytes.kilobytes(own)).toBeLessThanOrEqual(45);
});
