import type { KeyRing } from '../integrations/secrets.ts';
import type { Runner } from './experiment.ts';

type Headers = Record<string, string>;

/** The associated data of a sealed header: ties it to its experiment. */
const identityOf = (experimentId: string): string => `${experimentId}|runner headers`;

const mapValues = (headers: Headers, change: (value: string) => string): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(value)]));

/** The runner as it is stored: headers of an HTTP runner usually hold a credential. */
export const sealRunner = (keyRing: KeyRing, experimentId: string, runner: Runner): Runner =>
  runner.kind === 'http' && runner.headers
    ? { ...runner, headers: mapValues(runner.headers, (value) => keyRing.seal(value, identityOf(experimentId))) }
    : runner;

/** @throws ServiceError `SecretUnreadable` */
export const openHeaders = (keyRing: KeyRing, experimentId: string, sealed: Headers): Headers =>
  mapValues(sealed, (value) => keyRing.open(value, identityOf(experimentId)));
