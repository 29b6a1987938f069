import type { CodeSandbox } from '../codeMetrics/codeSandbox.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { OutputType } from '../wire/scorers.ts';
import { outputTypesOf } from './codeMetric.ts';
import { type EnabledMetric, fromScorer, type RequiredMetric, recordKind, withRequired } from './resolveMetrics.ts';
import { type CodeToCheck, checkCode } from './validateCode.ts';

interface UnsavedCode extends Pick<CodeToCheck, 'code' | 'nodeTypes' | 'scoreType'> {
  requires: readonly RequiredMetric[];
}

/** Milliseconds for which the load of code may wait for an interpreter. */
const LOOK_MS = 60_000;

/**
 * The metric that code would be if it were saved as it is, with the output type that is the own one of its values.
 * @param createdBy in whose interpreter it is looked at
 * @throws ServiceError `Unavailable` when other code keeps the interpreters busy for a minute
 * @throws RequestInvalid for code that cannot be used, and where its values are of another type
 */
export async function unsavedCode(
  sandbox: Pick<CodeSandbox, 'describe' | 'score'>,
  { scoreType, requires, ...source }: UnsavedCode,
  createdBy: string,
  signal: AbortSignal,
): Promise<EnabledMetric> {
  const late = AbortSignal.timeout(LOOK_MS);
  const checked = await checkCode(
    sandbox,
    `user/${createdBy}`,
    { ...source, scoreType, required: [], sample: undefined },
    AbortSignal.any([signal, late]),
  ).catch((cause: unknown) => {
    if (!late.aborted || signal.aborted) throw cause;
    const message = `other code keeps the interpreters busy, so this code was not loaded within ${LOOK_MS / 1_000} s: try again`;
    throw new ServiceError('Unavailable', message, { retryAfterSeconds: 10, cause });
  });
  if (checked.result_type === 'invalid') throw refused('file', checked.error_message, 'code_invalid');
  const { score_type } = checked;
  if (scoreType !== undefined && scoreType !== score_type)
    throw refused('score_type', `the code gives values of the type ${score_type}, not ${scoreType}`, 'score_type');
  const id = newId();
  const version = {
    id: newId(),
    scorerId: id,
    version: 0,
    definition: {
      code: source.code,
      scoreType: score_type,
      nodeTypes: checked.scoreable_node_types.map(recordKind),
      outputType: outputTypesOf(score_type)[0] as OutputType,
      aggregates: false,
      chainAggregation: null,
    },
    createdBy,
    createdAt: new Date(),
  };
  const scorer = { id, name: 'the code that is tried out', scorerType: 'code' as const, definition: {} };
  const metric = fromScorer(scorer, version, { id, scorer_type: 'code' });
  if ('problem' in metric) throw refused('file', metric.problem, 'metric_unknown');
  return withRequired(metric, requires);
}

const refused = (part: string, msg: string, type: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', part], msg, type }]);
