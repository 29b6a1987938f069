import type { PageOf } from '../accounts/accountStore.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { newId } from '../identifiers/ids.ts';
import type { CreateScorerVersionRequest } from '../wire/scorerVersions.ts';
import { recordKind } from './resolveMetrics.ts';
import type { Scorer } from './scorer.ts';

/** Settings of a built-in metric that a run may name: fixed once made. Null: as the metric has it. */
export interface PresetSettings {
  modelName: string | null;
  modelNames: string[] | null;
  numJudges: number | null;
  nodeTypes: string[] | null;
  explain: boolean | null;
}

export interface PresetVersion {
  id: string;
  scorerId: string;
  version: number;
  settings: PresetSettings;
  createdBy: string;
  createdAt: Date;
}

/** Where versions of built-in metrics are kept. */
export interface PresetVersionStore {
  /** Adds the next version. */
  add(version: Omit<PresetVersion, 'version' | 'createdAt'>): Promise<PresetVersion>;
  find(scorerId: string, version: number | 'latest'): Promise<PresetVersion | undefined>;
  findById(versionId: string): Promise<PresetVersion | undefined>;
  /** A page of the versions, newest first. */
  list(scorerId: string, offset: number, limit: number): Promise<PageOf<PresetVersion>>;
}

/**
 * Adds a version of a built-in metric. It counts only where the settings of a run name it.
 * @throws RequestInvalid for a scorer of another type, and for what a built-in metric does not let users choose
 */
export async function addPresetVersion(
  store: PresetVersionStore,
  scorer: Scorer,
  input: CreateScorerVersionRequest,
  createdBy: string,
): Promise<PresetVersion> {
  if (scorer.scorerType !== 'preset')
    throw invalid('path', 'scorer_id', `a ${scorer.scorerType} scorer is not built in: add a version of its own type`);
  const { output_type: outputType } = scorer.definition;
  if (input.output_type && input.output_type !== outputType)
    throw invalid('body', 'output_type', `${JSON.stringify(scorer.name)} gives values of the type ${outputType}: leave it out`);
  if (input.input_type)
    throw invalid('body', 'input_type', 'a built-in metric decides itself what of a record it reads: leave it out');
  return store.add({
    ...{ id: newId(), scorerId: scorer.id, createdBy },
    settings: {
      modelName: input.model_name ?? null,
      modelNames: input.model_names ?? null,
      numJudges: input.num_judges ?? null,
      nodeTypes: input.scoreable_node_types?.map(recordKind) ?? null,
      explain: input.cot_enabled ?? null,
    },
  });
}

/** @throws ServiceError `NotFound` */
export async function getPresetVersion(
  store: PresetVersionStore,
  { id, name }: Scorer,
  number: number | 'latest',
): Promise<PresetVersion> {
  const version = await store.find(id, number);
  if (version) return version;
  const which = number === 'latest' ? 'version of its own' : `version ${number}`;
  throw new ServiceError('NotFound', `the built-in metric ${JSON.stringify(name)} has no ${which}`);
}

const invalid = (where: 'path' | 'body', field: string, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: [where, field], msg, type: field === 'scorer_id' ? 'scorer_type' : field }]);
