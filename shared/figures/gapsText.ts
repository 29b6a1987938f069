/** Values of a metric that are not there, as far as they are known. */
export interface Gaps {
  /** Values that are there. */
  values: number;
  /** Records that did not fail and have none. */
  lacking: number;
  reasons: readonly { message: string; count: number }[];
}

/** Why a metric has no value, or lacks some, as a sentence without its end; undefined where no reason is known. */
export function gapsText(metric: string, { values, lacking, reasons }: Gaps): string | undefined {
  if (reasons.length === 0) return undefined;
  const known = reasons.reduce((sum, { count }) => sum + count, 0);
  const [only] = reasons;
  const said = [
    ...reasons.map(({ message, count }) => `${message} (${count})`),
    ...(lacking > known ? [`others (${lacking - known})`] : []),
  ];
  const why = said.length === 1 && only ? only.message || 'no reason was given' : said.join('; ');
  return values === 0 ? `${metric} has no value: ${why}` : `${metric} has no value of ${lacking} of ${values + lacking}: ${why}`;
}
