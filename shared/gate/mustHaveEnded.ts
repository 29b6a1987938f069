import { ServiceError } from '../errors/errors.ts';
import { isUnderWay } from '../experiments/experiment.ts';
import type { Experiment } from '../experiments/experimentStore.ts';

/** Half of an experiment says nothing about the whole. @throws ServiceError `Conflict` */
export function mustHaveEnded({ name, state, error }: Pick<Experiment, 'name' | 'state' | 'error'>): void {
  const conflict = (what: string) => new ServiceError('Conflict', `${JSON.stringify(name)} ${what}`);
  if (isUnderWay(state)) throw conflict(`has not ended (${state}): wait for its end`);
  if (state === 'failed' || state === 'cancelled')
    throw conflict(`did not run to its end (${state}${error ? `: ${error}` : ''}): run it again`);
}
