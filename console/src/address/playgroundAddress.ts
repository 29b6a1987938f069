import { text, withoutEmpty } from './parameters.ts';

/** The parameters of the playground. */
export interface PlaygroundAddress {
  /** Where it was opened from, as {@link originText} writes it. */
  from?: string | undefined;
  /** The prompt that is tried, `ID`, or `ID/VERSION` for another version than the selected one. */
  prompt?: string | undefined;
}

/** A record, or a row of a version of a dataset by its place from 0. */
export type Origin = { kind: 'span' | 'trace'; id: string } | { kind: 'row'; datasetId: string; version: number; index: number };

export const originText = (origin: Origin): string =>
  origin.kind === 'row' ? `row/${origin.datasetId}/${origin.version}/${origin.index}` : `${origin.kind}/${origin.id}`;

/** Undefined where the text names nothing. */
export function originOf(text: string | undefined): Origin | undefined {
  const [kind, id = '', ...place] = (text ?? '').split('/');
  if (id === '') return undefined;
  if (kind === 'span' || kind === 'trace') return { kind, id };
  const [version, index] = place.map(Number);
  return kind === 'row' && isIndex(version) && isIndex(index) ? { kind, datasetId: id, version, index } : undefined;
}

const isIndex = (value: number | undefined): value is number => Number.isInteger(value) && Number(value) >= 0;

export const promptPlace = (promptId: string, version: number): string => `${promptId}/${version}`;

/** The version is undefined for the selected one. */
export function promptOf(text: string | undefined): { id: string; version: number | undefined } | undefined {
  const [id = '', version] = (text ?? '').split('/');
  if (id === '') return undefined;
  return { id, version: version !== undefined && isIndex(Number(version)) ? Number(version) : undefined };
}

export const playgroundAddress = (given: Record<string, unknown>): PlaygroundAddress =>
  withoutEmpty({ from: text(given.from), prompt: text(given.prompt) });
