import { z } from 'zod';
import {
  type JudgeAgreement,
  type JudgeAgreementDeps,
  judgeAgreement,
  MOST_RECORDS,
} from '../../shared/agreement/judgeAgreement.ts';
import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { RequestInvalid, ServiceError } from '../../shared/errors/errors.ts';
import { closestNames } from '../../shared/identifiers/closestNames.ts';
import { availableColumns } from '../../shared/records/columnCatalog.ts';
import { isMetricColumn, metricOfColumn } from '../../shared/records/findColumn.ts';
import type { RecordQuery } from '../../shared/records/searchRecords.ts';
import type { Kappa } from '../../shared/statistics/cohensKappa.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { JudgeAgreementRequest, JudgeAgreementResponse, type KappaFigures } from '../../shared/wire/judgeAgreement.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { type RecordSearchDeps, recordQuery } from '../records/recordQuery.ts';

export interface JudgeAgreementRouteDeps extends RecordSearchDeps, Omit<JudgeAgreementDeps, 'records'> {}

const LEVEL = 0.95;

/** How far a judge agrees with people. */
export const judgeAgreementRoutes = (deps: JudgeAgreementRouteDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/projects/{project_id}/judge_agreement',
    errors: ['RunNotFound', 'ColumnUnknown'],
    summary: 'How far the values of a judge agree with the ratings of people',
    description: `Of the records that match (the newest ${MOST_RECORDS.toLocaleString('en')}), for each annotation template: Cohen's kappa with its standard error and interval, the table of labels, the observed and the expected agreement, and how many records have one side alone. Of a metrics-testing run, samples of a try-out have the ratings of the records that they were made of.`,
    tag: 'Scorers',
    access: { project: 'read' },
    params: z.object({ project_id: Uuid }),
    body: JudgeAgreementRequest,
    response: JudgeAgreementResponse,
    async handle({ params, body }) {
      const columnId = isMetricColumn(body.metric) ? body.metric : `metrics/${body.metric}`;
      const query = await recordQuery(deps, params.project_id, [], body, [columnId]);
      const column = await judgedColumn(deps, query, columnId);
      const found = await judgeAgreement(deps, {
        query,
        column,
        kinds: body.scoreable_node_types?.length ? body.scoreable_node_types : undefined,
        templateIds: body.template_ids ?? null,
        queueId: body.queue_id ?? null,
        thresholds: { judge: body.judge_threshold ?? null, people: body.people_threshold ?? null },
      });
      if (found.records > 0) mustBeOfRun(body, found);
      return {
        ...{ metric: column.id, label: column.metricKeyAlias ?? column.label, records: found.records, is_cut: found.isCut },
        with_value: found.withValue,
        agreements: found.agreements.map(({ template, shared, compared, judgedRecords }) => ({
          template_id: template.id,
          template_name: template.name,
          queue_id: template.queueId,
          annotation_type: template.constraints.annotation_type,
          rule: shared?.rule ?? null,
          judge_threshold: shared?.thresholds.judge ?? null,
          people_threshold: shared?.thresholds.people ?? null,
          is_ordered: shared?.isOrdered ?? false,
          labels: compared.labels,
          table: compared.table,
          pairs: compared.pairs,
          ...figuresOf(compared),
          weighted: compared.weighted && figuresOf(compared.weighted),
          reason: compared.reason,
          judge_only: compared.judgeOnly,
          people_only: compared.peopleOnly,
          undecided: compared.undecided,
          unreadable: compared.unreadable,
          disagreements: compared.disagreements.map(({ recordId, judge, people }) => ({
            ...{ record_id: recordId, judged_record_id: judgedRecords.get(recordId) ?? recordId, judge, people },
          })),
        })),
      };
    },
  }),
];

/** @throws RequestInvalid for templates, or a queue, by which no record of the run can be rated */
function mustBeOfRun(
  { template_ids, queue_id }: Pick<z.output<typeof JudgeAgreementRequest>, 'template_ids' | 'queue_id'>,
  { agreements }: JudgeAgreement,
): void {
  const known = agreements.map(({ template }) => template.id);
  const unknown = (template_ids ?? []).filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    const which = `${unknown.length === 1 ? 'template' : 'templates'} ${unknown.join(', ')}`;
    const msg = `no queue with records of this run has the ${which}`;
    throw new RequestInvalid([{ loc: ['body', 'template_ids'], msg, type: 'template_unknown' }]);
  }
  if (queue_id && known.length === 0) {
    const msg = 'no queue of this id holds records of this run and has templates';
    throw new RequestInvalid([{ loc: ['body', 'queue_id'], msg, type: 'queue_unknown' }]);
  }
}

/** @throws RequestInvalid for a metric that the run has not, with the closest; ServiceError `ColumnUnknown` for a name of several */
async function judgedColumn(deps: RecordSearchDeps, { run, findColumn }: RecordQuery, id: string): Promise<ColumnDef> {
  try {
    return findColumn(id);
  } catch (err) {
    if (!(err instanceof ServiceError) || err.code !== 'ColumnUnknown') throw err;
    const columns = (await availableColumns(deps.records, deps.metrics, run, {})).filter((one) => one.category === 'metric');
    const names = columns.map((one) => one.metricKeyAlias ?? metricOfColumn(one.id));
    const name = metricOfColumn(id);
    if (names.includes(name)) throw err;
    const msg = `this run has no metric ${JSON.stringify(name)}; the closest are ${closestNames(name, names).join(', ')}`;
    throw new RequestInvalid([{ loc: ['body', 'metric'], msg, type: 'column_unknown', input: name }]);
  }
}

const figuresOf = ({ observed, expected, kappa, standardError, interval }: Kappa): KappaFigures => ({
  observed_agreement: observed,
  expected_agreement: expected,
  kappa,
  standard_error: standardError,
  interval: interval && { ...interval, level: LEVEL },
});
