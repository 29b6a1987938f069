/** A request of the service to a process with an interpreter, as one line of JSON. */
export interface ToSandbox {
  id: number;
  /** Names the code: what was loaded once is kept. */
  key: string;
  /** Source; absent where the process has it. */
  code?: string;
  /** A {@link CodeRecord} as JSON; absent to look at the code alone. */
  record?: string;
  /** Values of the metric as a JSON list, for its `aggregator_fn`. */
  scores?: string;
}

/** A message of such a process. The code of a metric may have forged it: it is checked. */
export type FromSandbox = { type: 'ready' } | { type: 'answered'; id: number /** What came of it as JSON. */; answer: string };
