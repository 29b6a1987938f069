import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { ServiceError } from '../shared/errors/errors.ts';
import { consoleFiles } from './console/consoleFiles.ts';
import { pagePolicy } from './http/answerHeaders.ts';
import { type BodyBounds, openBodyBounds } from './http/bodyBounds.ts';
import { compressAnswers } from './http/compressAnswers.ts';
import { errorResponse } from './http/errorResponse.ts';
import { type OpenapiVersion, openapiDocument } from './http/openapi.ts';
import { hostCheck, PUBLIC_URL, publicPath, publicPathOf } from './http/publicHost.ts';
import { type RequestMetricsDeps, requestMetrics } from './http/requestMetrics.ts';
import { type Endpoint, type Gate, mount } from './http/route.ts';

export interface AppOptions {
  endpoints: readonly Endpoint[];
  gate: Gate;
  log: Logger;
  apiKeyHeaders: readonly string[];
  checkReplies: boolean;
  /** Absent: requests are neither counted nor logged. */
  requests?: Omit<RequestMetricsDeps, 'log'>;
  /** `PUBLIC_URL`: the only host that is answered, and the path that requests may begin with. */
  publicUrl?: string | undefined;
  /** Absent: those of a service without settings. */
  bodies?: BodyBounds;
  /** Login of the console, and addresses of the API that lead a browser there. */
  console?: RequestHandler[];
}

/** The HTTP server: request ids, the prefix rule, the routes, the documents, errors. */
export function createApp({
  endpoints,
  gate,
  log,
  apiKeyHeaders,
  checkReplies,
  requests,
  publicUrl,
  bodies = openBodyBounds(),
  console = [],
}: AppOptions): Express {
  const checkHost = hostCheck(publicUrl);
  const below = publicPath(publicUrl);
  const app = express();
  app.set(PUBLIC_URL, publicUrl);
  app.disable('x-powered-by');
  app.disable('etag');
  if (requests) app.use(requestMetrics({ ...requests, log }));
  app.use(compressAnswers());
  app.use((request, response, next) => {
    const given = request.headers['x-request-id'];
    response.locals.requestId = typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', response.locals.requestId);
    // A proxy may strip the path that it has the service below, or pass it on.
    request.url = withoutPath(request.url, below);
    // Clients call every route with and without the prefix, and a base URL may itself end in it.
    request.url = request.url.replace(/^(?:\/v2)+(?=\/|\?|$)/, '') || '/';
    if (!request.url.startsWith('/')) request.url = `/${request.url}`;
    if (request.path !== '/healthcheck') checkHost(request); // a probe may know the address alone
    next();
  });
  app.use(consoleFiles(), ...console);
  app.use(mount(endpoints, gate, bodies, checkReplies));
  mountDocuments(app, (version) => openapiDocument(endpoints, apiKeyHeaders, version, below));
  app.use(refuseUnknown(endpoints));
  app.use(errorResponse(log, bodies.lingerMs));
  return app;
}

function withoutPath(url: string, below: string): string {
  const rest = url.startsWith(below) ? url.slice(below.length) : url;
  return rest === '' || /^[/?]/.test(rest) ? rest : url;
}

/** Answers a request that no route took: 405 with the allowed methods when the path exists, 404 otherwise. */
function refuseUnknown(endpoints: readonly Endpoint[]): RequestHandler {
  const routes = endpoints.map(({ method, path }) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`, 'i'),
  }));
  return (request, response) => {
    const methods = [...new Set(routes.flatMap(({ method, pattern }) => (pattern.test(request.path) ? [method] : [])))];
    if (methods.length === 0)
      throw new ServiceError('NotFound', `there is no ${request.method} ${request.path}; /docs lists the routes`);
    response.setHeader('Allow', methods.join(', '));
    throw new ServiceError(
      'MethodNotAllowed',
      `${request.method} is not a method of ${request.path}; it has ${methods.join(', ')}`,
    );
  };
}

/** The OpenAPI documents and a page to browse them. All are public: they hold no data. */
function mountDocuments(app: Express, document: (version: OpenapiVersion) => unknown): void {
  const versions = { '/openapi.json': '3.1.0', '/openapi-3.0.json': '3.0.4' } as const;
  for (const [path, version] of Object.entries(versions)) {
    let text: string | undefined;
    app.get(path, (_request, response) => {
      text ??= JSON.stringify(document(version)); // a tenth of a start's time, for what most never ask
      response.type('application/json').send(text);
    });
  }
  app.get('/', (request, response) => {
    // Without the page that Express would send along. Relative, since a proxy may have the service below a path.
    const home = publicPathOf(request); // where it is not known, the place is named from this one
    const page = request.accepts(['json', 'html']) === 'html' ? 'console/' : 'docs';
    response.writeHead(302, { Location: home === '' ? page : `${home}/${page}` }).end();
  });
  app.get('/docs', ({ path }, response) => {
    // The page names its files relative to its address, as below any path.
    if (path.endsWith('/')) return void response.writeHead(302, { Location: '../docs' }).end();
    response.setHeader('Content-Security-Policy', DOCS_POLICY);
    response.type('html').send(DOCS_PAGE);
  });
  const assets = join(import.meta.dirname, 'swaggerUi');
  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']) {
    const path = join(assets, name);
    app.get(`/docs/assets/${name}`, async (_request, response) => {
      response.setHeader('Cache-Control', 'public, max-age=3600');
      response.type(extname(name)).send(await readFile(path));
    });
  }
}

// Swagger UI reads the document of 3.0: it takes 1.7 s to show the page and 0.9 s to open an operation. In a document of 3.1 it resolves every
// reference again for each operation, which takes 8 s and 5 s. Without `validatorUrl: null` it sends the document's address to a validator on the internet.
const DOCS_SCRIPT =
  "SwaggerUIBundle({ url: './openapi-3.0.json', dom_id: '#page', deepLinking: true, docExpansion: 'none', persistAuthorization: true, validatorUrl: null });";
const DOCS_POLICY = pagePolicy(DOCS_SCRIPT);

const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Assay API</title>
<link rel="icon" href="docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script>${DOCS_SCRIPT}</script>
</body>
</html>
`;
