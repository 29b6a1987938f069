import type { RunExperimentOptions } from './runExperimentOptions.ts';

/**
 * An experiment as a file holds it, for `assay run`: what `runExperiment` takes, without what belongs to one execution of it. Without a name it is
 * called as its file is.
 */
export type ExperimentDefinition<Input = unknown, Output = unknown> = Omit<
  RunExperimentOptions<Input, Output>,
  'client' | 'experimentName' | 'onError' | 'onExperiment' | 'onProgress' | 'resume' | 'signal' | 'wait'
> & { experimentName?: string | undefined };

/** Gives back what it gets, with its types checked: the default export of an experiment file. */
export const defineExperiment = <Input = unknown, Output = unknown>(
  definition: ExperimentDefinition<Input, Output>,
): ExperimentDefinition<Input, Output> => definition;
