export type Environment = Readonly<Record<string, string | undefined>>;

/** What any program needs, and nothing that this service was given: no password, no key, no address. */
const HARMLESS = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG'];

/** The environment of a child process: a few variables that every program may need, and those of `names`. */
export const childEnvironment = (environment: Environment, names: readonly string[] = []): NodeJS.ProcessEnv =>
  Object.fromEntries(
    [...HARMLESS, ...names].flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
