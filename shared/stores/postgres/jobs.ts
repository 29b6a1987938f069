import { z } from 'zod';
import type { Job, JobStore } from '../../experiments/experimentStore.ts';
import { SCORER_JOB } from '../../wire/jobs.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

const JobRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    run_id: z.string(),
    job_name: z.string(),
    request: z.record(z.string(), z.unknown()),
    workflow_number: z.number(),
    scoring_id: z.string().nullable(),
    created_at: z.date(),
  })
  .transform(({ job_name: name, ...row }): Job => ({ ...inCamelCase(row), name }));

export function postgresJobs(database: Database): JobStore {
  return {
    insert: (jobs) =>
      database
        .transaction(async (tx) => {
          for (const job of jobs)
            await tx.query(
              `INSERT INTO jobs (id, project_id, run_id, job_name, request, workflow_number) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO NOTHING`,
              [job.id, job.projectId, job.runId, job.name, JSON.stringify(job.request), job.workflowNumber],
            );
        })
        .catch(missingReference('experiment')),
    async find(jobId) {
      const row = await database.maybeOne('SELECT * FROM jobs WHERE id = $1', [jobId]);
      return row && JobRow.parse(row);
    },
    async ofRun(projectId, runId) {
      const rows = await database.query(
        `SELECT * FROM jobs WHERE project_id = $1 AND run_id = $2 ORDER BY created_at DESC, job_name = $3, id`,
        [projectId, runId, SCORER_JOB],
      );
      return z.array(JobRow).parse(rows);
    },
  };
}
