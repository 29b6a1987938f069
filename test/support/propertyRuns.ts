/**
 * Returns how often a property that asks an engine or a service is tried. Each run of the tests takes another seed, so that what one run does not find
 * another does; `PROPERTY_RUNS=4 npx vitest run test/store/filters.test.ts` tries four times as often at once.
 */
export const propertyRuns = (count: number): number => Math.ceil(count * Number(process.env.PROPERTY_RUNS ?? 1));
