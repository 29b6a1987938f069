import type { PlaygroundBudget } from '../../shared/playground/playgroundLimits.ts';
import { NoQuery } from '../../shared/wire/common.ts';
import { PlaygroundLimitsRequest, PlaygroundLimitsResponse } from '../../shared/wire/playgroundLimits.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type Endpoint, endpoint } from '../http/route.ts';

const tag = 'Projects';
const path = '/projects/{project_id}/playground_limits';

/** Reads and sets the limits of a project's playground, with what is used of them. */
export const playgroundLimitRoutes = (budget: Pick<PlaygroundBudget, 'of' | 'set'>): Endpoint[] => [
  endpoint({
    method: 'get',
    path,
    summary: 'What the playground of a project may use, and what is used of it',
    description:
      'Calls at once and US dollars a day (UTC), of everybody together and over all processes. The cost of calls that run is estimated; so is that of calls that ended without saying what they used.',
    tag,
    access: { project: 'read' },
    query: NoQuery,
    params: ProjectParams,
    response: PlaygroundLimitsResponse,
    handle: ({ project }) => budget.of(project.id),
  }),
  endpoint({
    method: 'put',
    path,
    summary: 'Change what the playground of a project may use',
    description:
      'Null: no limit. It applies to the next call; those that run go on. While money is limited, a call of a model without a known price is refused.',
    tag,
    access: { project: 'update' },
    params: ProjectParams,
    body: PlaygroundLimitsRequest,
    response: PlaygroundLimitsResponse,
    handle: ({ project, body }) => budget.set(project.id, { mostCalls: body.most_calls, mostUsdPerDay: body.most_cost_per_day }),
  }),
];
