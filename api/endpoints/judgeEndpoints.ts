import type { Domain } from '../../shared/assemble.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { RunRef } from '../../shared/projects/runs.ts';
import { thawMetric } from '../../shared/scorers/frozenMetric.ts';
import type { EnabledMetric } from '../../shared/scorers/resolveMetrics.ts';
import { readRowValues, withRowValues } from '../../shared/scoring/rowValues.ts';
import { clickhouseRecordStream } from '../../shared/stores/clickhouse/reads/recordStream.ts';
import { recordsToScore } from '../../shared/stores/clickhouse/reads/scoredRecords.ts';
import type { Endpoint, Gate } from '../http/route.ts';
import { codeTryOutRoutes } from '../routes/codeTryOut.ts';
import { judgeAgreementRoutes } from '../routes/judgeAgreement.ts';
import { judgeDraftRoutes } from '../routes/judgeDrafts.ts';
import { judgeTryOutRoutes } from '../routes/judgeTryOut.ts';

/** Judges and code before they are saved, and how far judges agree with people. */
export function judgeEndpoints(domain: Domain, gate: Gate): Endpoint[] {
  const { annotationStore, assets, datasets, experiments, models, projects, records, sandbox, scorers, scoring, stores } = domain;
  const search = { records: records.reads, findRun: projects.findUnexpiredRun, metrics: scorers.definitions };
  const rows = { find: experiments.ledger.find, page: datasets.rowsOfRuns.page };
  const reading = {
    rowValues: (run: Parameters<typeof readRowValues>[1], ordinals: readonly number[]) => readRowValues(rows, run, ordinals),
    untilStored: <T>(operation: () => Promise<T>) => operation(),
  };
  const tryingOut = {
    ...search,
    ...datasets.deps,
    gate,
    assets,
    scorings: scoring.scorings,
    async recordToScore(run: RunRef, recordId: string, metric: EnabledMetric) {
      const store = { clickhouse: stores.clickhouse, files: records.reads };
      const found = await recordsToScore(store, run, [recordId], metric.readsSpans ? 'beginnings' : 'none');
      const stored = new Map(found.map((record) => [record.id, record]));
      const part = [{ recordId, metric }];
      return (await withRowValues(reading, run, part, stored, new AbortController().signal)).get(recordId);
    },
    tryOut: {
      ingestRun: projects.ingestRun,
      metrics: scoring.metrics,
      contextFor: scoring.contextFor,
      writer: records.writer,
      write: scoring.marking.write,
      newId,
    },
  };
  const judging = { models, defaultJudge: scorers.defaultJudge };
  const judgeTryOuts = judgeTryOutRoutes({ ...tryingOut, ...judging, scorers: scorers.store });
  const codeTryOuts = codeTryOutRoutes({ ...tryingOut, ...judging, scorers: scorers.store, sandbox });
  const agreements = judgeAgreementRoutes({
    ...search,
    stream: clickhouseRecordStream(stores.clickhouse),
    annotations: annotationStore,
    triedJudge: async (runId) => (await scorers.frozen.newest(runId)).map(thawMetric)[0],
  });
  return [...judgeTryOuts, ...codeTryOuts, ...judgeDraftRoutes({ drafts: domain.judgeDrafts }), ...agreements];
}
