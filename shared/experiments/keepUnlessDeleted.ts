import { ServiceError } from '../errors/errors.ts';
import type { DeleteRecords } from '../projects/runs.ts';
import type { ExperimentRun } from './experiment.ts';

export interface KeepDeps {
  exists(experimentId: string): Promise<boolean>;
  deleteRecords: DeleteRecords;
}

/** Writes to an experiment so that nothing of it stays when it was deleted meanwhile. */
export type KeepUnlessDeleted = <T>(
  run: Pick<ExperimentRun, 'projectId' | 'experimentId'>,
  write: () => Promise<T>,
) => Promise<T>;

/**
 * Rows in flight may end after their experiment was deleted. A deletion takes the metadata first and the records then: a writer that finds the
 * metadata gone after its write deletes once more, and one that still finds it has written before the deletion of the records began.
 * @throws ServiceError from the returned function: `NotFound` when the experiment is gone, `Unavailable` when that cannot be found out (the write can
 * be repeated). Every other error is that of the write.
 */
export function keepUnlessDeleted({ exists, deleteRecords }: KeepDeps): KeepUnlessDeleted {
  const look = sharedWork(exists);
  const clear = sharedWork((experimentId: string, projectId: string) => deleteRecords(projectId, experimentId));
  return async (run, write) => {
    const written = await write();
    if (await look(run.experimentId).catch(unknown)) return written;
    await clear(run.experimentId, run.projectId).catch(unknown);
    throw new ServiceError('NotFound', `experiment ${run.experimentId} was deleted`);
  };
}

/** Whatever is wrong with the look-up says nothing against what was written. */
function unknown(cause: unknown): never {
  throw new ServiceError('Unavailable', 'it cannot be checked whether the experiment was deleted meanwhile; try again', {
    cause,
  });
}

/** All who ask while `work` is under way for a key share the one that starts next: it sees everything that came before they asked. */
function sharedWork<T, A extends unknown[]>(work: (key: string, ...rest: A) => Promise<T>) {
  const running = new Map<string, Promise<T>>();
  const next = new Map<string, Promise<T>>();
  const start = (key: string, rest: A): Promise<T> => {
    next.delete(key);
    const now = work(key, ...rest).finally(() => {
      if (running.get(key) === now) running.delete(key);
    });
    running.set(key, now);
    return now;
  };
  return (key: string, ...rest: A): Promise<T> => {
    const now = running.get(key);
    if (!now) return start(key, rest);
    const queued =
      next.get(key) ??
      now.then(
        () => start(key, rest),
        () => start(key, rest),
      );
    next.set(key, queued);
    return queued;
  };
}
