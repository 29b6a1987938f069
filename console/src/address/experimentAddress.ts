import { withoutEmpty } from './parameters.ts';
import { type RecordsAddress, tableAddress } from './recordsAddress.ts';
import { type DetailTab, detailTab } from './traceAddress.ts';

/** The tabs of an experiment's page; without one, its rows. */
export type ExperimentTab = 'figures' | 'setup';

/** The parameters of an experiment's page. Those of its rows are named as on the page of records. */
export interface ExperimentAddress extends Pick<RecordsAddress, 'q' | 'sort' | 'cols' | 'pin' | 'open'> {
  tab?: ExperimentTab | undefined;
  /** How the open row is shown. */
  detail?: DetailTab | undefined;
}

export const experimentAddress = (given: Record<string, unknown>): ExperimentAddress =>
  withoutEmpty({
    ...tableAddress(given),
    tab: given.tab === 'figures' || given.tab === 'setup' ? given.tab : undefined,
    detail: detailTab(given.detail),
  });
