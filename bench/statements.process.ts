import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { Session } from 'chdb';
import { STATEMENTS_HEADER } from './liveService.ts';

// Loaded into the service before its own code (`--import`): each reply says in a header how many reads its request has sent to the embedded engine. A
// reply that names none was made of what the process kept.
const requests = new AsyncLocalStorage<{ reads: number }>();

subscribe('http.server.request.start', (message) => {
  const { response } = message as { response: ServerResponse };
  const request = { reads: 0 };
  requests.enterWith(request);
  const writeHead = response.writeHead.bind(response);
  response.writeHead = ((...args: Parameters<typeof writeHead>) => {
    response.setHeader(STATEMENTS_HEADER, request.reads);
    return writeHead(...args);
  }) as typeof response.writeHead;
});

const { queryAsync } = Session.prototype;
Session.prototype.queryAsync = function (this: Session, ...args: Parameters<typeof queryAsync>) {
  const request = requests.getStore();
  if (request && / log_comment = /.test(String(args[0]))) request.reads++;
  return queryAsync.apply(this, args);
};
