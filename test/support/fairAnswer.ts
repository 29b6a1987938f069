import { expect } from 'vitest';
import { z } from 'zod';

const ValidationErrors = z.object({
  detail: z
    .array(
      z.object({
        loc: z.tuple([z.enum(['body', 'query', 'path', 'header'])], z.union([z.string(), z.int()])),
        msg: z.string().min(1),
        type: z.string().regex(/^[a-z_]+$/),
        ctx: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .min(1),
});
const ErrorObject = z.object({
  detail: z.string().min(1),
  standard_error: z.object({
    error_code: z.int(),
    error_type: z.string().min(1),
    error_group: z.string().min(1),
    severity: z.enum(['low', 'medium', 'high', 'critical']),
    message: z.string().min(1),
    retriable: z.boolean(),
    blocking: z.boolean(),
    http_status_code: z.int(),
  }),
});

/** Matches texts that no caller should see: internals of the service and the stores, and values that were never written out. */
const gibberish =
  /\[object Object\]|received undefined|\bat \S+ \(|node:internal|DB::Exception|ClickHouse|PGlite|Postgres|SQLSTATE|syntax error|\brelation "|violates|Cannot read propert|is not a function|Maximum call stack/;

/** Passes for a reply below 400, and for an error in the form of the interface with a message that a person understands. */
export function fairAnswer({ status, headers, text }: { status: number; headers: Headers; text: string }): void {
  expect(status, text).toBeLessThan(500);
  expect(headers.get('x-request-id')).toBeTruthy();
  // An exporter is answered in its own protocol.
  if (status < 400 || headers.get('content-type') === 'application/x-protobuf') return;
  const body: unknown = JSON.parse(text);
  const parsed = (status === 422 ? ValidationErrors : ErrorObject).safeParse(body);
  expect(parsed.success, `${status} ${text}`).toBe(true);
  if (!parsed.data) return;
  const messages = typeof parsed.data.detail === 'string' ? [parsed.data.detail] : parsed.data.detail.map(({ msg }) => msg);
  for (const message of messages) expect(message).not.toMatch(gibberish);
  if ('standard_error' in parsed.data) expect(parsed.data.standard_error.http_status_code).toBe(status);
}
