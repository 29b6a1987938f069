import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { nameOfModel } from '../modelCalls/models.ts';
import type { JudgeModels } from './judge.ts';

/** The model of a project that judges where a metric names none; null: there is no such model. */
export interface DefaultJudge {
  model: string | null;
}

export interface DefaultJudgeStore {
  /** Undefined for a project that is not there. */
  get(projectId: string): Promise<DefaultJudge | undefined>;
  set(projectId: string, model: string | null): Promise<DefaultJudge | undefined>;
}

/**
 * Sets the default judge of a project, or takes it back with null.
 * @throws RequestInvalid for a model that there is not, naming the closest; ServiceError `NotFound`
 */
export async function setDefaultJudge(
  { defaultJudges, models }: { defaultJudges: DefaultJudgeStore; models: JudgeModels },
  projectId: string,
  wanted: string | null,
): Promise<DefaultJudge> {
  const name = wanted === null ? null : await nameOfKnown(models, wanted);
  return foundJudge(await defaultJudges.set(projectId, name));
}

/** @throws ServiceError `NotFound` for a project that was deleted meanwhile */
export function foundJudge(judge: DefaultJudge | undefined): DefaultJudge {
  if (!judge) throw new ServiceError('NotFound', 'no such project');
  return judge;
}

/** With its integration, so that it stays the same model when another integration gets one of that name. */
async function nameOfKnown(models: JudgeModels, wanted: string): Promise<string> {
  try {
    return nameOfModel(await models.resolveModel(wanted));
  } catch (err) {
    if (!(err instanceof ServiceError && err.permanent)) throw err;
    const msg = `this model cannot judge: ${err.message}`;
    throw new RequestInvalid([{ loc: ['body', 'model'], msg, type: 'judge_model_unknown', input: wanted }]);
  }
}
