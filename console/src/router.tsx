import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { home } from './address/home.ts';
import { recordsAddress } from './address/recordsAddress.ts';
import { traceAddress } from './address/traceAddress.ts';
import { Frame } from './frame/Frame.tsx';
import { NotFound, PageError } from './frame/PageError.tsx';
import { SignInPage } from './session/SignInPage.tsx';
import { accessToken, SignedOut } from './session/session.ts';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: PageError });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (given: Record<string, unknown>): { next?: string } =>
    typeof given.next === 'string' ? { next: given.next } : {},
  component: SignInPage,
});

/** All but the sign-in: who is not signed in goes there, and from there back. */
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
  validateSearch: recordsAddress,
  component: lazyRouteComponent(() => import('./records/RecordsPage.tsx'), 'RecordsPage'),
});

const trace = createRoute({
  getParentRoute: () => project,
  path: 'traces/$traceId',
  validateSearch: traceAddress,
  component: lazyRouteComponent(() => import('./trace/TracePage.tsx'), 'TracePage'),
});

const session = createRoute({
  getParentRoute: () => project,
  path: 'sessions/$sessionId',
  component: lazyRouteComponent(() => import('./sessionPage/SessionPage.tsx'), 'SessionPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([signIn, signedIn.addChildren([projects, project.addChildren([records, trace, session])])]),
  basepath: home.path,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
