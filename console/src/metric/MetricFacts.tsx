import { useMutation } from '@tanstack/react-query';
import { wordText } from '../../../shared/filterText/printFilterText.ts';
import { type Metric, switchMetric } from '../data/metrics.ts';
import { useMay } from '../data/permissions.ts';
import { callsOf, directionText, givesText, needsOf } from '../metrics/metricText.ts';
import { useStreamsWith } from '../metrics/useStreamsWith.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText, UNKNOWN } from '../parts/format.ts';
import styles from './Judge.module.css';

/** Shows what a metric measures, needs and gives, and the log streams that it is on for. */
export function MetricFacts({ metric, projectId }: { metric: Metric; projectId: string }) {
  const needs = needsOf(metric);
  const calls = callsOf(metric);
  const version = metric.default_version;
  return (
    <>
      <dl className={styles.facts}>
        <dt>Measures</dt>
        <dd>{metric.description || <span className="quiet">Nothing says what it measures.</span>}</dd>
        <dt>Name in filters</dt>
        <dd>
          <code>{wordText(`metrics/${metric.name}`)}</code>
        </dd>
        <dt>Needs</dt>
        <dd>{needs.length > 0 ? needs.join(', ') : 'nothing else'}</dd>
        {metric.required_scorers && metric.required_scorers.length > 0 && (
          <>
            <dt>Uses values of</dt>
            <dd>{metric.required_scorers.join(', ')}</dd>
          </>
        )}
        <dt>Gives</dt>
        <dd>{[givesText(metric) ?? UNKNOWN, directionText(metric)].filter(Boolean).join(', ')}</dd>
        <dt>Looks at</dt>
        <dd>{metric.scoreable_node_types?.join(', ') || UNKNOWN}</dd>
        {calls !== undefined && (
          <>
            <dt>Judge calls</dt>
            <dd>{countText(calls)} for each record</dd>
            {metric.multimodal_capabilities?.includes('vision') && (
              <>
                <dt>Sees</dt>
                <dd>the images of the record</dd>
              </>
            )}
            <dt>Model</dt>
            <dd>{version?.model_names?.join(', ') ?? version?.model_name ?? 'the default judge, or the model of the run'}</dd>
          </>
        )}
      </dl>
      {metric.warnings.map((warning) => (
        <p key={warning} className="quiet">
          {warning}
        </p>
      ))}
      <Streams metric={metric} projectId={projectId} />
    </>
  );
}

function Streams({ metric, projectId }: { metric: Metric; projectId: string }) {
  const { streams, streamsWith, isKnown, left } = useStreamsWith(projectId);
  const maySet = useMay(projectId, 'set_metric');
  const switching = useMutation({
    mutationFn: ({ id, isOn }: { id: string; isOn: boolean }) => switchMetric(projectId, id, metric, isOn),
  });
  const on = new Set(streamsWith(metric.id).map(({ id }) => id));
  if (streams.length === 0 || !isKnown) return null;
  return (
    <fieldset className={styles.kinds}>
      <legend>
        <h2>On for</h2>
      </legend>
      {streams.map(({ id, name }) =>
        maySet ? (
          <label key={id} className={styles.check}>
            <input
              type="checkbox"
              checked={on.has(id)}
              disabled={switching.isPending}
              onChange={({ target }) => switching.mutate({ id, isOn: target.checked })}
            />
            {name}
          </label>
        ) : (
          on.has(id) && <span key={id}>{name}</span>
        ),
      )}
      {!maySet && on.size === 0 && <span className="quiet">none</span>}
      {left > 0 && <p className="quiet">{countText(left)} older log streams are left out.</p>}
      {switching.error && <ErrorNote error={switching.error} />}
    </fieldset>
  );
}
