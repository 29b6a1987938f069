import { ServiceError } from '../errors/errors.ts';

/** @throws ServiceError `Conflict` when several things that the caller sees have the name */
export function onlyOne<T>(what: string, name: string, found: readonly T[]): T | undefined {
  if (found.length > 1)
    throw new ServiceError(
      'Conflict',
      `you see ${found.length} ${what}s named "${name}", since some are shared with you or belong to other projects: use the id, filter by project, or rename one`,
    );
  return found[0];
}

/**
 * For lists: clients find a thing by asking for its exact name, and take the first of the answer.
 * @param page what was found, and behind how many others
 * @param all reads all of the answer, of which a page holds a part
 * @throws ServiceError `Conflict` when a filter asks for one name and several things have it.
 */
export async function mustNameOne(
  what: string,
  filters: readonly { name: string; operator?: string; value?: unknown }[],
  page: { starting_token: number; items: readonly unknown[]; hasMore: boolean },
  all: () => Promise<readonly { name: string }[]>,
): Promise<void> {
  if (page.starting_token + page.items.length < 2 && !page.hasMore) return;
  const asked = filters.find(({ name, operator, value }) => name === 'name' && operator === 'eq' && typeof value === 'string');
  if (!asked) return;
  const alike = [...Map.groupBy(await all(), ({ name }) => name).values()].find((group) => group.length > 1);
  if (alike) onlyOne(what, String(asked.value), alike);
}
