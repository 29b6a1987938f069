import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of every shape; a wrong guess fails the test
  body: any;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as a urlencoded form. */
  form?: Record<string, string>;
}

export interface HttpService {
  url: string;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  close(): Promise<void>;
}

/** Serves `app` on a free port of this machine. */
export async function serve(app: Express): Promise<HttpService> {
  const server: Server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The client closes what is idle. A busy process closes a connection before it has read the request that has come, which is then reset.
  server.keepAliveTimeout = 0;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async request(method, path, { headers = {}, json, form } = {}) {
      const body = form ? new URLSearchParams(form) : json === undefined ? undefined : JSON.stringify(json);
      const response = await fetch(url + path, {
        method,
        headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : parsed(text) };
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
