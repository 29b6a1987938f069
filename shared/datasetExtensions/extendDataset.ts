import { type DatasetDeps, foundVersion } from '../datasets/createDataset.ts';
import { editContent } from '../datasets/editContent.ts';
import { rowPages } from '../datasets/rowStore.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { mayPass } from '../experiments/untilStored.ts';
import { derivedId } from '../identifiers/ids.ts';
import { type ModelCall, ModelCallError, type ModelCaller } from '../modelCalls/modelCall.ts';
import type { Extension, ExtensionStore, GeneratedRow } from './extension.ts';
import { type Batch, messagesFor, nextBatch, TYPE_COLUMN } from './nextBatch.ts';
import { parseRows } from './parseRows.ts';

/** Answers in a row without a new row after which the model has no more. */
const MAX_FRUITLESS = 3;
const MAX_ANSWER_TOKENS = 4_096;
/** More writers that come first one after the other are a storm. */
const MAX_PUBLISHES = 20;

export interface ExtendDeps {
  datasets: DatasetDeps;
  extensions: ExtensionStore;
  models: Pick<ModelCaller, 'complete'>;
}

/**
 * The next step of an extension: one answer of the model, or the end. Safe to repeat: an answer is taken in once, and a row is in the dataset once.
 * @param isLastTry what goes wrong now ends the extension with the rows that there are
 * @param confirm asked before each call of the model
 * @returns whether it has ended
 */
export async function extendDataset(
  deps: ExtendDeps,
  datasetId: string,
  isLastTry: boolean,
  signal: AbortSignal,
  confirm?: () => Promise<void>,
): Promise<boolean> {
  const extension = await deps.extensions.find(datasetId);
  if (extension?.state !== 'running') return true;
  const batch = extension.fruitless < MAX_FRUITLESS ? nextBatch(extension) : undefined;
  if (!batch) {
    await endExtension(deps, extension, undefined, isLastTry);
    return true;
  }
  try {
    await deps.extensions.add(datasetId, extension.batches, await newRows(deps.models, extension, batch, { signal, confirm }));
    return false;
  } catch (err) {
    if (signal.aborted || !(isLastTry || isPermanent(err))) throw err;
    await endExtension(deps, extension, messageOf(err), isLastTry);
    return true;
  }
}

/**
 * Adds the rows that there are to the dataset, and notes the end.
 * @param problem why no more rows can be made
 * @param isLastTry rows that cannot be added now are left out, unless a store is away: that is waited for
 */
export async function endExtension(
  { datasets, extensions }: Pick<ExtendDeps, 'datasets' | 'extensions'>,
  extension: Extension,
  problem: string | undefined,
  isLastTry: boolean,
): Promise<void> {
  const { datasetId, request, rows } = extension;
  const problems = problem === undefined ? [] : [problem];
  try {
    await publish(datasets, extension);
  } catch (err) {
    if (!isPermanent(err) && (err instanceof ServiceError || !isLastTry)) throw err;
    problems.push(`the rows could not be added to the dataset: ${messageOf(err)}`);
  }
  if (problems.length === 0) return extensions.end(datasetId, 'completed', ending(extension));
  const made = `${rows.length} of ${request.count} rows were made`;
  // Clients look for these two words.
  await extensions.end(datasetId, 'failed', `unexpected error: ${problems.join('; ')}; ${made}`);
}

const isPermanent = (err: unknown): boolean =>
  err instanceof RequestInvalid || (err instanceof ModelCallError ? err.permanent : err instanceof ServiceError && !mayPass(err));

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));

const ending = ({ request, rows }: Extension): string =>
  rows.length >= request.count
    ? `${rows.length} rows were made`
    : `${rows.length} of ${request.count} rows were made: the model gave no more that are new`;

async function newRows(
  models: ExtendDeps['models'],
  extension: Extension,
  batch: Batch,
  around: Pick<ModelCall, 'signal' | 'confirm'>,
): Promise<GeneratedRow[]> {
  const { request, datasetId, rows } = extension;
  const answer = await models.complete({
    modelAlias: request.model,
    messages: messagesFor(extension, batch),
    settings: { max_tokens: MAX_ANSWER_TOKENS, temperature: 1 },
    mayLeaveOut: true,
    context: { jobId: `extend-dataset/${datasetId}`, userId: request.userId, projectId: request.projectId ?? null },
    ...around,
  });
  const had = new Set([...request.sourceRows, ...rows].map(({ input = '' }) => input));
  const fresh: GeneratedRow[] = [];
  for (const row of parseRows(answer.text, request.columns)) {
    if (fresh.length === batch.size) break;
    if (had.has(row.input as string)) continue;
    had.add(row.input as string);
    fresh.push(batch.dataType === undefined ? row : { ...row, [TYPE_COLUMN]: batch.dataType });
  }
  return fresh;
}

/** Adds the rows that are not yet in the dataset. What others have changed meanwhile stays. */
async function publish(deps: DatasetDeps, extension: Extension, attempt = 1): Promise<void> {
  try {
    await publishOnce(deps, extension);
  } catch (err) {
    // Another edit came in between.
    const isLate = err instanceof ServiceError && err.code === 'PreconditionFailed';
    if (!isLate || attempt >= MAX_PUBLISHES) throw err;
    await publish(deps, extension, attempt + 1);
  }
}

async function publishOnce(deps: DatasetDeps, { datasetId, request, rows }: Extension): Promise<void> {
  const ids = rows.map((_, ordinal) => derivedId('row of an extension', datasetId, String(ordinal)));
  const version = await foundVersion(deps.datasets, datasetId);
  const there = new Set<string>();
  for await (const page of rowPages(deps.rows, version)) for (const { rowId } of page) there.add(rowId);
  const edits = rows.flatMap((values, ordinal) => {
    const row_id = ids[ordinal] as string;
    return there.has(row_id) ? [] : [{ edit_type: 'append_row' as const, values, row_id }];
  });
  if (edits.length === 0) return;
  await editContent(deps, {
    datasetId,
    edits,
    userId: request.userId,
    readRecords: async () => [],
    isExpected: ({ versionIndex }) => versionIndex === version.versionIndex,
  });
}
