import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { HttpStatusError } from '../../../client/errors.ts';
import { freeName, startExperiment } from '../data/start.ts';
import type { StartDraft } from './startDraft.ts';
import { bodiesOf, type Plan } from './startPlan.ts';

/** Starts what the form says, once however often it is asked, and leads to the experiment. */
export function useStart(projectId: string, draft: StartDraft, setDraft: (draft: StartDraft | undefined) => void) {
  const navigate = useNavigate();
  const [isRefused, setRefused] = useState(false);
  // A second click may come before the button is seen to be disabled.
  const isUnderWay = useRef(false);
  const starting = useMutation({
    mutationFn: async (plan: Plan) => {
      const said = JSON.stringify(bodiesOf(plan));
      // After an answer that got lost, or a reload, the same form goes on with the experiment that it made.
      const before = draft.sent?.said === said ? draft.sent : undefined;
      const sent = before ?? {
        ...{ said, key: crypto.randomUUID() },
        name: await freeName(projectId, plan.options.experimentName),
      };
      setDraft({ ...draft, sent });
      const named = { ...plan, options: { ...plan.options, experimentName: sent.name } };
      return startExperiment(projectId, bodiesOf(named), sent.key);
    },
    onSuccess: (experimentId) => {
      setDraft(undefined);
      return navigate({
        to: '/p/$projectId/experiments/$experimentId',
        params: { projectId, experimentId },
        search: {},
      });
    },
    onSettled: () => {
      isUnderWay.current = false;
    },
    // A refused start has created nothing: another try is another experiment.
    onError: (err) => {
      if (err instanceof HttpStatusError && err.status < 500 && err.status !== 401) setDraft({ ...draft, sent: undefined });
    },
  });
  return {
    start: (plan: Plan) => {
      if (isUnderWay.current) return;
      isUnderWay.current = true;
      starting.mutate(plan);
    },
    refuse: () => setRefused(true),
    reset: () => {
      if (starting.error) starting.reset();
    },
    isPending: starting.isPending,
    isRefused,
    error: starting.error,
  };
}
