import { text, withoutEmpty } from './parameters.ts';

/** The list that a record was opened from, with its place there: so its page leads to the records beside it. */
export interface ListAddress {
  /** Id of the log stream or experiment; one of them is set. */
  run?: string | undefined;
  experiment?: string | undefined;
  /** A list of spans; of traces without it. */
  kind?: 'spans' | undefined;
  q?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  sort?: string | undefined;
  /** No record of the list is newer. */
  asOf?: string | undefined;
  /** Id of the record that is open. */
  open: string;
  /** Number of records before it, as far as it is known. */
  at?: number | undefined;
}

/** Reads a list, whatever somebody wrote there; undefined where it says neither a run nor a record. */
export function listAddress(given: unknown): ListAddress | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const said = given as Record<string, unknown>;
  const [run, experiment, open] = [text(said.run), text(said.experiment), text(said.open)];
  if (open === undefined || (run ?? experiment) === undefined) return undefined;
  return withoutEmpty<ListAddress>({
    ...{ run, experiment, open },
    kind: said.kind === 'spans' ? 'spans' : undefined,
    q: text(said.q),
    from: text(said.from),
    to: text(said.to),
    sort: text(said.sort),
    asOf: text(said.asOf),
    at: Number.isSafeInteger(said.at) && Number(said.at) >= 0 ? Number(said.at) : undefined,
  });
}
