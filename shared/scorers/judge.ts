import { type InvalidItem, RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { ModelCaller } from '../modelCalls/modelCall.ts';
import { nameOfModel, type ResolvedModel, statedDefault } from '../modelCalls/models.ts';
import { type EnabledMetric, withAllRequired } from './resolveMetrics.ts';

/** The model that judges a metric. */
export interface Judge {
  /** As `integration/model`; null where nothing says which, and as it was asked for where there is none such. */
  model: string | null;
  /** The model of each of several judges, in turn; `model` names them all. */
  models?: readonly string[];
  /** It judges what it has answered itself. */
  isModelUnderTest: boolean;
}

export type JudgeModels = Pick<ModelCaller, 'resolveModel'>;

/** The models as a user has them whose choice of integrations counts. */
export const modelsOfUser = (models: JudgeModels, userId: string): JudgeModels => ({
  resolveModel: (modelAlias, integrationName) => models.resolveModel(modelAlias, integrationName, userId),
});

export const noJudge: Judge = { model: null, isModelUnderTest: false };

/**
 * Which model judges: the metric's own or the project's default, else the default that the integration of the model under test states, else that model itself. Without a model
 * under test it is the default of any integration: no other integration is asked, and paid, without being named.
 * @param chosen the metric's own, else the default of the project
 * @param underTest the model whose answers are judged
 */
async function judgeOf(models: JudgeModels, chosen: string | null, underTest: string | null): Promise<Judge> {
  const tested = underTest === null ? undefined : await foundModel(models, underTest);
  const byDefault = tested && (statedDefault(tested.integration) ?? tested);
  const judge = chosen === null ? (byDefault ?? (await foundModel(models, null))) : await foundModel(models, chosen);
  if (!judge) return { model: chosen ?? underTest, isModelUnderTest: false };
  const model = nameOfModel(judge);
  return { model, isModelUnderTest: tested !== undefined && nameOfModel(tested) === model };
}

/** The same of several judges, each with a model of its own. */
async function modelsOfJudges(models: JudgeModels, chosen: readonly string[], underTest: string | null): Promise<Judge> {
  const judges = await Promise.all(chosen.map((name) => judgeOf(models, name, underTest)));
  const named = judges.map(({ model }, index) => model ?? (chosen[index] as string));
  return {
    model: [...new Set(named)].join(', '),
    models: named,
    isModelUnderTest: judges.some((judge) => judge.isModelUnderTest),
  };
}

/** Finds the model that judges a metric of a run. @param defaultJudge that of the project, for a metric that names none */
export const judgeOfMetric = async (
  models: JudgeModels,
  { judgeModel, judgeModels }: Pick<EnabledMetric, 'judgeModel' | 'judgeModels'>,
  defaultJudge: () => Promise<string | null>,
  underTest: string | null,
): Promise<Judge> =>
  judgeModels ? modelsOfJudges(models, judgeModels, underTest) : judgeOf(models, judgeModel ?? (await defaultJudge()), underTest);

/** @throws RequestInvalid naming each judge that there is not, with the models closest to it. */
export async function mustHaveJudges(
  models: Pick<ModelCaller, 'resolveModel'>,
  metrics: readonly EnabledMetric[],
  defaultJudge: () => Promise<string | null>,
): Promise<void> {
  const invalid: InvalidItem[] = [];
  const asked = withAllRequired(metrics).flatMap((metric) =>
    metric.needs === 'judge' ? (metric.judgeModels ?? [metric.judgeModel]).map((judgeModel) => ({ ...metric, judgeModel })) : [],
  );
  for (const { judgeModel, name, alias, label, scorerId } of asked) {
    const model = judgeModel ?? (await defaultJudge());
    if (model === null) continue;
    try {
      await models.resolveModel(model);
    } catch (err) {
      if (!isUnknown(err)) throw err;
      const judge = judgeModel === null ? "the project's default judge, of the metric" : 'the judge of the metric';
      const msg = `${judge} ${JSON.stringify(alias ?? name)} cannot be asked: ${err.message}`;
      invalid.push({
        loc: ['body'],
        named: { texts: [model, name, ...(alias ? [alias] : []), label, scorerId] },
        msg,
        type: 'judge_model_unknown',
        input: model,
      });
    }
  }
  if (invalid.length > 0) throw new RequestInvalid(invalid);
}

/** The model of a name, null for the default one; undefined where there is none. */
export async function foundModel(models: JudgeModels, wanted: string | null): Promise<ResolvedModel | undefined> {
  try {
    return await models.resolveModel(wanted);
  } catch (err) {
    if (isUnknown(err)) return undefined;
    throw err;
  }
}

const isUnknown = (err: unknown): err is ServiceError => err instanceof ServiceError && err.permanent;
