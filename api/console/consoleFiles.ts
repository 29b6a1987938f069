import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import express, { type RequestHandler, Router } from 'express';
import { ServiceError } from '../../shared/errors/errors.ts';

/** Where the console's files are after a build: beside the source in a checkout, in the same place in the image and the package. */
const FOLDER = join(import.meta.dirname, '../../console/dist');

/** The page loads its own files and calls this service alone, and no other site may show it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The web console below `/console`: its files, whose names hold a hash of their content, and for every other address its one page, which finds out by
 * itself what to show. It names its files relative to the address asked for, so the service may be below any path of a proxy.
 * @param folder tests have their own
 */
export function consoleFiles(folder: string = FOLDER): Router {
  const router = Router();
  router.use(
    '/console/assets',
    express.static(join(folder, 'assets'), { index: false, redirect: false, setHeaders: ofFile }),
    (_request, _response, next) => next(new ServiceError('NotFound', 'there is no such file of the console: reload the page')),
  );
  router.get(/^\/console(?:\/|$)/, page(folder));
  return router;
}

/** These are the same for everybody, and never change under their names. */
const ofFile = (response: { setHeader(name: string, value: string): unknown }): void => {
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
};

function page(folder: string): RequestHandler {
  let text: string | undefined;
  return ({ path }, response) => {
    const file = join(folder, 'index.html');
    if (text === undefined && !existsSync(file))
      throw new ServiceError('NotFound', 'the console is not built here: run `npm run build:console`, or start by `npm start`');
    text ??= readFileSync(file, 'utf8');
    response.set({ 'Content-Security-Policy': policy, 'Content-Type': 'text/html; charset=utf-8' });
    response.send(text.replaceAll('="./', `="${upTo(path)}`));
  };
}

/** The way from an address to the folder of the console: `./console/` from `/console`, `../../` from `/console/p/1`. */
function upTo(path: string): string {
  const below = path.split('/').length - 3;
  return below < 0 ? './console/' : below === 0 ? './' : '../'.repeat(below);
}
