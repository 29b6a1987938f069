import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';

export const historyFolder = join(import.meta.dirname, 'histories');

export interface SavedHistory {
  name: string;
  workflowId: string;
  history: ReturnType<typeof historyFromJSON>;
}

/** Every saved history: `<what it shows>.json`, with the id of its workflow; those of former code in a folder named after it. */
export const savedHistories = (): SavedHistory[] =>
  readdirSync(historyFolder, { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { workflowId, history } = JSON.parse(readFileSync(join(historyFolder, file), 'utf8')) as {
        workflowId: string;
        history: unknown;
      };
      return { name: file.replace('.json', ''), workflowId, history: historyFromJSON(history) };
    });
