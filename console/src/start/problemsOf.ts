import { HttpStatusError } from '../../../client/errors.ts';
import { sentenceOf } from '../parts/ErrorNote.tsx';
import type { Field, Problem } from './startPlan.ts';

/** Parts of a request, as the service names them, and the fields they are of. */
const fields: Record<string, Field> = {
  ...{ dataset: 'dataset', dataset_id: 'dataset', version_index: 'dataset', records: 'dataset' },
  ...{ scorers: 'metrics', rows: 'rows', trials: 'trials', name: 'name', experiment_group_name: 'group' },
  ...{ model_alias: 'model', prompt_template_version_id: 'prompt', url: 'url', failed_rows: 'failedRows' },
  ...{ concurrency: 'concurrency', row_time_limit_ms: 'rowSeconds', max_call_attempts: 'attempts', limits: 'limitCalls' },
};

/** Words by which a message is known that names no part of the request. */
const words: [RegExp, Field][] = [
  [/judge/, 'metrics'],
  [/model/i, 'model'],
  [/metric|scorer/, 'metrics'],
  [/dataset|generated_output/, 'dataset'],
  [/prompt|template|variable/, 'prompt'],
  [/module|runner/, 'module'],
  [/rows/, 'rows'],
];

/** Sorts the reasons of a refusal by the fields that they are about. */
export function problemsOf(error: unknown): Problem[] {
  if (!error) return [];
  if (!(error instanceof HttpStatusError)) return [{ field: 'form', message: sentenceOf(error) }];
  const detail = (error.body as { detail?: unknown } | undefined)?.detail;
  if (Array.isArray(detail))
    return (detail as { loc?: unknown[]; msg?: unknown }[]).map(({ loc = [], msg }) => ({
      ...{ field: fieldAt(loc) ?? fieldOf(String(msg)), message: String(msg) },
    }));
  // The answer's own text names the thing that is gone, where sentenceOf would speak of the page.
  const message = typeof detail === 'string' ? detail : sentenceOf(error);
  return [{ field: error.status === 403 ? 'form' : fieldOf(message), message }];
}

const fieldAt = (loc: readonly unknown[]): Field | undefined => {
  for (const part of loc.toReversed()) {
    const field = fields[String(part)];
    if (field) return field;
  }
  return undefined;
};

const fieldOf = (message: string): Field => words.find(([known]) => known.test(message))?.[1] ?? 'form';
