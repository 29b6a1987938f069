import type { DetailTab } from '../address/traceAddress.ts';
import { useKeys } from '../parts/useKeys.ts';

/** Binds 1, 2 and 3 to the ways in which a record is shown. @returns what chooses one; a conversation needs no word in the address */
export function useTabKeys(onTab: (tab: DetailTab | undefined) => void): (tab: DetailTab) => void {
  const choose = (tab: DetailTab) => onTab(tab === 'talk' ? undefined : tab);
  useKeys({ 1: () => choose('talk'), 2: () => choose('text'), 3: () => choose('json') });
  return choose;
}
