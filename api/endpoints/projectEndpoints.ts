import { mayInProject } from '../../shared/accounts/permissions.ts';
import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { makeExampleTemplates } from '../../shared/prompts/exampleTemplates.ts';
import { clickhouseWouldExpire } from '../../shared/stores/clickhouse/reads/wouldExpire.ts';
import { collaboratorStore } from '../../shared/stores/postgres/collaborators.ts';
import { postgresSavedViews } from '../../shared/stores/postgres/savedViews.ts';
import type { Endpoint } from '../http/route.ts';
import { collaboratorRoutes } from '../routes/collaborators.ts';
import { defaultJudgeRoutes } from '../routes/defaultJudge.ts';
import { fileRoutes } from '../routes/files.ts';
import { logStreamRoutes } from '../routes/logStreams.ts';
import { playgroundLimitRoutes } from '../routes/playgroundLimits.ts';
import { projectRoutes } from '../routes/projects.ts';
import { retentionRoutes } from '../routes/retention.ts';
import { savedViewRoutes } from '../routes/savedViews.ts';

/** Projects, who sees them, their log streams, how long they keep records, which model judges, and what their playground may use. */
export function projectEndpoints({
  stores,
  accounts: { accounts },
  assets,
  files,
  projects,
  retention,
  expiries,
  scorers,
  models,
  playgroundBudget,
  prompts,
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
      makeExamples: (owner, projectId) => makeExampleTemplates({ prompts, assets }, owner, projectId),
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
    ...retentionRoutes({ retention, expiries, wouldExpire: clickhouseWouldExpire(stores.clickhouse) }),
    ...fileRoutes({ files, newId }),
    ...defaultJudgeRoutes({ defaultJudges: scorers.defaultJudges, models }),
    ...playgroundLimitRoutes(playgroundBudget),
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
