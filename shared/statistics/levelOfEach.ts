/**
 * The level of each of several intervals that hold together with the given one (Bonferroni): whoever looks at ten metrics finds a drop by chance in one of
 * them ten times as often.
 */
export const levelOfEach = (level: number, checks: number): number => (checks > 1 ? 1 - (1 - level) / checks : level);
