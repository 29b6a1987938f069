/**
 * The level of each of several intervals that hold together with the given one (Bonferroni): over ten metrics, chance shows a drop in one of them ten
 * times as often as in a single one.
 */
export const levelOfEach = (level: number, checks: number): number => (checks > 1 ? 1 - (1 - level) / checks : level);
