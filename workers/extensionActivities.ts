import { Context } from '@temporalio/activity';
import type { Extensions } from '../shared/datasetExtensions/openExtensions.ts';
import type { ExtendInput } from '../shared/datasetExtensions/workflow.ts';
import { beating } from './activities.ts';

/** Tries after which a model that does not answer ends an extension; with pauses of up to a minute, some minutes. */
const MAX_TRIES = 10;

/** What the workflow of an extension asks for. @param ending aborts when the worker ends */
export function createExtensionActivities({ step }: Pick<Extensions, 'step'>, ending: AbortSignal) {
  return {
    /** One answer of the model, or the end. @returns whether the extension has ended */
    extendDatasetOnce: ({ datasetId }: ExtendInput): Promise<boolean> =>
      beating(() => {
        const { cancellationSignal, info } = Context.current();
        return step(datasetId, info.attempt >= MAX_TRIES, AbortSignal.any([ending, cancellationSignal]));
      }),
  };
}
export type ExtensionActivities = ReturnType<typeof createExtensionActivities>;
