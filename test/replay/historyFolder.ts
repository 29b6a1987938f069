import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

export const historyFolder = join(import.meta.dirname, 'histories');

export interface SavedHistory {
  name: string;
  workflowId: string;
  history: ReturnType<typeof historyFromJSON>;
}

/** Every saved history: `<what it shows>.json`, with the id of its workflow. */
export const savedHistories = (): SavedHistory[] =>
  readdirSync(historyFolder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { workflowId, history } = JSON.parse(readFileSync(join(historyFolder, file), 'utf8')) as {
        workflowId: string;
        history: unknown;
      };
      return { name: file.replace('.json', ''), workflowId, history: historyFromJSON(history) };
    });

/** The workflows as the worker loads them; fails on an import that workflow code must not have. */
export const workflowBundle = () =>
  bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, '../../workflows/index.ts'),
    logger: new DefaultLogger('ERROR'),
  });
