import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess } from '../assets/assetAccess.ts';
import type { ScorerLookup } from './resolveMetrics.ts';
import type { Scorer } from './scorer.ts';

/** The store in which a request of this caller looks scorers up: those that they do not see are not there. */
export function scorersSeenBy<S extends ScorerLookup>(store: S, assets: Pick<AssetAccess, 'roles'>, caller: Caller): S {
  const seen = async (scorers: Scorer[]): Promise<Scorer[]> => {
    const roles = await assets.roles(
      caller,
      'scorer',
      scorers.map(({ id }) => id),
    );
    return scorers.filter(({ id }) => roles.has(id));
  };
  return {
    ...store,
    list: async () => seen(await store.list()),
    findEver: async (ids: readonly string[]) => seen(await store.findEver(ids)),
  };
}
