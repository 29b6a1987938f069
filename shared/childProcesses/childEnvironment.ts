export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that any program needs. None of them holds a password, a key or an address of this service. */
const HARMLESS = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG'];

/** The environment of a child process: a few variables that every program may need, and those of `names`. */
export const childEnvironment = (environment: Environment, names: readonly string[] = []): NodeJS.ProcessEnv =>
  Object.fromEntries(
    [...HARMLESS, ...names].flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
