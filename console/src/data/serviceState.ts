import { queryOptions } from '@tanstack/react-query';
import type { ServiceState } from '../../../shared/wire/serviceState.ts';
import { send } from './service.ts';

/** Milliseconds between two looks while the page is open. */
const LOOK_AGAIN_MS = 10_000;

export const serviceStateQuery = queryOptions({
  queryKey: ['service state'],
  queryFn: ({ signal }) => send<ServiceState>('/service_state', { signal }),
  refetchInterval: LOOK_AGAIN_MS,
  staleTime: 0,
});
