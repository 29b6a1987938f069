import { type ErrorRequestHandler, type Request, Router } from 'express';
import { ServiceError } from '../../shared/errors/errors.ts';
import { Uuid } from '../../shared/wire/common.ts';
import { ExperimentParams } from '../../shared/wire/experiments.ts';
import { publicPathOf } from '../publicHost.ts';
import type { Gate } from '../route.ts';
import { type ExperimentPageDeps, experimentPage } from './experimentPage.ts';
import { html } from './html.ts';
import { pageHeaders, pageLayout } from './pageLayout.ts';
import { type PageLoginDeps, pageCaller, pageLoginRoutes, toLogin } from './pageLogin.ts';

export interface PagesDeps extends PageLoginDeps, ExperimentPageDeps {
  gate: Gate;
}

/**
 * What people read in a browser, at the addresses of the API: `GET /projects/{project_id}/experiments/{experiment_id}` answers with a page where
 * HTML is asked for before JSON, and is left to the API otherwise. So every link to an experiment opens for a person, too.
 */
export function pages(deps: PagesDeps): Router {
  const router = Router();
  router.use(pageLoginRoutes(deps));
  router.get('/projects/:project_id/experiments/:experiment_id', async (request, response, next) => {
    const params = ExperimentParams.safeParse(request.params);
    if (!wantsPage(request) || !params.success) return next();
    const caller = await pageCaller(deps.credentials, request);
    if (!caller) return toLogin(request, response);
    const project = await deps.gate.authorize(caller, { project: 'read' }, params.data.project_id);
    if (!project) throw new ServiceError('NotFound', 'no such project');
    const baseline = Uuid.safeParse(request.query.baseline);
    const content = await experimentPage(deps, project, params.data.experiment_id, caller, publicPathOf(request), baseline.data);
    response.set(pageHeaders).send(pageLayout({ ...content, below: publicPathOf(request) }));
  });
  router.use(pageOfError);
  return router;
}

/** Browsers name HTML first; programs take JSON or anything, and those that send credentials of the API are programs. */
const wantsPage = (request: Request): boolean =>
  request.headers.authorization === undefined && request.accepts(['json', 'html']) === 'html';

/** What a person can do nothing about goes on to the handler of all errors, which logs it. */
const pageOfError: ErrorRequestHandler = (err, request, response, next) => {
  if (!(err instanceof ServiceError) || err.status >= 500 || response.headersSent || !request.accepts('html')) return next(err);
  const main = html`<h1>${err.status === 404 ? 'Not found' : 'Not possible'}</h1><p class="error">${err.message}</p>`;
  response
    .status(err.status)
    .set(pageHeaders)
    .send(pageLayout({ title: String(err.status), main, below: publicPathOf(request) }));
};
