import { text, withoutEmpty } from './parameters.ts';

/** The parameters of the form that starts an experiment: the values that it begins with. */
export interface StartAddress {
  /** Id of a dataset. */
  dataset?: string | undefined;
  /** Id of a prompt, and the number of its version. */
  prompt?: string | undefined;
  version?: number | undefined;
  /** Id of the experiment that is run again with changes. */
  from?: string | undefined;
}

export const startAddress = (given: Record<string, unknown>): StartAddress =>
  withoutEmpty({
    dataset: text(given.dataset),
    prompt: text(given.prompt),
    version: Number.isInteger(given.version) && Number(given.version) >= 0 ? Number(given.version) : undefined,
    from: text(given.from),
  });
