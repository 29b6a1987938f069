import { Context } from '@temporalio/activity';
import type { Extensions } from '../shared/datasetExtensions/openExtensions.ts';
import type { ExtendInput } from '../shared/datasetExtensions/workflow.ts';
import { beating } from './activities.ts';
import { activityLease, type LeaseDeps } from './activityLease.ts';

/** Tries after which a model that does not answer ends an extension; with pauses of up to a minute, some minutes. */
const MAX_TRIES = 10;

export interface ExtensionActivityDeps extends Pick<Extensions, 'step'>, LeaseDeps {}

/** Creates the activities of the workflow that extends a dataset. @param ending aborts when the worker ends */
export function createExtensionActivities({ step, ...deps }: ExtensionActivityDeps, ending: AbortSignal) {
  return {
    /** One answer of the model, or the end. @returns whether the extension has ended */
    extendDatasetOnce: ({ datasetId }: ExtendInput): Promise<boolean> =>
      beating(() => {
        const context = Context.current();
        const lease = activityLease(context, deps);
        const signal = AbortSignal.any([ending, context.cancellationSignal, lease.lost]);
        return step(datasetId, context.info.attempt >= MAX_TRIES, signal, () => lease.confirm(signal));
      }),
  };
}
export type ExtensionActivities = ReturnType<typeof createExtensionActivities>;
