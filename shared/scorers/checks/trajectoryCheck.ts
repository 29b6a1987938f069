import { parsedOrNothing } from '../../json/parseJson.ts';
import type { Score, ScoredRecord } from '../../metrics/metric.ts';
import { NO_REFERENCE } from '../../metrics/reasons.ts';
import type { Check } from '../../wire/checks.ts';
import { isBlank } from '../../wire/isBlank.ts';
import { isObject } from '../../wire/isObject.ts';
import { type Call, callsAskedFor, compared } from './toolCallsCheck.ts';

type TrajectoryCheck = Extract<Check, { type: 'trajectory' }>;

/** Compares the names of the steps below a record with those that the check, or else the row's reference output, expects. */
export const trajectoryCheck =
  ({ mode, steps, kinds = ['agent', 'tool'] }: TrajectoryCheck) =>
  (record: ScoredRecord): Score => {
    if (steps === undefined && isBlank(record.datasetOutput)) return { notApplicable: NO_REFERENCE };
    const names = steps ?? namesIn(parsedOrNothing(record.datasetOutput ?? ''));
    if (names === undefined) return { notApplicable: 'the reference output is no JSON list of names of steps' };
    const expected = names.map((name) => ({ name }));
    return compared(mode, expected, stepsOf(record, kinds));
  };

/** Steps in order of their start. Where no tool has a span, the tools are those that the models asked for. */
function stepsOf(record: ScoredRecord, kinds: NonNullable<TrajectoryCheck['kinds']>): Call[] {
  const { spans = [] } = record;
  const isStep = ({ kind }: ScoredRecord) => (kinds as readonly string[]).includes(kind);
  const asksForTools = kinds.includes('tool') && !spans.some(({ kind }) => kind === 'tool');
  const steps = spans.flatMap((span) => [
    ...(isStep(span) ? [{ name: span.name }] : []),
    ...(asksForTools && span.kind === 'llm' ? callsAskedFor(span) : []),
  ]);
  return spans.length === 0 && asksForTools ? callsAskedFor(record) : steps;
}

/** A list of names, or of objects each of which has one. */
function namesIn(given: unknown): string[] | undefined {
  if (!Array.isArray(given)) return undefined;
  const names = given.map((one) => (isObject(one) ? one.name : one));
  return names.every((name) => typeof name === 'string') ? names : undefined;
}
