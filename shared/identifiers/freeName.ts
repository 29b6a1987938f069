import { ServiceError } from '../errors/errors.ts';

const MAX_NAME_LENGTH = 128;
/** Names that start with this part of a name may collide with it or with one of its suffixed forms. */
export const nameStem = (name: string): string => name.slice(0, MAX_NAME_LENGTH - 8);

/**
 * The name, or with `appendSuffix` the first free one of `name (1)`, `name (2)` …
 * @param names those in use that start with {@link nameStem}; `except` is the thing's own.
 * @throws ServiceError `Conflict` when the name is taken and no suffix was asked for.
 */
export function freeName(
  names: readonly string[],
  { what, name, appendSuffix, except }: { what: string; name: string; appendSuffix: boolean; except?: string | undefined },
): string {
  const taken = new Set(names.filter((other) => other !== except));
  if (!taken.has(name)) return name;
  if (!appendSuffix) throw nameTaken(what, name);
  for (let number = 1; ; number += 1) {
    const suffix = ` (${number})`;
    const candidate = `${name.slice(0, MAX_NAME_LENGTH - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}

export const nameTaken = (what: string, name: string, cause?: unknown): ServiceError =>
  new ServiceError('Conflict', `a ${what} named "${name}" exists already; choose another name or ask for a suffix`, { cause });
