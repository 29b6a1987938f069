import { text, withoutEmpty } from './parameters.ts';

/** The parameters of a list of datasets or prompts. */
export interface AssetListAddress {
  /** A part of the name. */
  q?: string | undefined;
  /** Those of other projects and of the organization, too. */
  all?: true | undefined;
  /** A column; with a minus before it, the largest first. The last changed come first without it. */
  sort?: string | undefined;
}

/** The parameters of the page of one dataset or prompt. */
export interface AssetAddress {
  /** The project that a person came from: its name and pages stay in the bar. */
  project?: string | undefined;
  tab?: 'versions' | 'uses' | undefined;
  /** The current one without it. */
  version?: number | undefined;
  /** The version that it is compared with. */
  with?: number | undefined;
}

function index(value: unknown): number | undefined {
  const number = Number(value);
  return typeof value !== 'boolean' && value !== '' && Number.isInteger(number) && number >= 0 ? number : undefined;
}

export const assetListAddress = (given: Record<string, unknown>): AssetListAddress =>
  withoutEmpty({ q: text(given.q), all: given.all === true ? true : undefined, sort: text(given.sort) });

export const assetAddress = (given: Record<string, unknown>): AssetAddress =>
  withoutEmpty({
    project: text(given.project),
    tab: given.tab === 'versions' || given.tab === 'uses' ? given.tab : undefined,
    version: index(given.version),
    with: index(given.with),
  });
