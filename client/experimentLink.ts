import { readEnvironment } from './environment.ts';

/** Where the console shows an experiment: on the service, or where `SERVICE_CONSOLE_URL` says that the console is. */
export const experimentLink = (apiUrl: string, projectId: string, experimentId: string): string =>
  `${consoleOf(readEnvironment().consoleUrl ?? apiUrl)}/p/${projectId}/experiments/${experimentId}`;

/** The address of a service, of its API or of the console itself. */
const consoleOf = (url: string): string => `${url.replace(/(?:\/v2|\/console)?\/*$/, '')}/console`;
