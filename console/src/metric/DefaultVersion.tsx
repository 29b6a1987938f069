import type { ReactNode } from 'react';
import { may } from '../data/assets.ts';
import type { Metric, MetricVersion } from '../data/metrics.ts';
import styles from './Judge.module.css';

interface Props {
  metric: Metric;
  /** The default version; undefined where the metric has none. */
  version: MetricVersion | undefined;
  facts: ReactNode;
  /** Begins a new version. */
  onWrite(): void;
  /** The text of the version. */
  children: ReactNode;
}

/** Shows the default version of a metric above the facts of it, with a button to write the next one. */
export const DefaultVersion = ({ metric, version, facts, onWrite, children }: Props) => (
  <>
    <div className={styles.bar}>
      <h2>{version ? `Version ${version.version}` : 'No version yet: it computes nothing'}</h2>
      {may(metric, 'update') && (
        <button type="button" className="primary" onClick={onWrite}>
          Write a new version
        </button>
      )}
    </div>
    {version && children}
    {facts}
  </>
);

/** Finds the version that computes where none is named. @param versions newest first */
export const defaultOf = (metric: Metric, versions: readonly MetricVersion[] | undefined): MetricVersion | undefined =>
  versions?.find(({ id }) => id === metric.default_version_id) ?? versions?.[0];
