import { type DefaultJudgeStore, foundJudge, setDefaultJudge } from '../../shared/scorers/defaultJudge.ts';
import type { JudgeModels } from '../../shared/scorers/judge.ts';
import { NoQuery } from '../../shared/wire/common.ts';
import { DefaultJudgeRequest, DefaultJudgeResponse } from '../../shared/wire/defaultJudge.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

export interface DefaultJudgeDeps {
  defaultJudges: DefaultJudgeStore;
  models: JudgeModels;
}

const tag = 'Projects';
const path = '/projects/{project_id}/default_judge';

/** The model that judges where a project's metrics name none. */
export const defaultJudgeRoutes = (deps: DefaultJudgeDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path,
    summary: 'The model that judges where a metric names none',
    tag,
    access: { project: 'read' },
    query: NoQuery,
    params: ProjectParams,
    response: DefaultJudgeResponse,
    handle: async ({ project }) => ({ project_id: project.id, ...foundJudge(await deps.defaultJudges.get(project.id)) }),
  }),
  endpoint({
    method: 'put',
    path,
    summary: 'Say which model judges where a metric names none',
    description:
      'It comes after the model of the scorer, and before the default of the integration and the model under test. Runs that start from now on, and records that are scored from now on, are judged by it. A model that there is not is refused, with the closest ones.',
    tag,
    access: { project: 'set_metric' },
    params: ProjectParams,
    body: DefaultJudgeRequest,
    response: DefaultJudgeResponse,
    handle: async ({ project, body }) => ({
      project_id: project.id,
      ...(await setDefaultJudge(deps, project.id, body.model)),
    }),
  }),
];
