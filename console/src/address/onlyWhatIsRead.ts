/**
 * Reads an address for the router, which passes on whatever is written there beside what the reader answers: of that, nothing is left.
 * @param read answers what the address holds, of parameters that may be anything
 */
export const onlyWhatIsRead =
  <T extends object>(read: (given: Record<string, unknown>) => T) =>
  (given: Record<string, unknown>): T => ({
    ...Object.fromEntries(Object.keys(given).map((name) => [name, undefined])),
    ...read(given),
  });
