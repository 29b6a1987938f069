import type { Side } from './comparedSides.ts';
import type { ComparedRuns, MatchedBy, RowOutline } from './comparisonReads.ts';

/** How the rows of two experiments are matched. */
export function comparedRuns(baseline: Side, other: Side): ComparedRuns {
  const outlines = [baseline.outline, other.outline];
  const [one, two] = [baseline.experiment.dataset, other.experiment.dataset];
  const matchedBy = matchingOf(outlines, one && two ? one.id === two.id : true);
  return {
    baseline: baseline.run,
    other: other.run,
    matchedBy,
    allHaveRowIds: outlines.every(({ rows, withDatasetRow }) => rows === withDatasetRow),
    hasTrials: outlines.some(({ repeats }) => repeats),
    versions:
      matchedBy === 'dataset_row' && one && two && one.versionIndex !== two.versionIndex
        ? {
            datasetId: one.id,
            earlier: Math.min(one.versionIndex, two.versionIndex),
            later: Math.max(one.versionIndex, two.versionIndex),
          }
        : undefined,
  };
}

/** Rows of two datasets have ids that no row of the other has; a copy of a dataset has the same inputs. */
function matchingOf(sides: readonly RowOutline[], areOfOneDataset: boolean): MatchedBy {
  if (areOfOneDataset && sides.every(({ withDatasetRow }) => withDatasetRow > 0)) return 'dataset_row';
  return sides.every(({ withDatasetInput }) => withDatasetInput > 0) ? 'dataset_input' : 'input';
}
