import { createHash } from 'node:crypto';

/**
 * What a browser may do with any answer: nothing but show it as the type it has, in no other page. Set before anything else sees the request, so
 * that refusals of the parser and of a start under way carry it too. Pages say more in {@link pagePolicy}. Answers hold what their caller alone may
 * see, keys among it, so no cache on the way and no browser stores one; the files that are the same for everybody set another `Cache-Control`.
 */
export const answerHeaders: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/**
 * The content security policy of a page that loads from this service alone and has one script of its own in it, known by its hash.
 * @param hasForms whether the page has forms, which are sent to this service alone
 */
export function pagePolicy(script: string, { hasForms = false } = {}): string {
  const hash = createHash('sha256').update(script).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    // The browser of the API sets style attributes, and its icons are data.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${hasForms ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ].join('; ');
}
