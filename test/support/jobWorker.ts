// A worker process that does nothing but recurring jobs, of which each run is a line in a file: `node jobWorker.ts <address> <file> <jobs as JSON>`.
import { appendFileSync } from 'node:fs';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { z } from 'zod';
import { taskQueues } from '../../shared/config/taskQueues.ts';
import { createJobActivities } from '../../workers/jobActivities.ts';
import { workflowBundle } from '../../workers/workflowBundle.ts';

const [, , address = '', file = '', names = '[]'] = process.argv;
const jobs = z
  .array(z.string())
  .parse(JSON.parse(names))
  .map((name) => ({ name, every: 0, run: async () => appendFileSync(file, `${name} ${process.pid}\n`) }));
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const activities = createJobActivities(jobs, pino({ level: 'silent' }), new AbortController().signal);
const workers = await Promise.all([
  Worker.create({ connection, taskQueue: taskQueues.control, workflowBundle: await workflowBundle() }),
  Worker.create({ connection, taskQueue: taskQueues.maintenance, activities }),
]);
process.stdout.write('ready\n');
await Promise.all(workers.map((worker) => worker.run()));
