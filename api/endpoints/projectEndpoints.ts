import { mayInProject } from '../../shared/accounts/permissions.ts';
import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { collaboratorStore } from '../../shared/stores/postgres/collaborators.ts';
import { postgresSavedViews } from '../../shared/stores/postgres/savedViews.ts';
import type { Endpoint } from '../route.ts';
import { collaboratorRoutes } from '../routes/collaborators.ts';
import { defaultJudgeRoutes } from '../routes/defaultJudge.ts';
import { logStreamRoutes } from '../routes/logStreams.ts';
import { projectRoutes } from '../routes/projects.ts';
import { retentionRoutes } from '../routes/retention.ts';
import { savedViewRoutes } from '../routes/savedViews.ts';

/** Projects, who sees them, their log streams, how long they keep records, and which model judges. */
export function projectEndpoints({
  stores,
  accounts: { accounts },
  assets,
  projects,
  retention,
  expiries,
  scorers,
  models,
}: Domain): Endpoint[] {
  const { access, deletion, logStreams, firstLog } = projects;
  const { database } = stores;
  return [
    ...projectRoutes({
      projects: projects.projects,
      newestRecords: projects.newestRecords,
      accounts,
      access,
      firstLog,
      ...deletion,
    }),
    ...savedViewRoutes({
      views: postgresSavedViews(database),
      newId,
      async mayUpdate(caller, projectId) {
        const seen = await access.visible(caller, projectId);
        return seen !== undefined && mayInProject(seen.role, 'update');
      },
    }),
    ...retentionRoutes({ retention, expiries }),
    ...defaultJudgeRoutes({ defaultJudges: scorers.defaultJudges, models }),
    ...collaboratorRoutes({
      projects: projects.projects,
      access,
      assets,
      assetCollaborators: {
        dataset: collaboratorStore(database, 'dataset'),
        prompt: collaboratorStore(database, 'prompt'),
        integration: collaboratorStore(database, 'integration'),
      },
    }),
    ...logStreamRoutes({ logStreams, firstLog, accounts, runCounts: projects.runCounts, ...deletion }),
  ];
}
