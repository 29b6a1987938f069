import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

// A program of its own (see `workflowBundle.ts`): prints the workflow code as the worker's sandbox loads it.
const { code } = await bundleWorkflowCode({
  workflowsPath: join(import.meta.dirname, '../workflows/index.ts'),
  logger: new DefaultLogger('WARN'),
});
process.stdout.write(code);
