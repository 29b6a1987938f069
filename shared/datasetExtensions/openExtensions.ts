import type { RecurringJob } from '../maintenance/recurringJob.ts';
import { type ExtendDeps, endExtension, extendDataset } from './extendDataset.ts';
import { type RequestExtensionDeps, requestExtension } from './requestExtension.ts';
import { extensionWorkflowId } from './workflow.ts';

const MINUTE_MS = 60_000;

export interface ExtensionProgress {
  message: string | null;
  stepsCompleted: number;
  stepsTotal: number;
}

/** Datasets whose rows a model makes. */
export function openExtensions(deps: RequestExtensionDeps & ExtendDeps) {
  const { extensions, workflows, onError } = deps;
  /** A workflow that its server does not know is started; one that was ended from outside, or failed, ends its extension. */
  const reconcile = async (datasetId: string): Promise<void> => {
    const status = await workflows.status({ workflowId: extensionWorkflowId(datasetId) });
    if (status.kind === 'open') return;
    if (status.kind === 'absent') return workflows.extend(datasetId);
    const extension = await extensions.find(datasetId);
    if (extension?.state !== 'running') return;
    const why = status.reason ? `: ${status.reason}` : '';
    await endExtension(deps, extension, `the workflow ended in Temporal (${status.how})${why}`, true);
  };
  const jobs: readonly RecurringJob[] = [
    {
      name: 'start-waiting-extensions',
      every: MINUTE_MS,
      atStart: true,
      async run() {
        for (const datasetId of await extensions.running())
          await reconcile(datasetId).catch((err: unknown) => onError(datasetId, err));
      },
    },
  ];
  return {
    request: (...args: DropFirst<typeof requestExtension>) => requestExtension(deps, ...args),
    step: (...args: DropFirst<typeof extendDataset>) => extendDataset(deps, ...args),
    /** Its steps are rows. Of a dataset that no model fills there is nothing to wait for. */
    async progress(datasetId: string): Promise<ExtensionProgress> {
      const extension = await extensions.find(datasetId);
      if (!extension) return { message: 'no rows are being made for this dataset', stepsCompleted: 0, stepsTotal: 0 };
      const { request, rows, state, message } = extension;
      // A caller who waits for the last row may read the content then: until it is there, one step is left.
      const stepsCompleted = state === 'running' ? Math.min(rows.length, request.count - 1) : request.count;
      return { message: message ?? `${rows.length} of ${request.count} rows`, stepsCompleted, stepsTotal: request.count };
    },
    jobs,
  };
}
export type Extensions = ReturnType<typeof openExtensions>;

type DropFirst<F> = F extends (first: never, ...rest: infer R) => unknown ? R : never;
