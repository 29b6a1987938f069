import type { RunSettings } from './experiment.ts';
import type { RowResult } from './rowTrace.ts';

/** Counts rows, or values of judges, that fail one after the other, and says when there are enough of them for the run to pause. */
export class FailureStreak {
  private readonly settings: Pick<RunSettings, 'pauseAfterFailures' | 'pauseAfterProviderFailures'>;
  private failures = 0;
  private ofProvider = 0;

  constructor(settings: Pick<RunSettings, 'pauseAfterFailures' | 'pauseAfterProviderFailures'>) {
    this.settings = settings;
  }

  /** @returns why the run is to pause; undefined where it goes on */
  note({
    error,
    isProviderFailure,
    isExhausted,
  }: Pick<RowResult, 'error' | 'isProviderFailure' | 'isExhausted'>): string | undefined {
    if (error === undefined) {
      this.failures = 0;
      this.ofProvider = 0;
      return undefined;
    }
    const { pauseAfterFailures, pauseAfterProviderFailures } = this.settings;
    // No call succeeds before somebody has paid, or for hours.
    if (isExhausted && pauseAfterProviderFailures > 0) return error;
    this.failures++;
    // A row that failed for its own sake says nothing about the provider, neither good nor bad.
    if (isProviderFailure) this.ofProvider++;
    if (pauseAfterFailures > 0 && this.failures >= pauseAfterFailures)
      return `${this.failures} rows in a row failed, the last with: ${error}`;
    if (isProviderFailure && pauseAfterProviderFailures > 0 && this.ofProvider >= pauseAfterProviderFailures)
      return `the provider failed ${this.ofProvider} times in a row, the last with: ${error}`;
    return undefined;
  }
}
