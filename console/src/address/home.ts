/**
 * Where the console and the service are, found from the address of this very file: `<service>/console/assets/<file>.js`. So a service below any path
 * needs no setting for it.
 */
const here = import.meta.url;
const consoleUrl = new URL('../', here);
const service = new URL('../', consoleUrl);

export const home = {
  /** Ends in a slash, as in `http://localhost:8088/`. */
  service,
  /** The path that the router starts at: `/console`. */
  path: consoleUrl.pathname.replace(/\/$/, ''),
  /** For the client library and for what people copy. */
  api: service.href.replace(/\/$/, ''),
};
