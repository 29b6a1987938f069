import { createHash } from 'node:crypto';

/**
 * Let a browser do nothing with an answer but show it as the type it has, in no other page. They are set before any other handler sees the request,
 * so that refusals of the parser and of a start under way carry them too. Pages add {@link pagePolicy}. Answers hold secrets of their caller, such as
 * keys, so no cache and no browser stores one; files that are the same for everybody set another `Cache-Control`.
 */
export const answerHeaders: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** The content security policy of a page that loads from this service alone and has one script of its own in it, known by its hash. */
export function pagePolicy(script: string): string {
  const hash = createHash('sha256').update(script).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    // The browser of the API sets style attributes, and its icons are data.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
