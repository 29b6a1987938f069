import { digestOf, type RowSelection, type SelectedRows, shownSelection } from '../datasets/rowSelection.ts';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { ExperimentRun } from './experiment.ts';
import type { RunLedger } from './runLedger.ts';

export interface FrozenRowsDeps {
  ledger: Pick<RunLedger, 'find' | 'wantedRows'>;
  /**
   * Chooses rows of the run and stores which they are. @param like the run whose rows are taken, for `same_as`
   * @throws RequestInvalid when it names rows or columns that are not there, or no row fits
   */
  selectRows(
    run: ExperimentRun,
    selection: RowSelection,
    like: ExperimentRun | undefined,
  ): Promise<Pick<SelectedRows, 'storageId' | 'count' | 'of'>>;
}

/**
 * The rows that a run is over: those that its first start froze, else what is asked for now or was when the experiment was created. Null: all rows.
 * @throws RequestInvalid for a selection that cannot be; ServiceError `Conflict` when other rows are frozen
 */
export async function frozenRows(
  deps: FrozenRowsDeps,
  run: ExperimentRun,
  asked: RowSelection | undefined,
): Promise<SelectedRows | null> {
  if (run.workflowNumber > 0) {
    mustBeFrozen(run, asked);
    return run.selectedRows;
  }
  const selection = asked ?? (await deps.ledger.wantedRows(run.experimentId));
  if (!selection) return null;
  const like = selection.same_as ? await comparedRun(deps, run, selection.same_as) : undefined;
  return { ...(await deps.selectRows(run, selection, like)), digest: digestOf(selection), shown: shownSelection(selection) };
}

/** Refuses other rows than those of the first start: its records stay, so a later start runs the same rows. @throws ServiceError `Conflict` */
export function mustBeFrozen({ selectedRows }: Pick<ExperimentRun, 'selectedRows'>, asked: RowSelection | undefined): void {
  if (asked && digestOf(asked) !== selectedRows?.digest)
    throw new ServiceError(
      'Conflict',
      `the rows of this experiment were frozen at its first start (${selectedRows ? `${selectedRows.count} of ${selectedRows.of}` : 'all of them'}): make a new experiment for others`,
    );
}

/** The experiment whose rows are taken. @throws RequestInvalid */
export async function comparedRun(
  { ledger }: Pick<FrozenRowsDeps, 'ledger'>,
  run: ExperimentRun,
  id: string,
): Promise<ExperimentRun> {
  const like = await ledger.find(id);
  const refuse = (msg: string) => new RequestInvalid([{ loc: ['body', 'rows', 'same_as'], msg, type: 'same_as', input: id }]);
  if (like?.projectId !== run.projectId) throw refuse(`there is no experiment ${id} in this project`);
  if (like.workflowNumber === 0)
    throw refuse(`the experiment ${JSON.stringify(like.name)} has not been started: its rows are not frozen`);
  const [of, ofLike] = [run.source, like.source];
  const isSame = of.kind === 'dataset' ? ofLike.kind === 'dataset' && of.datasetId === ofLike.datasetId : ofLike.kind === 'run';
  if (!isSame) throw refuse(`the rows of the experiment ${JSON.stringify(like.name)} are those of another dataset`);
  return like;
}
