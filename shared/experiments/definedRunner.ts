import type { Runner } from './experiment.ts';
import type { Experiment } from './experimentStore.ts';

/** What runs the rows of an experiment when nobody names a runner: its prompt template, else the outputs that its dataset holds. */
export const definedRunner = ({ prompt, promptSettings }: Pick<Experiment, 'prompt' | 'promptSettings'>): Runner =>
  prompt
    ? { kind: 'prompt_template', templateVersionId: prompt.templateVersionId, settings: promptSettings ?? prompt.settings }
    : { kind: 'dataset_outputs' };
