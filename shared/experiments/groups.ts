import type { GroupChoice } from './experimentStore.ts';

/** The project's system group: for experiments that name no group and have no dataset. */
export const SYSTEM_GROUP = 'Ungrouped';
const MAX_GROUP_NAME = 255;

/**
 * The group that was asked for: the id wins over the name.
 * @returns undefined when neither is given
 */
export function chosenGroup(request: {
  experiment_group_id?: string | null | undefined;
  experiment_group_name?: string | null | undefined;
}): GroupChoice | undefined {
  if (request.experiment_group_id) return { id: request.experiment_group_id };
  return request.experiment_group_name ? { name: request.experiment_group_name } : undefined;
}

/** The group of an experiment that names none. */
export function defaultGroup(datasetName: string | null | undefined): GroupChoice {
  if (!datasetName) return { name: SYSTEM_GROUP };
  const suffix = ' Experiment Group';
  return { name: datasetName.slice(0, MAX_GROUP_NAME - suffix.length).toWellFormed() + suffix };
}
