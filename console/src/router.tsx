import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { assetAddress, assetListAddress } from './address/assetAddress.ts';
import { compareAddress } from './address/compareAddress.ts';
import { experimentAddress } from './address/experimentAddress.ts';
import { experimentsAddress } from './address/experimentsAddress.ts';
import { home } from './address/home.ts';
import { chosenAddress, metricAddress } from './address/metricAddress.ts';
import { metricsAddress } from './address/metricsAddress.ts';
import { onlyWhatIsRead } from './address/onlyWhatIsRead.ts';
import { playgroundAddress } from './address/playgroundAddress.ts';
import { queueAddress } from './address/queueAddress.ts';
import { recordsAddress } from './address/recordsAddress.ts';
import { newIntegrationAddress, projectSettingsAddress } from './address/settingsAddress.ts';
import { signUpAddress } from './address/signUpAddress.ts';
import { startAddress } from './address/startAddress.ts';
import { traceAddress } from './address/traceAddress.ts';
import { Frame } from './frame/Frame.tsx';
import { NotFound, PageError } from './frame/PageError.tsx';
import { SignInPage } from './session/SignInPage.tsx';
import { accessToken, SignedOut } from './session/session.ts';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: PageError });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: onlyWhatIsRead((given): { next?: string } => (typeof given.next === 'string' ? { next: given.next } : {})),
  component: SignInPage,
});

const signUp = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  validateSearch: onlyWhatIsRead(signUpAddress),
  component: lazyRouteComponent(() => import('./session/SignUpPage.tsx'), 'SignUpPage'),
});

/** All but the sign-in and the sign-up: who is not signed in goes there, and from there back. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed in',
  async beforeLoad({ location }) {
    try {
      await accessToken();
    } catch (err) {
      if (!(err instanceof SignedOut)) throw err;
      throw redirect({ to: '/sign-in', search: { next: location.href } });
    }
  },
  component: Frame,
});

const projects = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  component: lazyRouteComponent(() => import('./projects/ProjectsPage.tsx'), 'ProjectsPage'),
});

const project = createRoute({
  getParentRoute: () => signedIn,
  path: '/p/$projectId',
  beforeLoad: ({ params, location }) => {
    if (location.pathname.endsWith(params.projectId)) throw redirect({ to: '/p/$projectId/records', params, search: {} });
  },
});

const records = createRoute({
  getParentRoute: () => project,
  path: 'records',
  validateSearch: onlyWhatIsRead(recordsAddress),
  component: lazyRouteComponent(() => import('./records/RecordsPage.tsx'), 'RecordsPage'),
});

const experiments = createRoute({
  getParentRoute: () => project,
  path: 'experiments',
  validateSearch: onlyWhatIsRead(experimentsAddress),
  component: lazyRouteComponent(() => import('./experiments/ExperimentsPage.tsx'), 'ExperimentsPage'),
});

const start = createRoute({
  getParentRoute: () => project,
  path: 'experiments/new',
  validateSearch: onlyWhatIsRead(startAddress),
  component: lazyRouteComponent(() => import('./start/StartPage.tsx'), 'StartPage'),
});

const experiment = createRoute({
  getParentRoute: () => project,
  path: 'experiments/$experimentId',
  validateSearch: onlyWhatIsRead(experimentAddress),
  component: lazyRouteComponent(() => import('./experiment/ExperimentPage.tsx'), 'ExperimentPage'),
});

const trace = createRoute({
  getParentRoute: () => project,
  path: 'traces/$traceId',
  validateSearch: onlyWhatIsRead(traceAddress),
  component: lazyRouteComponent(() => import('./trace/TracePage.tsx'), 'TracePage'),
});

const compare = createRoute({
  getParentRoute: () => project,
  path: 'compare',
  validateSearch: onlyWhatIsRead(compareAddress),
  component: lazyRouteComponent(() => import('./compare/ComparePage.tsx'), 'ComparePage'),
});

const session = createRoute({
  getParentRoute: () => project,
  path: 'sessions/$sessionId',
  component: lazyRouteComponent(() => import('./sessionPage/SessionPage.tsx'), 'SessionPage'),
});

const datasets = createRoute({
  getParentRoute: () => project,
  path: 'datasets',
  validateSearch: onlyWhatIsRead(assetListAddress),
  component: lazyRouteComponent(() => import('./dataset/DatasetsPage.tsx'), 'DatasetsPage'),
});

const dataset = createRoute({
  getParentRoute: () => signedIn,
  path: '/datasets/$datasetId',
  validateSearch: onlyWhatIsRead(assetAddress),
  component: lazyRouteComponent(() => import('./dataset/DatasetPage.tsx'), 'DatasetPage'),
});

const prompts = createRoute({
  getParentRoute: () => project,
  path: 'prompts',
  validateSearch: onlyWhatIsRead(assetListAddress),
  component: lazyRouteComponent(() => import('./prompt/PromptsPage.tsx'), 'PromptsPage'),
});

const prompt = createRoute({
  getParentRoute: () => signedIn,
  path: '/prompts/$promptId',
  validateSearch: onlyWhatIsRead(assetAddress),
  component: lazyRouteComponent(() => import('./prompt/PromptPage.tsx'), 'PromptPage'),
});

const metrics = createRoute({
  getParentRoute: () => project,
  path: 'metrics',
  validateSearch: onlyWhatIsRead(metricsAddress),
  component: lazyRouteComponent(() => import('./metrics/MetricsPage.tsx'), 'MetricsPage'),
});

const playground = createRoute({
  getParentRoute: () => project,
  path: 'playground',
  validateSearch: onlyWhatIsRead(playgroundAddress),
  component: lazyRouteComponent(() => import('./playground/PlaygroundPage.tsx'), 'PlaygroundPage'),
});

const newJudge = createRoute({
  getParentRoute: () => project,
  path: 'metrics/new',
  validateSearch: onlyWhatIsRead(chosenAddress),
  component: lazyRouteComponent(() => import('./metric/NewJudgePage.tsx'), 'NewJudgePage'),
});

const newCodeMetric = createRoute({
  getParentRoute: () => project,
  path: 'metrics/new-code',
  validateSearch: onlyWhatIsRead(chosenAddress),
  component: lazyRouteComponent(() => import('./metric/NewCodeMetricPage.tsx'), 'NewCodeMetricPage'),
});

const newCheck = createRoute({
  getParentRoute: () => project,
  path: 'metrics/new-check',
  component: lazyRouteComponent(() => import('./metric/NewCheckPage.tsx'), 'NewCheckPage'),
});

const metric = createRoute({
  getParentRoute: () => project,
  path: 'metrics/$metricId',
  validateSearch: onlyWhatIsRead(metricAddress),
  component: lazyRouteComponent(() => import('./metric/MetricPage.tsx'), 'MetricPage'),
});

const queues = createRoute({
  getParentRoute: () => signedIn,
  path: '/queues',
  component: lazyRouteComponent(() => import('./queues/QueuesPage.tsx'), 'QueuesPage'),
});

const queue = createRoute({
  getParentRoute: () => signedIn,
  path: '/queues/$queueId',
  validateSearch: onlyWhatIsRead(queueAddress),
  component: lazyRouteComponent(() => import('./queue/QueuePage.tsx'), 'QueuePage'),
});

const settings = createRoute({
  getParentRoute: () => signedIn,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/SettingsLayout.tsx'), 'SettingsLayout'),
});

const settingsStart = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/integrations' });
  },
});

const integrations = createRoute({
  getParentRoute: () => settings,
  path: 'integrations',
  component: lazyRouteComponent(() => import('./settings/integrations/IntegrationsPage.tsx'), 'IntegrationsPage'),
});

const newIntegration = createRoute({
  getParentRoute: () => settings,
  path: 'integrations/new',
  validateSearch: onlyWhatIsRead(newIntegrationAddress),
  component: lazyRouteComponent(() => import('./settings/integrations/NewIntegrationPage.tsx'), 'NewIntegrationPage'),
});

const integration = createRoute({
  getParentRoute: () => settings,
  path: 'integrations/$integrationId',
  component: lazyRouteComponent(() => import('./settings/integrations/IntegrationPage.tsx'), 'IntegrationPage'),
});

const keys = createRoute({
  getParentRoute: () => settings,
  path: 'keys',
  component: lazyRouteComponent(() => import('./settings/keys/KeysPage.tsx'), 'KeysPage'),
});

const users = createRoute({
  getParentRoute: () => settings,
  path: 'users',
  component: lazyRouteComponent(() => import('./settings/users/UsersPage.tsx'), 'UsersPage'),
});

const groups = createRoute({
  getParentRoute: () => settings,
  path: 'groups',
  component: lazyRouteComponent(() => import('./settings/users/GroupsPage.tsx'), 'GroupsPage'),
});

const account = createRoute({
  getParentRoute: () => settings,
  path: 'account',
  component: lazyRouteComponent(() => import('./settings/account/AccountPage.tsx'), 'AccountPage'),
});

const settingsOfProject = createRoute({
  getParentRoute: () => settings,
  path: 'projects',
  validateSearch: onlyWhatIsRead(projectSettingsAddress),
  component: lazyRouteComponent(() => import('./settings/projects/ProjectsPage.tsx'), 'ProjectSettingsPage'),
});

const prices = createRoute({
  getParentRoute: () => settings,
  path: 'prices',
  component: lazyRouteComponent(() => import('./settings/prices/PricesPage.tsx'), 'PricesPage'),
});

const limits = createRoute({
  getParentRoute: () => settings,
  path: 'limits',
  validateSearch: onlyWhatIsRead(projectSettingsAddress),
  component: lazyRouteComponent(() => import('./settings/service/LimitsPage.tsx'), 'LimitsPage'),
});

const health = createRoute({
  getParentRoute: () => settings,
  path: 'health',
  component: lazyRouteComponent(() => import('./settings/service/HealthPage.tsx'), 'HealthPage'),
});

const elsewhere = createRoute({ getParentRoute: () => signedIn, path: '$', component: NotFound });
const elsewhereInProject = createRoute({ getParentRoute: () => project, path: '$', component: NotFound });

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    signUp,
    signedIn.addChildren([
      projects,
      project.addChildren([
        records,
        experiments,
        start,
        experiment,
        compare,
        trace,
        session,
        datasets,
        prompts,
        metrics,
        playground,
        newJudge,
        newCodeMetric,
        newCheck,
        metric,
        elsewhereInProject,
      ]),
      dataset,
      prompt,
      queues,
      queue,
      settings.addChildren([
        settingsStart,
        integrations,
        newIntegration,
        integration,
        keys,
        users,
        groups,
        account,
        settingsOfProject,
        prices,
        limits,
        health,
      ]),
      elsewhere,
    ]),
  ]),
  basepath: home.path,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
