import { closestNames } from '../identifiers/closestNames.ts';
import type { Modality } from '../wire/integrations.ts';
import { findModel, snapshotOf } from './findModel.ts';
import { tokenProviders } from './index.ts';
import type { ModelFamily, ParameterMap } from './modelFamily.ts';

export interface BuiltinModel {
  /** The name its provider calls it by; also its alias. */
  name: string;
  /** Its other names. */
  otherNames: readonly string[];
  /** One of the list of providers. */
  provider: string;
  parameters: ParameterMap;
  modalities: readonly Modality[];
}

const modelsOf = (provider: string, families: readonly ModelFamily[]): BuiltinModel[] =>
  families.flatMap(({ names, otherNames, ...family }) =>
    names.map((name) => ({ name, otherNames: otherNames?.[name] ?? [], provider, ...family })),
  );

/**
 * Well-known models: what `based_on` may name, and the models of the providers that can be configured. The list is of November 2026, made from the
 * providers' pages and from reports of them; what is newer is called by its own name, and takes what most models take. A name stays when its provider
 * retires the model: stored integrations are based on it. The first of a provider is its default.
 */
export const builtinModels: readonly BuiltinModel[] = tokenProviders.flatMap(({ name, models }) => modelsOf(name, models));

/** A name, and what is left of it where its ending only says that it is the newest: `Mistral Large` is `mistral-large-latest`. */
export const spellingsOf = (name: string): string[] => [name, withoutLatest(name)];

export const withoutLatest = (name: string): string => name.replace(/-latest$/, '');

/** The built-in model that `based_on` names, a snapshot of it included: that takes the same parameters. */
export function findBuiltinModel(wanted: string): BuiltinModel | undefined {
  const snapshot = snapshotOf(wanted);
  return findByName(wanted) ?? (snapshot && findByName(snapshot.model));
}

function findByName(wanted: string): BuiltinModel | undefined {
  const match = findModel(builtinModels, wanted, ({ name, otherNames }) => [...spellingsOf(name), ...otherNames]);
  return match && 'model' in match ? match.model : undefined;
}

/** Names of built-in models that look most like this one. */
export const closestBuiltinModels = (wanted: string): string[] =>
  closestNames(
    wanted,
    builtinModels.map(({ name }) => name),
  );
