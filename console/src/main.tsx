import './styles.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './data/service.ts';
import { keepFocus } from './parts/keepFocus.ts';
import { apply } from './parts/preferences.ts';
import { router } from './router.tsx';

apply();
keepFocus();
// The code of the page comes while the session is asked for.
const [routes] = router.getMatchedRoutes(router.latestLocation.pathname);
for (const { options } of routes) void options.component?.preload?.();
// Its address counts from the first page: another page is elsewhere.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel=icon]')) icon.setAttribute('href', icon.href);
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
