import { existsSync } from 'node:fs';
import { afterAll, expect } from 'vitest';
import { CHROMIUM, type ConsoleBrowser, consoleBrowser } from './consoleBrowser.ts';
import { describeWithServer } from './describeWithServer.ts';
import { sharedTestService } from './sharedService.ts';
import type { TestProject, TestService } from './testService.ts';

/** The service and pages that a file of tests of the console works with. */
export interface ConsoleTest {
  service: TestService;
  pages: ConsoleBrowser;
  /** A new project with a log stream. */
  projectWithStream(): Promise<ProjectWithStream>;
}

export interface ProjectWithStream extends TestProject {
  /** Id of its log stream `main`. */
  stream: string;
  /** Address of its page of records, without a query. */
  records: string;
  /** Logs traces. @returns their ids */
  log(traces: readonly object[], more?: { session_id?: string }): Promise<string[]>;
}

export interface OpenOptions {
  /** Another service than a shared one; it is ended, or given back, after the tests. */
  service?: TestService;
  /** Where pages are opened, in place of the service's own address. */
  at?: string;
  /** Errors of the browser's console that are no problem here. */
  expected?: RegExp;
}

/**
 * Describes tests of the console in the machine's Chromium; they are skipped by name where there is none. `open`, called once before them, takes a service
 * that files share; it is given back after the tests, and every problem of a page fails the file.
 */
export function describeConsole(name: string, tests: (open: (options?: OpenOptions) => Promise<ConsoleTest>) => void): void {
  const program = { name: 'chromium', path: existsSync(CHROMIUM) ? CHROMIUM : undefined };
  describeWithServer(name, program, () => {
    const opened: AsyncDisposable[] = [];
    afterAll(async () => {
      await using given = new AsyncDisposableStack();
      for (const one of opened) given.use(one);
    });
    tests(async ({ service: own, at, expected } = {}) => {
      const service = own ?? (await sharedTestService());
      opened.push(service);
      const pages = await consoleBrowser(CHROMIUM, at ?? service.url, expected);
      opened.push(pages);
      return { service, pages, projectWithStream: () => projectWithStream(service, at ?? service.url) };
    });
  });
}

async function projectWithStream(service: TestService, url: string): Promise<ProjectWithStream> {
  const project = await service.project();
  const made = await service.request('POST', `/projects/${project.id}/log_streams`, { name: 'main' });
  const { id: stream } = made.body as { id: string };
  return {
    ...{ ...project, stream, records: `${url}/console/p/${project.id}/records` },
    async log(traces, more = {}) {
      const body = { log_stream_id: stream, include_trace_ids: true, traces, ...more };
      const { status, body: answer } = await service.request('POST', `/projects/${project.id}/traces`, body);
      expect([status, answer]).toEqual([200, expect.anything()]);
      return (answer as { trace_ids: string[] }).trace_ids;
    },
  };
}
