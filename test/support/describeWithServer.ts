import { describe, test } from 'vitest';

/**
 * The half of a suite that needs a server program. Without the program it is skipped by name; under CI that is a failure, because there
 * the program must be installed.
 */
export function describeWithServer(
  name: string,
  program: { name: string; path: string | undefined },
  cases: (path: string) => void,
): void {
  const { path } = program;
  if (path !== undefined) describe(name, () => cases(path));
  else if (process.env.CI) {
    test(`${name}: ${program.name} is installed`, () => {
      throw new Error(`${program.name} was not found on this machine, and CI must not skip what needs it`);
    });
  } else {
    console.warn(`skipped, because ${program.name} is not installed: ${name}`);
    test.skip(`${name}: ${program.name} is not installed`, () => {});
  }
}
