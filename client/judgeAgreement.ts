import type { z } from 'zod';
import type { JudgeAgreementResponse } from '../shared/wire/judgeAgreement.ts';
import { clientOf, resolveProject } from './callOptions.ts';
import { type RecordChoice, recordsOf } from './recordChoice.ts';

export interface JudgeAgreementOptions extends Omit<RecordChoice, 'kind'> {
  /** Name or id of a scorer, name of a built-in or logged metric; of a try-out its `metric`. */
  metric: string;
  /** Annotation templates; without them and a queue all by which these records can be rated. */
  templateIds?: readonly string[] | undefined;
  /** An annotation queue: its templates alone. */
  queueId?: string | undefined;
  /** From which number on the judge says yes; without it the middle of its range. */
  judgeThreshold?: number | undefined;
  /** From how many stars or points on people say yes. */
  peopleThreshold?: number | undefined;
}

export type JudgeAgreement = z.output<typeof JudgeAgreementResponse>;

/**
 * How far the values of a judge agree with the ratings of people: Cohen's kappa with its interval and the table of labels, for each annotation template.
 * @throws ValueError unless exactly one run is given; HttpStatusError 422 for a metric or a template that the run has not.
 */
export async function judgeAgreement(options: JudgeAgreementOptions): Promise<JudgeAgreement> {
  const { metric, templateIds, queueId, judgeThreshold, peopleThreshold } = options;
  const body = {
    ...recordsOf(options),
    metric,
    template_ids: templateIds,
    queue_id: queueId,
    judge_threshold: judgeThreshold,
    people_threshold: peopleThreshold,
  };
  const client = clientOf(options);
  return client.send(`/projects/${await resolveProject(client, options)}/judge_agreement`, { body, repeatable: true });
}
