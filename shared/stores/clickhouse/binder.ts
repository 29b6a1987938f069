import type { RunRef } from '../../projects/runs.ts';
import type { ParamValue } from './clickHouse.ts';

/** Collects the values of one statement: each gets the next number, so that equal queries have equal text. */
export class Binder {
  readonly params: Record<string, ParamValue> = {};
  readonly #names = new Map<string, Map<ParamValue, string>>();
  #count = 0;

  /** Returns the placeholder for `value` in the SQL text; the same one for the same value, so that equal conditions have equal text. */
  readonly bind = (value: ParamValue, type: string): string => {
    const ofType = this.#names.get(type) ?? new Map<ParamValue, string>();
    this.#names.set(type, ofType);
    const name = ofType.get(value) ?? `p${this.#count++}`;
    ofType.set(value, name);
    this.params[name] = value;
    return `{${name}:${type}}`;
  };
}

export type Bind = Binder['bind'];

/** The type of times. */
export const TIME = "DateTime64(6, 'UTC')";

/** A canonical time as a DateTime64 parameter or row takes it: `2026-07-07 15:55:01.110554`; it refuses the `T` and the `Z`. */
export const timeParam = (canonical: string): string => canonical.replace('T', ' ').replace('Z', '');

/** A JS number as text: the engine's own parser reads it to the nearest double, and beyond 2^53 the driver refuses numbers. */
export const numberParam = (value: number): string => String(value);

/** The canonical time of a DateTime64 as it is read: the inverse of {@link timeParam}. */
export const timeOfColumn = (text: string): string => `${text.replace(' ', 'T')}Z`;

/** Limits a statement of fixed text to one run; its values are {@link runParams}. */
export const IN_RUN = 'project_id = {project:UUID} AND run_id = {run:UUID}';
export const runParams = ({ projectId, runId }: RunRef) => ({ project: projectId, run: runId });
