import { RequestInvalid } from '../../errors/errors.ts';
import type { Metric } from '../../metrics/metric.ts';
import type { Check } from '../../wire/checks.ts';
import { UNIT_RANGE } from '../../wire/metricScale.ts';
import type { RecordKind } from '../../wire/recordKinds.ts';
import type { Scorer } from '../scorer.ts';
import { costCheck } from './costCheck.ts';
import { embeddingCheck } from './embeddingCheck.ts';
import { containsCheck, editDistanceCheck, regexCheck, schemaCheck } from './outputChecks.ts';
import { toolCallsCheck } from './toolCallsCheck.ts';
import { trajectoryCheck } from './trajectoryCheck.ts';

/** Makes the function that a check scores a record by. @throws Error for a pattern or a schema that is none */
async function scoringOf(check: Check): Promise<Metric['score']> {
  switch (check.type) {
    case 'regex':
      return regexCheck(check);
    case 'contains_all':
    case 'contains_any':
      return containsCheck(check);
    case 'json_schema':
      return schemaCheck(check);
    case 'edit_distance':
      return editDistanceCheck(check);
    case 'embedding_similarity':
      return embeddingCheck(check);
    case 'tool_calls':
      return toolCallsCheck(check);
    case 'trajectory':
      return trajectoryCheck(check);
    case 'cost':
      return costCheck(check);
    case 'latency':
      return ({ durationNs }) => {
        if (durationNs === null) return { notApplicable: 'the record has no duration' };
        const ms = durationNs / 1e6;
        if (ms <= check.max_ms) return { value: true, metadata: { ms } };
        return { value: false, explanation: `the record took ${ms} ms, and may take ${check.max_ms}`, metadata: { ms } };
      };
    default:
      return check satisfies never;
  }
}

/** A metric of code made of a user's scorer that says what to check. Its column is named by the scorer's id, as that of a judge. */
export function checkAsMetric(scorer: Pick<Scorer, 'id' | 'name' | 'definition'>, check: Check): Metric {
  const { label, description, scoreable_node_types, direction } = scorer.definition;
  const isOfRow =
    (check.type === 'tool_calls' && check.calls === undefined) || (check.type === 'trajectory' && check.steps === undefined);
  let scoring: Promise<Metric['score']> | undefined;
  return {
    name: scorer.id,
    alias: scorer.name,
    label: label || scorer.name,
    description: description ?? '',
    groupLabel: 'Custom Metrics',
    dataType: 'boolean',
    dataUnit: null,
    outputType: 'boolean',
    rollUp: 'percentage_true',
    threshold: null,
    direction: direction ?? null,
    range: UNIT_RANGE,
    kinds: (scoreable_node_types?.length ? scoreable_node_types : ['trace']) as RecordKind[],
    needs: check.type === 'embedding_similarity' ? 'judge' : 'code',
    ...(['tool_calls', 'trajectory', 'cost'].includes(check.type) ? { readsSpans: true as const } : {}),
    needsReference: ['edit_distance', 'embedding_similarity'].includes(check.type) || isOfRow,
    async score(record, context) {
      scoring ??= scoringOf(check);
      return (await scoring)(record, context);
    },
  };
}

/** @throws RequestInvalid for a pattern or a schema that is none. */
export async function mustBeComputable(check: Check): Promise<void> {
  try {
    await scoringOf(check);
  } catch (err) {
    const place = check.type === 'json_schema' ? 'schema' : 'pattern';
    const loc = ['body', 'check', place];
    const msg = `the ${place} cannot be used: ${err instanceof Error ? err.message : String(err)}`;
    throw new RequestInvalid([{ loc, msg, type: 'check' }]);
  }
}
