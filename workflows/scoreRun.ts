import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { taskQueues } from '../shared/config/taskQueues.ts';
import type { ScoreRunInput, ScoreRunProgress } from '../shared/scoring/workflow.ts';
import type { ScoringActivities } from '../workers/scoringActivities.ts';
import { KnownAttributes, keyword } from './knownAttributes.ts';

// Ours to heal (a store, the network, a worker's death): no limit on attempts.
const activityOptions = {
  // A pass gives way after seconds; the rest is a judge that answers slowly, and the marking of many records.
  startToCloseTimeout: '25 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '500 ms', maximumInterval: '30 seconds' },
} as const;

/** A run that is written to all the time keeps its workflow, which then knows what it has done. */
const IDLE = '10 minutes';
/** Until a run of the experiment, which computes whatever is marked, is looked at again. */
const TAKEN_WAIT = '5 seconds';

/**
 * Scores records of one run: those that requests name, and the new ones of a log stream. What is to be scored is marked in the record store, so
 * histories hold counts alone, and whatever dies leaves the list of what is left. Signal: more. Query: progress.
 */
export async function scoreRun(input: ScoreRunInput): Promise<void> {
  const { projectId, runId, runName, projectName } = input;
  const run = { projectId, runId };
  const { prepareScoring, scoreMarked, settleScoring } = proxyActivities<ScoringActivities>({
    ...activityOptions,
    taskQueue: input.ofExperiment ? taskQueues.rows : taskQueues.scoring,
  });
  const attributes = new KnownAttributes(input.searchAttributes);
  let asked = true;
  let busy = false;
  let scored = input.scored ?? 0;
  setHandler(defineSignal('more'), () => {
    asked = true;
  });
  setHandler(defineQuery<ScoreRunProgress>('progress'), () => ({ scored, busy }));
  const show = (status: string) => {
    setCurrentDetails(`**${runName}** (${projectName}): ${status}\n\n${scored} values computed`);
    attributes.upsert([{ key: keyword('AssayStatus'), value: status }]);
  };
  attributes.upsert([
    { key: keyword('AssayProject'), value: projectName },
    { key: keyword('AssayExperiment'), value: runName },
  ]);
  upsertMemo({ run: runName, project: projectName });

  // Marks of records from before this are known to be done; at first nothing is known.
  let from: string | undefined;
  let isFirst = true;
  while (asked) {
    asked = false;
    busy = true;
    const prepared = await prepareScoring(run);
    if (!prepared) return; // the run was deleted
    scored += prepared.scored ?? 0;
    if (prepared.more) asked = true;
    if (!isFirst) from = earliest(from, prepared.oldest);
    if (isFirst || from !== undefined) {
      show('scoring');
      const outcome = await scoreMarked(from === undefined ? run : { ...run, from });
      scored += outcome.scored;
      // Histories of former releases have no such outcome: their activities waited themselves.
      if (outcome.isTaken) await sleep(TAKEN_WAIT);
      if (outcome.more) asked = true;
      else {
        from = undefined;
        isFirst = false;
      }
    }
    await settleScoring(run);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof scoreRun>({ ...input, scored });
    if (asked) continue;
    busy = false;
    show('waiting');
    // Histories of former releases wait for no session.
    const { sessionsDueMs } = prepared;
    await condition(() => asked, sessionsDueMs ?? IDLE);
    if (sessionsDueMs !== undefined) asked = true;
  }
  show('done');
}

/** Times of one form: the earlier one is the lesser text. */
function earliest(a: string | undefined, b: string | null): string | undefined {
  if (b === null) return a;
  return a === undefined || b < a ? b : a;
}
