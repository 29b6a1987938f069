import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { JudgeAgreementResponse } from '../../../shared/wire/judgeAgreement.ts';
import type { RunOf } from './records.ts';
import { runSelector } from './selection.ts';
import { search } from './service.ts';

type JudgeAgreement = z.output<typeof JudgeAgreementResponse>;
export type TemplateAgreement = JudgeAgreement['agreements'][number];

/**
 * How far the values of a metric in a run agree with what people answered there.
 * @param queueId an annotation queue; those of all without it
 */
export const agreementQuery = (run: RunOf, metric: string, queueId: string | undefined) =>
  queryOptions({
    queryKey: ['agreement', run, metric, queueId ?? null],
    queryFn: ({ signal }) =>
      search<JudgeAgreement>(
        `/projects/${run.projectId}/judge_agreement`,
        { ...runSelector(run), metric, ...(queueId === undefined ? {} : { queue_id: queueId }) },
        signal,
      ),
  });
