import { text, texts, withoutEmpty } from './parameters.ts';

/** Records that a judge is to be tried on, chosen elsewhere. */
export interface ChosenAddress {
  /** Id of a log stream. */
  run?: string | undefined;
  experiment?: string | undefined;
  /** Ids of records of it. */
  ids?: string[] | undefined;
}

/** The parameters of the page of one metric. */
export interface MetricAddress extends ChosenAddress {
  tab?: 'versions' | 'agreement' | undefined;
  version?: number | undefined;
  /** The version that it is compared with. */
  with?: number | undefined;
  /** Id of the annotation queue whose answers it is compared with; all without it. */
  queue?: string | undefined;
}

const index = (value: unknown): number | undefined => {
  const number = Number(value);
  return typeof value !== 'boolean' && value !== '' && Number.isInteger(number) && number >= 0 ? number : undefined;
};

export const chosenAddress = (given: Record<string, unknown>): ChosenAddress =>
  withoutEmpty({ run: text(given.run), experiment: text(given.experiment), ids: texts(given.ids) });

export const metricAddress = (given: Record<string, unknown>): MetricAddress =>
  withoutEmpty({
    ...chosenAddress(given),
    tab: (['versions', 'agreement'] as const).find((tab) => tab === given.tab),
    queue: text(given.queue),
    version: index(given.version),
    with: index(given.with),
  });
