import type { ServiceClient } from '../../client/http.ts';
import { createProject } from '../../client/index.ts';
import { loggedExperiment, solvedProblems } from '../../test/support/loggedExperiments.ts';

/** Ids of experiments that are compared. */
export interface FilledComparison {
  projectId: string;
  base: string;
  /** Clearly worse than the baseline. */
  worse: string;
  /** Hardly different from it. */
  close: string;
  others: string[];
}

/** Experiments over the problems of the demo: one that is better but slower than another, one that is hardly different, and several more. */
export async function fillComparison(client: ServiceClient): Promise<FilledComparison> {
  const { id: projectId } = await createProject({ client, name: 'word-problems' });
  const log = (name: string, isRight: (index: number) => boolean, seconds: number) =>
    loggedExperiment({ client }, projectId, name, solvedProblems(isRight, { seconds, usd: 0.001 * seconds }));
  const base = await log('agent with a calculator', () => true, 2.4);
  const worse = await log('prompt', (index) => index % 3 !== 1, 0.9);
  const close = await log('agent with a calculator, and a shorter system prompt', (index) => index !== 7, 2.3);
  const others = await Promise.all([5, 4, 3, 2].map((each) => log(`try ${each}`, (index) => index % each !== 1, each / 2)));
  return { projectId, base, worse, close, others };
}
