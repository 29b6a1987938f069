/** Work that recurs. A module declares it beside its rules; it runs once per service, in a worker, however many processes there are. */
export interface RecurringJob {
  /** Unique, in kebab case. It is part of a schedule's id on the Temporal server: a new name is a new schedule. */
  name: string;
  /** Milliseconds from one run to the next. A run that takes longer is not joined by a second one. */
  every: number;
  /** Runs at once, too, when an api process starts: for what a crash has cut off. */
  atStart?: boolean;
  /** Safe to repeat. @param signal aborts when the job is to end, to be run again later */
  run(signal: AbortSignal): Promise<unknown>;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
