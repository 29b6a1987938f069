/** Returns a key that is the same for every spelling of a model's name: `GPT-4o mini` is `gpt-4o-mini`. */
export const modelKey = (name: string): string => name.toLowerCase().replaceAll(/[\s._\p{Pd}]+/gu, '');

// A date, a month and a year or a day in four digits, a version such as `001`.
const SNAPSHOT =
  /[-@ _]\(?(20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|\d{4}|00\d|latest)\)?$/;

/** The name of a snapshot in two parts: `gpt-4o-mini-2024-07-18` is `2024-07-18` of the model `gpt-4o-mini`. */
export function snapshotOf(name: string): { model: string; version: string } | undefined {
  const found = SNAPSHOT.exec(name);
  return found?.[1] === undefined ? undefined : { model: name.slice(0, found.index), version: found[1] };
}

/** The models that a name finds: one, spelled exactly so or nearly, or several that are spelled nearly so. */
export type Match<M> = { model: M; isExact: boolean } | { ambiguous: M[] } | undefined;

/**
 * The model that is meant by `wanted`, for whatever is looked up by the name of a model. A name as it is spelled comes first, those of `namesOf` in
 * their order; then a name without regard to case, spaces, dots, dashes of every kind and underscores, where no other model has one like it.
 */
export function findModel<M>(models: readonly M[], wanted: string, namesOf: (model: M) => readonly string[]): Match<M> {
  const ranks = models.reduce((most, model) => Math.max(most, namesOf(model).length), 0);
  for (let rank = 0; rank < ranks; rank++) {
    const model = models.find((one) => namesOf(one)[rank] === wanted);
    if (model !== undefined) return { model, isExact: true };
  }
  const key = modelKey(wanted);
  if (key === '') return undefined;
  const alike = models.filter((model) => namesOf(model).some((name) => modelKey(name) === key));
  const [first, ...others] = alike;
  if (first === undefined) return undefined;
  // The same model in two integrations is no doubt about what is meant: the first one counts.
  const spelled = namesOf(first)[0];
  return others.every((one) => namesOf(one)[0] === spelled) ? { model: first, isExact: false } : { ambiguous: alike };
}
